"""Kramers' problem: the probability to be in the right well of x⁴/4 − x²/2 at time t."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import feynkac as fk
from feynkac.user_files import import_file

grid = import_file(f"{Path(__file__).parent}/references/grid.py")

AREA = "physics"
METHOD = "finite differences"
INPUTS = 256


@dataclass(frozen=True)
class Kramers(fk.Family, fk.Jumps):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-1.5, 1.5),
            t=fk.Box(0.1, 5.0),
            height=fk.Box(0.5, 2.0),
            tilt=fk.Box(-0.3, 0.3),
            temperature=fk.Box(0.1, 0.6),
        )

    def drift(self, x, p):
        return p.height * (x - x**3) + p.tilt

    def diffusion(self, x, dw, p):
        return (2.0 * p.temperature).sqrt() * dw

    def initial(self, x, p):
        return (x > 0.0).to(x.dtype)


def reference(x, t, p):
    columns = (x, t, p.height, p.tilt, p.temperature)
    rows = zip(*(c[:, 0] for c in columns), strict=True)
    return np.array([[value(*row)] for row in rows])


def value(x, t, height, tilt, temperature):
    def coefficients(y, _time):
        return temperature, height * (y - y**3) + tilt, 0.0, 0.0

    def start(y):
        return np.where(abs(y) < 1e-9, 0.5, y > 0.0)

    return grid.solve(x, (-3.5, 3.5), t, coefficients, start, nodes=700, steps=160)
