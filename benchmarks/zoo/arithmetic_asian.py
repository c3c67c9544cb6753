"""Arithmetic Asian call over one year; the second coordinate is ∫S so far:  dA = S dt."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import feynkac as fk
from feynkac.user_files import import_file

grid = import_file(f"{Path(__file__).parent}/references/grid.py")

AREA = "equity"
METHOD = "finite differences (Večeř)"
INPUTS = 256


@dataclass(frozen=True)
class ArithmeticAsian(fk.Family, fk.Rate, fk.NoiseDimension):
    noise_dim = 1

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box([80.0, 0.0], [120.0, 50.0]),
            t=fk.Box(0.2, 1.0),
            sigma=fk.Box(0.1, 0.5),
            strike=fk.Box(80.0, 120.0),
            rate=fk.Box(0.005, 0.06),
        )

    def drift(self, x, p):
        price = x[..., :1]
        return torch.cat([p.rate * price, price], dim=-1)

    def diffusion(self, x, dw, p):
        price = x[..., :1]
        return torch.cat([p.sigma * price * dw, torch.zeros_like(price)], dim=-1)

    def initial(self, x, p):
        return (x[..., 1:] - p.strike).clamp_min(0.0)


def reference(x, t, p):
    columns = (x[:, 0], x[:, 1], *(c[:, 0] for c in (t, p.sigma, p.strike, p.rate)))
    return np.array([[value(*row)] for row in zip(*columns, strict=True)])


def value(price, past, t, sigma, strike, rate):
    """S t f(z, t), z the value of the portfolio that replicates ∫S − K, per share and year."""

    def shares(left):
        return -np.expm1(-rate * left) / (rate * t)

    def coefficients(z, left):
        return 0.5 * sigma**2 * (z - shares(left)) ** 2, 0.0, 0.0, 0.0

    at = shares(t) - np.exp(-rate * t) * (strike - past) / (price * t)
    width = abs(at) + 5.0 * sigma * np.sqrt(t)
    kink = lambda z: np.maximum(z, 0.0)  # noqa: E731
    return price * t * grid.solve(at, (-width, width), t, coefficients, kink, nodes=2000)
