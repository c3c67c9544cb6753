"""Geometric Asian call over one year; the second coordinate is ∫ln(S/100) so far."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import feynkac as fk
from feynkac.user_files import import_file

black = import_file(f"{Path(__file__).parent}/references/black.py")

AREA = "equity"
METHOD = "closed form"


@dataclass(frozen=True)
class GeometricAsian(fk.Family, fk.Rate, fk.NoiseDimension):
    noise_dim = 1

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box([80.0, -0.1], [120.0, 0.1]),
            t=fk.Box(0.1, 1.0),
            sigma=fk.Box(0.1, 0.5),
            strike=fk.Box(80.0, 120.0),
            rate=fk.Box(0.0, 0.06),
        )

    def drift(self, x, p):
        price = x[..., :1]
        return torch.cat([p.rate * price, (price / 100.0).log()], dim=-1)

    def diffusion(self, x, dw, p):
        price = x[..., :1]
        return torch.cat([p.sigma * price * dw, torch.zeros_like(price)], dim=-1)

    def initial(self, x, p):
        return (100.0 * x[..., 1:].exp() - p.strike).clamp_min(0.0)


def reference(x, t, p):
    """The integral of the logarithm is normal, with variance σ² t³/3."""
    variance = p.sigma**2 * t**3 / 3.0
    mean = x[:, 1:] + t * np.log(x[:, :1] / 100.0) + 0.5 * (p.rate - 0.5 * p.sigma**2) * t**2
    forward = 100.0 * np.exp(mean + 0.5 * variance)
    return np.exp(-p.rate * t) * black.call(forward, p.strike, np.sqrt(variance))
