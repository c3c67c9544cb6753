"""Pays 1 if the mean of five correlated lognormal assets ends above the strike."""

from dataclasses import dataclass
from pathlib import Path

import feynkac as fk
from feynkac.user_files import import_file

baskets = import_file(f"{Path(__file__).parent}/references/baskets.py")

AREA = "equity"
METHOD = "quasi-Monte Carlo"
INPUTS = 128
DIM = 5


@dataclass(frozen=True)
class DigitalBasket(fk.Family, fk.Rate, fk.Jumps, fk.NoiseDimension):
    noise_dim = DIM + 1

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(80.0, 120.0, shape=(DIM,)),
            t=fk.Box(0.1, 2.0),
            sigma=fk.Box(0.1, 0.4, shape=(DIM,)),
            rho=fk.Box(0.0, 0.8),
            strike=fk.Box(90.0, 110.0),
            rate=fk.Box(0.0, 0.05),
        )

    def drift(self, x, p):
        return p.rate * x

    def diffusion(self, x, dw, p):
        noise = p.rho.sqrt() * dw[..., :1] + (1.0 - p.rho).sqrt() * dw[..., 1:]
        return p.sigma * x * noise

    def initial(self, x, p):
        return (x.mean(-1, keepdim=True) > p.strike).to(x.dtype)


def reference(x, t, p):
    return baskets.digital(x, t, p)
