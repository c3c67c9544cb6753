"""Steps of its own that forget the square root of the time."""

from dataclasses import dataclass

from feynkac.families.capabilities import OwnSteps
from feynkac.families.models.heat_gaussian import HeatGaussian


@dataclass(frozen=True)
class WrongSteps(HeatGaussian, OwnSteps):
    dim: int = 2

    def step(self, x, h, p, z):
        return x + p.sigma * h * z
