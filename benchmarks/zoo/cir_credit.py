"""Defaultable bond with recovery, default intensity of Cox, Ingersoll and Ross.

dλ = κ(θ − λ) dt + σ√λ dW,   u = E[ e^{−∫(r+λ)} + ∫ R λ e^{−∫(r+λ)} ds ].
"""

from dataclasses import dataclass

import numpy as np
import torch

import feynkac as fk

AREA = "credit"
METHOD = "closed form, one quadrature"


@dataclass(frozen=True)
class CirCredit(fk.Family, fk.Discount, fk.Source):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(0.0, 0.15),
            t=fk.Box(0.0, 7.0),
            kappa=fk.Box(0.1, 1.5),
            theta=fk.Box(0.01, 0.10),
            sigma=fk.Box(0.05, 0.3),
            recovery=fk.Box(0.0, 0.6),
            rate=fk.Box(0.0, 0.06),
        )

    def drift(self, x, p):
        return p.kappa * (p.theta - x)

    def diffusion(self, x, dw, p):
        return p.sigma * x.clamp_min(0.0).sqrt() * dw

    def discount(self, x, p):
        return p.rate + x

    def source(self, x, p):
        return p.recovery * x

    def initial(self, x, p):
        return torch.ones_like(x)


def reference(x, t, p):
    """S(t) e^{−rt} + R ∫ −S'(s) e^{−rs} ds, S the probability to survive; integrated by parts."""
    nodes, weights = np.polynomial.legendre.leggauss(32)
    s = 0.5 * t * (nodes + 1.0)
    whole = 0.5 * t * (weights * survival(x, s, p) * np.exp(-p.rate * s)).sum(-1, keepdims=True)
    end = survival(x, t, p) * np.exp(-p.rate * t)
    return end + p.recovery * (1.0 - end - p.rate * whole)


def survival(x, t, p):
    g = np.sqrt(p.kappa**2 + 2.0 * p.sigma**2)
    growth = np.expm1(g * t)
    below = (g + p.kappa) * growth + 2.0 * g
    power = 2.0 * p.kappa * p.theta / p.sigma**2
    log_a = power * (np.log(2.0 * g / below) + 0.5 * (p.kappa + g) * t)
    return np.exp(log_a - 2.0 * growth / below * x)
