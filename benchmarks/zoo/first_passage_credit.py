"""Bond of a firm that defaults when its value falls to a barrier; then a recovery is paid."""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import ndtr

import feynkac as fk

AREA = "credit"
METHOD = "closed form"


@dataclass(frozen=True)
class FirstPassageCredit(fk.Family, fk.Rate, fk.BoundaryValue):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(80.0, 160.0),
            t=fk.Box(0.1, 5.0),
            sigma=fk.Box(0.1, 0.4),
            barrier=fk.Box(50.0, 75.0),
            recovery=fk.Box(0.2, 0.6),
            rate=fk.Box(0.0, 0.06),
        )

    def drift(self, x, p):
        return p.rate * x

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def initial(self, x, p):
        return torch.ones_like(x)

    def distance(self, x, p):
        return (x / p.barrier).log()

    def boundary_value(self, x, p):
        return p.recovery + 0.0 * x


def reference(x, t, p):
    far, v = np.log(x / p.barrier), p.sigma * np.sqrt(t)
    drift = p.rate - 0.5 * p.sigma**2
    alive = 1.0 - passage(far, t, v, drift, p.sigma, 0.0)
    paid = passage(far, t, v, drift, p.sigma, p.rate)
    return np.exp(-p.rate * t) * alive + p.recovery * paid


def passage(far, t, v, drift, sigma, rate):
    """E[e^{−r τ}; τ < t] of a Brownian motion with drift that must fall by `far`."""
    tilted = np.sqrt(drift**2 + 2.0 * rate * sigma**2)
    down = np.exp(-(drift + tilted) * far / sigma**2) * ndtr((-far + tilted * t) / v)
    up = np.exp(-(drift - tilted) * far / sigma**2) * ndtr((-far - tilted * t) / v)
    return down + up
