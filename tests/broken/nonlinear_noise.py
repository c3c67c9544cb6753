"""A part of the drift stands in diffusion, where it is not multiplied by dw."""

from dataclasses import dataclass

from feynkac.families.models.heat_gaussian import HeatGaussian


@dataclass(frozen=True)
class NonlinearNoise(HeatGaussian):
    dim: int = 2

    def diffusion(self, x, dw, p):
        return -x + p.sigma * dw
