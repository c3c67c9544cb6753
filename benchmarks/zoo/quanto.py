"""Quanto put on a foreign share, paid at a fixed rate of exchange in the home currency."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import feynkac as fk
from feynkac.user_files import import_file

black = import_file(f"{Path(__file__).parent}/references/black.py")

AREA = "equity"
METHOD = "closed form"


@dataclass(frozen=True)
class Quanto(fk.Family, fk.Rate):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(2500.0, 4500.0),
            t=fk.Box(0.05, 3.0),
            sigma=fk.Box(0.1, 0.4),
            fx=fk.Box(0.05, 0.2),
            rho=fk.Box(-0.6, 0.6),
            strike=fk.Box(2500.0, 4500.0),
            foreign=fk.Box(-0.01, 0.05),
            rate=fk.Box(-0.01, 0.05),
        )

    def drift(self, x, p):
        return (p.foreign - p.rho * p.sigma * p.fx) * x

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def initial(self, x, p):
        return (p.strike - x).clamp_min(0.0)


def reference(x, t, p):
    forward = x * np.exp((p.foreign - p.rho * p.sigma * p.fx) * t)
    return np.exp(-p.rate * t) * black.put(forward, p.strike, p.sigma * np.sqrt(t))
