"""Zero-coupon bond of Vasicek's short rate:  dr = κ(θ − r) dt + σ dW,  u = E exp(−∫r)."""

from dataclasses import dataclass

import numpy as np
import torch

import feynkac as fk

AREA = "rates"
METHOD = "closed form"


@dataclass(frozen=True)
class VasicekBond(fk.Family, fk.Discount):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-0.02, 0.10),
            t=fk.Box(0.0, 10.0),
            kappa=fk.Box(0.05, 1.0),
            theta=fk.Box(0.0, 0.08),
            sigma=fk.Box(0.002, 0.02),
        )

    def drift(self, x, p):
        return p.kappa * (p.theta - x)

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def initial(self, x, p):
        return torch.ones_like(x)

    def discount(self, x, p):
        return x


def reference(x, t, p):
    b = -np.expm1(-p.kappa * t) / p.kappa
    limit = p.theta - p.sigma**2 / (2.0 * p.kappa**2)
    log_a = limit * (b - t) - p.sigma**2 * b**2 / (4.0 * p.kappa)
    return np.exp(log_a - b * x)
