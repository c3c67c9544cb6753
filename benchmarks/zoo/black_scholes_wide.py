"""Call of Black and Scholes on a wide box: volatility 2 % … 200 %, a week to five years."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import feynkac as fk
from feynkac.user_files import import_file

black = import_file(f"{Path(__file__).parent}/references/black.py")

AREA = "equity"
METHOD = "closed form"


@dataclass(frozen=True)
class BlackScholesWide(fk.Family, fk.Rate):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(50.0, 150.0),
            t=fk.Box(0.02, 5.0),
            sigma=fk.LogUniform(0.02, 2.0),
            strike=fk.Box(50.0, 150.0),
            rate=fk.Box(-0.01, 0.08),
        )

    def drift(self, x, p):
        return p.rate * x

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def initial(self, x, p):
        return (x - p.strike).clamp_min(0.0)


def reference(x, t, p):
    discount = np.exp(-p.rate * t)
    return discount * black.call(x / discount, p.strike, p.sigma * np.sqrt(t))
