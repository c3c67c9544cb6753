"""Call under a model in the manner of SABR:  dF = α F^β dW₁,  dα = ν α dW₂,  prices around 1."""

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
class StochasticAlpha(fk.Family):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box([0.8, 0.1], [1.2, 0.4]),
            t=fk.Box(0.1, 1.0),
            beta=fk.Box(0.3, 1.0),
            nu=fk.Box(0.1, 0.6),
            rho=fk.Box(-0.7, 0.2),
            strike=fk.Box(0.8, 1.2),
        )

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        forward, alpha = x[..., :1].clamp_min(0.0), x[..., 1:]
        second = p.rho * dw[..., :1] + (1.0 - p.rho**2).sqrt() * dw[..., 1:]
        return torch.cat([alpha * forward**p.beta * dw[..., :1], p.nu * alpha * second], dim=-1)

    def initial(self, x, p):
        return (x[..., :1] - p.strike).clamp_min(0.0)


def reference(x, t, p):
    """In y = ln(F/K) and z = ln α; no path comes back from F < 0.1 to the strike."""
    columns = (x[:, 0], x[:, 1], *(v[:, 0] for v in (t, p.beta, p.nu, p.rho, p.strike)))
    return np.array([[value(*row)] for row in zip(*columns, strict=True)])


def value(forward, alpha, t, beta, nu, rho, strike):
    def coefficients(y, z):
        local = np.exp(z) * np.maximum(strike * np.exp(y), 0.1) ** (beta - 1.0)
        return 0.5 * local**2, rho * nu * local, 0.5 * nu**2, -0.5 * local**2, -0.5 * nu**2

    at, spread = (np.log(forward / strike), np.log(alpha)), np.sqrt(t)
    width = abs(at[0]) + 6.0 * alpha * np.exp(nu * spread) * spread
    box = ((-width, width), (at[1] - 4.5 * nu * spread, at[1] + 4.5 * nu * spread))
    return grid.solve(at, box, t, coefficients, lambda y, z: strike * np.maximum(np.expm1(y), 0.0))
