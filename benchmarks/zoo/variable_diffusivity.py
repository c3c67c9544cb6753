"""Diffusion in ten dimensions whose diffusivity is larger near the origin:

∂u/∂t = ∇·(a ∇u),   a(x) = D (1 + α e^{−|x|²/2}),   φ(x) = e^{−|x|²/(2w)}.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import feynkac as fk
from feynkac.user_files import import_file

grid = import_file(f"{Path(__file__).parent}/references/grid.py")

AREA = "physics"
METHOD = "finite differences in |x|²"
INPUTS = 256
DIM = 10


@dataclass(frozen=True)
class VariableDiffusivity(fk.Family):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-1.0, 1.0, shape=(DIM,)),
            t=fk.Box(0.0, 1.0),
            diffusivity=fk.Box(0.05, 0.2),
            alpha=fk.Box(0.0, 2.0),
            width=fk.Box(1.0, 3.0),
        )

    def bump(self, x, p):
        return p.alpha * (-0.5 * x.square().sum(-1, keepdim=True)).exp()

    def drift(self, x, p):
        return -p.diffusivity * self.bump(x, p) * x

    def diffusion(self, x, dw, p):
        return (2.0 * p.diffusivity * (1.0 + self.bump(x, p))).sqrt() * dw

    def initial(self, x, p):
        return (-0.5 * x.square().sum(-1, keepdim=True) / p.width).exp()


def reference(x, t, p):
    """In y = |x|²:  ∂u/∂t = 4 a y u'' + (2 d a + 4 y a') u',  a' the derivative in y."""
    square = (x**2).sum(-1)
    columns = (square, *(c[:, 0] for c in (t, p.diffusivity, p.alpha, p.width)))
    return np.array([[value(*row)] for row in zip(*columns, strict=True)])


def value(square, t, diffusivity, alpha, width):
    def coefficients(y, _time):
        bump = alpha * np.exp(-0.5 * y)
        a, slope = diffusivity * (1.0 + bump), -0.5 * diffusivity * bump
        return 4.0 * a * y, 2.0 * DIM * a + 4.0 * y * slope, 0.0, 0.0

    def start(y):
        return np.exp(-0.5 * y / width)

    return grid.solve(square, (0.0, 80.0), t, coefficients, start, 800, 60, ends=(grid.FREE, 0.0))
