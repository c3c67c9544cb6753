"""A drift that points outwards and grows like x³: paths reach infinity in finite time."""

from dataclasses import dataclass

from feynkac.families.models.heat_gaussian import HeatGaussian


@dataclass(frozen=True)
class Explodes(HeatGaussian):
    dim: int = 2

    def drift(self, x, p):
        return x**3
