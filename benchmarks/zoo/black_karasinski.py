"""Bond of the lognormal short rate of Black and Karasinski:  dr = κ(μ − ln r) r dt + σ r dW."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import feynkac as fk
from feynkac.user_files import import_file

grid = import_file(f"{Path(__file__).parent}/references/grid.py")

AREA = "rates"
METHOD = "finite differences"
INPUTS = 256


@dataclass(frozen=True)
class BlackKarasinski(fk.Family, fk.Discount):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(0.005, 0.10),
            t=fk.Box(0.1, 10.0),
            kappa=fk.Box(0.05, 0.5),
            mu=fk.Box(-4.0, -2.8),
            sigma=fk.Box(0.1, 0.4),
        )

    def drift(self, x, p):
        return p.kappa * (p.mu - x.log()) * x

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def discount(self, x, p):
        return x

    def initial(self, x, p):
        return torch.ones_like(x)


def reference(x, t, p):
    """In y = ln r."""
    rows = zip(x[:, 0], t[:, 0], p.kappa[:, 0], p.mu[:, 0], p.sigma[:, 0], strict=True)
    return np.array([[value(*row)] for row in rows])


def value(x, t, kappa, mu, sigma):
    def coefficients(y, _time):
        return 0.5 * sigma**2, kappa * (mu - y) - 0.5 * sigma**2, np.exp(y), 0.0

    start, width = np.log(x), 6.0 * sigma * np.sqrt(t) + 1.0
    interval = (min(start, mu) - width, max(start, mu) + width)
    return grid.solve(start, interval, t, coefficients, np.ones_like, nodes=400, steps=80)
