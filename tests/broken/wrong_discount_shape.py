"""One rate a coordinate instead of one."""

from dataclasses import dataclass

from feynkac.families.capabilities import Discount
from feynkac.families.models.heat_gaussian import HeatGaussian


@dataclass(frozen=True)
class WrongDiscountShape(HeatGaussian, Discount):
    dim: int = 2

    def discount(self, x, p):
        return 0.05 + 0.0 * x
