"""Leaky neuron: the probability of no spike before t;  dV = (I − V) dt + σ dW,  spikes at V = θ."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import feynkac as fk
from feynkac.user_files import import_file

grid = import_file(f"{Path(__file__).parent}/references/grid.py")

AREA = "biology"
METHOD = "finite differences"
INPUTS = 256


@dataclass(frozen=True)
class Neuron(fk.Family, fk.Absorbing):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-0.5, 0.7),
            t=fk.Box(0.05, 3.0),
            current=fk.Box(0.2, 1.3),
            sigma=fk.Box(0.2, 0.7),
            threshold=fk.Box(0.8, 1.2),
        )

    def drift(self, x, p):
        return p.current - x

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def initial(self, x, p):
        return torch.ones_like(x)

    def distance(self, x, p):
        return p.threshold - x


def reference(x, t, p):
    columns = (x, t, p.current, p.sigma, p.threshold)
    rows = zip(*(c[:, 0] for c in columns), strict=True)
    return np.array([[value(*row)] for row in rows])


def value(x, t, current, sigma, threshold):
    def coefficients(y, _time):
        return 0.5 * sigma**2, current - y, 0.0, 0.0

    low = min(x, current) - 6.0 * sigma
    ends = (grid.FREE, 0.0)
    return grid.solve(x, (low, threshold), t, coefficients, np.ones_like, 800, 160, ends)
