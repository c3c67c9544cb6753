"""Probability that an Ornstein–Uhlenbeck process in ten dimensions is in a ball at time t."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import ncx2

import feynkac as fk

AREA = "physics"
METHOD = "closed form"
DIM = 10


@dataclass(frozen=True)
class OuBall(fk.Family, fk.Jumps):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-1.0, 1.0, shape=(DIM,)),
            t=fk.Box(0.1, 2.0),
            kappa=fk.Box(0.3, 2.0),
            sigma=fk.Box(0.4, 1.0),
            radius=fk.Box(1.0, 3.0),
        )

    def drift(self, x, p):
        return -p.kappa * x

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def initial(self, x, p):
        return (x.norm(dim=-1, keepdim=True) < p.radius).to(x.dtype)


def reference(x, t, p):
    variance = p.sigma**2 * -np.expm1(-2.0 * p.kappa * t) / (2.0 * p.kappa)
    centre = np.exp(-2.0 * p.kappa * t) * (x**2).sum(-1, keepdims=True)
    return ncx2.cdf(p.radius**2 / variance, DIM, centre / variance)
