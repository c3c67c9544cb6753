"""Bond that matures in year 5 of the calendar, short rate of Hull and White with a seasonal mean.

dr = κ(m(s) − r) ds + σ dW,   m(s) = level + swing sin(2πs/5),   s the calendar, 5 − t now.
"""

from dataclasses import dataclass

import numpy as np
import torch

import feynkac as fk

AREA = "rates"
METHOD = "closed form"
END = 5.0


@dataclass(frozen=True)
class HullWhite(fk.Family, fk.Discount, fk.TimeDependent):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-0.01, 0.08),
            t=fk.Box(0.0, END),
            kappa=fk.Box(0.05, 1.0),
            level=fk.Box(0.01, 0.06),
            swing=fk.Box(-0.03, 0.03),
            sigma=fk.Box(0.002, 0.02),
        )

    def drift(self, x, p):
        calendar = END - p.t
        mean = p.level + p.swing * torch.sin(2.0 * torch.pi * calendar / END)
        return p.kappa * (mean - x)

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def discount(self, x, p):
        return x

    def initial(self, x, p):
        return torch.ones_like(x)


def reference(x, t, p):
    """ln u = −B(t) r − ∫₀ᵗ κ m B + ½σ² ∫₀ᵗ B², w the time that is left."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    w = 0.5 * t * (nodes + 1.0)
    b = -np.expm1(-p.kappa * w) / p.kappa
    mean = p.level + p.swing * np.sin(2.0 * np.pi * (END - w) / END)
    rates = 0.5 * p.sigma**2 * b**2 - p.kappa * mean * b
    integral = 0.5 * t * (weights * rates).sum(-1, keepdims=True)
    return np.exp(integral + np.expm1(-p.kappa * t) / p.kappa * x)
