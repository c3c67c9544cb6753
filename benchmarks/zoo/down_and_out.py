"""Down-and-out call of Black and Scholes, written with a distance to the barrier."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import feynkac as fk
from feynkac.user_files import import_file

black = import_file(f"{Path(__file__).parent}/references/black.py")

AREA = "equity"
METHOD = "closed form"


@dataclass(frozen=True)
class DownAndOut(fk.Family, fk.Rate, fk.Absorbing):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(90.0, 130.0),
            t=fk.Box(0.1, 2.0),
            sigma=fk.Box(0.1, 0.5),
            strike=fk.Box(90.0, 120.0),
            barrier=fk.Box(70.0, 90.0),
            rate=fk.Box(0.0, 0.06),
        )

    def drift(self, x, p):
        return p.rate * x

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def initial(self, x, p):
        return (x - p.strike).clamp_min(0.0)

    def distance(self, x, p):
        return (x / p.barrier).log()


def reference(x, t, p):
    """By reflection; the barrier lies below the strike."""
    v, growth = p.sigma * np.sqrt(t), np.exp(p.rate * t)
    image = (p.barrier / x) ** (2.0 * p.rate / p.sigma**2 - 1.0)
    mirrored = black.call(p.barrier**2 / x * growth, p.strike, v)
    return (black.call(x * growth, p.strike, v) - image * mirrored) / growth
