"""Mean of a substrate that flows in and is degraded by an enzyme, with intrinsic noise:

dX = (k − w(X)) dt + √(k + w(X)) dW,   w(x) = v x/(K + x)  (Michaelis and Menten).
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import feynkac as fk
from feynkac.user_files import import_file

grid = import_file(f"{Path(__file__).parent}/references/grid.py")

AREA = "chemistry"
METHOD = "finite differences"
INPUTS = 256


@dataclass(frozen=True)
class MichaelisMenten(fk.Family):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(0.0, 40.0),
            t=fk.Box(0.1, 4.0),
            inflow=fk.Box(2.0, 6.0),
            speed=fk.Box(8.0, 14.0),
            half=fk.Box(2.0, 10.0),
        )

    def degraded(self, x, p):
        substrate = x.clamp_min(0.0)
        return p.speed * substrate / (p.half + substrate)

    def drift(self, x, p):
        return p.inflow - self.degraded(x, p)

    def diffusion(self, x, dw, p):
        return (p.inflow + self.degraded(x, p)).sqrt() * dw

    def initial(self, x, p):
        return x


def reference(x, t, p):
    columns = (x, t, p.inflow, p.speed, p.half)
    rows = zip(*(c[:, 0] for c in columns), strict=True)
    return np.array([[value(*row)] for row in rows])


def value(x, t, inflow, speed, half):
    def coefficients(y, _time):
        substrate = np.maximum(y, 0.0)
        degraded = speed * substrate / (half + substrate)
        return 0.5 * (inflow + degraded), inflow - degraded, 0.0, 0.0

    return grid.solve(x, (-40.0, 120.0), t, coefficients, np.copy, nodes=1600, steps=100)
