"""A domain that is a plain dictionary."""

from dataclasses import dataclass

from feynkac.families.models.heat_gaussian import HeatGaussian


@dataclass(frozen=True)
class NoDomain(HeatGaussian):
    @property
    def domain(self):
        return {"x": (-1.0, 1.0), "t": (0.0, 1.0)}
