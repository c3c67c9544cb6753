"""Call under constant elasticity of variance:  dS = r S dt + σ 100^{1−β} S^β dW."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import ncx2

import feynkac as fk

AREA = "equity"
METHOD = "closed form"


@dataclass(frozen=True)
class CevCall(fk.Family, fk.Rate):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(80.0, 120.0),
            t=fk.Box(0.1, 2.0),
            sigma=fk.Box(0.15, 0.5),
            beta=fk.Box(0.4, 0.85),
            strike=fk.Box(80.0, 120.0),
            rate=fk.Box(0.005, 0.06),
        )

    def drift(self, x, p):
        return p.rate * x

    def diffusion(self, x, dw, p):
        return p.sigma * 100.0 ** (1.0 - p.beta) * x.clamp_min(0.0) ** p.beta * dw

    def initial(self, x, p):
        return (x - p.strike).clamp_min(0.0)


def reference(x, t, p):
    """By the non-central χ² law (Schroder 1989)."""
    power = 2.0 * (1.0 - p.beta)
    squared = (p.sigma * 100.0 ** (1.0 - p.beta)) ** 2
    k = 2.0 * p.rate / (squared * power * np.expm1(p.rate * power * t))
    now, then = k * x**power * np.exp(p.rate * power * t), k * p.strike**power
    above = ncx2.sf(2.0 * then, 2.0 + 2.0 / power, 2.0 * now)
    below = ncx2.cdf(2.0 * now, 2.0 / power, 2.0 * then)
    return x * above - p.strike * np.exp(-p.rate * t) * below
