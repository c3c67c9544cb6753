"""Zero-coupon bond of Cox, Ingersoll and Ross:  dr = κ(θ − r) dt + σ√r dW,  u = E exp(−∫r)."""

from dataclasses import dataclass

import numpy as np
import torch

import feynkac as fk

AREA = "rates"
METHOD = "closed form"


@dataclass(frozen=True)
class CirBond(fk.Family, fk.Discount):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(0.0, 0.10),
            t=fk.Box(0.0, 10.0),
            kappa=fk.Box(0.1, 1.5),
            theta=fk.Box(0.01, 0.08),
            sigma=fk.Box(0.02, 0.25),
        )

    def drift(self, x, p):
        return p.kappa * (p.theta - x)

    def diffusion(self, x, dw, p):
        return p.sigma * x.clamp_min(0.0).sqrt() * dw

    def initial(self, x, p):
        return torch.ones_like(x)

    def discount(self, x, p):
        return x


def reference(x, t, p):
    g = np.sqrt(p.kappa**2 + 2.0 * p.sigma**2)
    growth = np.expm1(g * t)
    below = (g + p.kappa) * growth + 2.0 * g
    power = 2.0 * p.kappa * p.theta / p.sigma**2
    log_a = power * (np.log(2.0 * g / below) + 0.5 * (p.kappa + g) * t)
    return np.exp(log_a - 2.0 * growth / below * x)
