"""σ mixes three normals, but only the two of the state are there."""

from dataclasses import dataclass

from feynkac.families.models.heat_gaussian import HeatGaussian


@dataclass(frozen=True)
class WrongWidth(HeatGaussian):
    dim: int = 2

    def diffusion(self, x, dw, p):
        common, own = dw[..., :1], dw[..., 1:]
        return p.sigma * (0.6 * common + 0.8 * own.reshape(*own.shape[:-1], 2))
