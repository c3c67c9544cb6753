"""Call under the 3/2 model:  dS = √v S dW₁,  dv = κ v(θ − v) dt + ε v^{3/2} dW₂."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import feynkac as fk
from feynkac.user_files import import_file

grid = import_file(f"{Path(__file__).parent}/references/grid_2d.py")

AREA = "equity"
METHOD = "finite differences"
INPUTS = 128


@dataclass(frozen=True)
class ThreeHalves(fk.Family):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box([80.0, 0.02], [120.0, 0.15]),
            t=fk.Box(0.1, 1.0),
            kappa=fk.Box(5.0, 25.0),
            theta=fk.Box(0.03, 0.12),
            epsilon=fk.Box(1.0, 5.0),
            rho=fk.Box(-0.9, 0.0),
            strike=fk.Box(80.0, 120.0),
        )

    def drift(self, x, p):
        v = x[..., 1:].clamp_min(0.0)
        return torch.cat([torch.zeros_like(v), p.kappa * v * (p.theta - v)], dim=-1)

    def diffusion(self, x, dw, p):
        v = x[..., 1:].clamp_min(0.0)
        second = p.rho * dw[..., :1] + (1.0 - p.rho**2).sqrt() * dw[..., 1:]
        return torch.cat([v.sqrt() * x[..., :1] * dw[..., :1], p.epsilon * v**1.5 * second], dim=-1)

    def initial(self, x, p):
        return (x[..., :1] - p.strike).clamp_min(0.0)


def reference(x, t, p):
    """In y = ln(S/K) and z = ln v."""
    columns = (x[:, 0], x[:, 1], *(c[:, 0] for c in (t, p.kappa, p.theta, p.epsilon, p.rho)))
    return np.array([[value(*row)] for row in zip(*columns, p.strike[:, 0], strict=True)])


def value(price, variance, t, kappa, theta, epsilon, rho, strike):
    def coefficients(y, z):
        v = np.exp(z)
        pull = kappa * (theta - v) - 0.5 * epsilon**2 * v
        return 0.5 * v, rho * epsilon * v, 0.5 * epsilon**2 * v, -0.5 * v, pull

    at = (np.log(price / strike), np.log(variance))
    width = abs(at[0]) + 7.0 * np.sqrt(max(variance, theta) * t)
    low, high = np.log(min(variance, theta)) - 2.5, np.log(max(variance, theta)) + 2.0
    start = lambda y, z: strike * np.maximum(np.expm1(y), 0.0)  # noqa: E731
    box = ((-width, width), (low, high))
    return grid.solve(at, box, t, coefficients, start, nodes=(160, 110))
