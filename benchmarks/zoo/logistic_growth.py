"""Mean of a population with logistic growth in a random environment:

dX = r X(1 − X/K) dt + σ X dW.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import feynkac as fk
from feynkac.user_files import import_file

grid = import_file(f"{Path(__file__).parent}/references/grid.py")

AREA = "biology"
METHOD = "finite differences"
INPUTS = 256


@dataclass(frozen=True)
class LogisticGrowth(fk.Family):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(0.1, 2.0),
            t=fk.Box(0.1, 5.0),
            growth=fk.Box(0.2, 1.5),
            capacity=fk.Box(0.5, 2.0),
            sigma=fk.Box(0.1, 0.5),
        )

    def drift(self, x, p):
        return p.growth * x * (1.0 - x / p.capacity)

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def initial(self, x, p):
        return x


def reference(x, t, p):
    """In y = ln x."""
    columns = (x, t, p.growth, p.capacity, p.sigma)
    rows = zip(*(c[:, 0] for c in columns), strict=True)
    return np.array([[value(*row)] for row in rows])


def value(x, t, growth, capacity, sigma):
    def coefficients(y, _time):
        a = 0.5 * sigma**2
        return a, growth * (1.0 - np.exp(y) / capacity) - a, 0.0, 0.0

    at, width = np.log(x), 6.0 * sigma * np.sqrt(t)
    interval = (min(at, np.log(capacity)) - width, max(at, np.log(capacity)) + width)
    return grid.solve(at, interval, t, coefficients, np.exp, nodes=600, steps=100)
