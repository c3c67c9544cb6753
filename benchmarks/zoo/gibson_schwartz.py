"""Call on a commodity with a stochastic convenience yield (Gibson and Schwartz).

dS = (r − δ) S dt + σ S dW₁,   dδ = κ(α − δ) dt + η dW₂.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import feynkac as fk
from feynkac.user_files import import_file

black = import_file(f"{Path(__file__).parent}/references/black.py")

AREA = "commodities"
METHOD = "closed form"


@dataclass(frozen=True)
class GibsonSchwartz(fk.Family, fk.Rate):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box([40.0, -0.1], [80.0, 0.2]),
            t=fk.Box(0.1, 2.0),
            kappa=fk.Box(0.5, 3.0),
            alpha=fk.Box(0.0, 0.12),
            sigma=fk.Box(0.2, 0.5),
            eta=fk.Box(0.1, 0.5),
            rho=fk.Box(0.3, 0.9),
            strike=fk.Box(40.0, 80.0),
            rate=fk.Box(0.0, 0.06),
        )

    def drift(self, x, p):
        price, delta = x[..., :1], x[..., 1:]
        return torch.cat([(p.rate - delta) * price, p.kappa * (p.alpha - delta)], dim=-1)

    def diffusion(self, x, dw, p):
        second = p.rho * dw[..., :1] + (1.0 - p.rho**2).sqrt() * dw[..., 1:]
        return torch.cat([p.sigma * x[..., :1] * dw[..., :1], p.eta * second], dim=-1)

    def initial(self, x, p):
        return (x[..., :1] - p.strike).clamp_min(0.0)


def reference(x, t, p):
    """ln S is normal: ∫(σ dW₁ − η B(t − s) dW₂), B(w) = (1 − e^{−κw})/κ."""
    nodes, weights = np.polynomial.legendre.leggauss(32)
    b = -np.expm1(-0.5 * p.kappa * t * (nodes + 1.0)) / p.kappa
    density = p.sigma**2 + (p.eta * b) ** 2 - 2.0 * p.rho * p.sigma * p.eta * b
    variance = 0.5 * t * (weights * density).sum(-1, keepdims=True)
    end = -np.expm1(-p.kappa * t) / p.kappa
    yields = p.alpha * t + (x[:, 1:] - p.alpha) * end
    mean = np.log(x[:, :1]) + (p.rate - 0.5 * p.sigma**2) * t - yields
    forward = np.exp(mean + 0.5 * variance)
    return np.exp(-p.rate * t) * black.call(forward, p.strike, np.sqrt(variance))
