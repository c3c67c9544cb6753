"""A closed form whose time runs backwards."""

from dataclasses import dataclass

from feynkac.families.models.heat_paraboloid import HeatParaboloid


@dataclass(frozen=True)
class WrongSign(HeatParaboloid):
    dim: int = 2

    def closed_form(self, x, t, p):
        return self.initial(x, p) - t * p.sigma.square().sum((-2, -1))[..., None]
