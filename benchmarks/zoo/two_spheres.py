"""Probability to hit an inner sphere before an outer one, and before t, in five dimensions."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import feynkac as fk
from feynkac.user_files import import_file

grid = import_file(f"{Path(__file__).parent}/references/grid.py")

AREA = "physics"
METHOD = "finite differences in |x|"
INPUTS = 256


@dataclass(frozen=True)
class TwoSpheres(fk.Family, fk.BoundaryValue):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box([0.5] + [-0.3] * 4, [0.9] + [0.3] * 4),
            t=fk.Box(0.05, 1.0),
            inner=fk.Box(0.2, 0.45),
            outer=fk.Box(1.2, 1.6),
        )

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return dw

    def initial(self, x, p):
        return torch.zeros_like(x[..., :1])

    def distance(self, x, p):
        radius = x.norm(dim=-1, keepdim=True)
        return torch.cat([radius - p.inner, p.outer - radius], dim=-1)

    def boundary_value(self, x, p):
        radius = x.norm(dim=-1, keepdim=True)
        return (radius < 0.5 * (p.inner + p.outer)).to(x.dtype)


def reference(x, t, p):
    columns = (np.linalg.norm(x, axis=-1), t[:, 0], p.inner[:, 0], p.outer[:, 0])
    return np.array([[value(*row)] for row in zip(*columns, strict=True)])


def value(radius, t, inner, outer):
    def coefficients(r, _time):
        return 0.5, 2.0 / r, 0.0, 0.0

    interval, ends = (inner, outer), (1.0, 0.0)
    return grid.solve(radius, interval, t, coefficients, np.zeros_like, 400, 100, ends)
