"""Call on the best of 100 lognormal assets that share one factor: 101 Brownian motions."""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

import feynkac as fk

AREA = "equity"
METHOD = "quadrature"
INPUTS = 128
DIM = 100


@dataclass(frozen=True)
class BestOfHundred(fk.Family, fk.Rate, fk.NoiseDimension):
    noise_dim = DIM + 1

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(80.0, 120.0, shape=(DIM,)),
            t=fk.Box(0.1, 1.0),
            sigma=fk.Box(0.1, 0.4),
            rho=fk.Box(0.1, 0.8),
            strike=fk.Box(100.0, 160.0),
            rate=fk.Box(0.0, 0.05),
        )

    def drift(self, x, p):
        return p.rate * x

    def diffusion(self, x, dw, p):
        noise = p.rho.sqrt() * dw[..., :1] + (1.0 - p.rho).sqrt() * dw[..., 1:]
        return p.sigma * x * noise

    def initial(self, x, p):
        return (x.amax(-1, keepdim=True) - p.strike).clamp_min(0.0)


def reference(x, t, p):
    columns = (t[:, 0], p.sigma[:, 0], p.rho[:, 0], p.strike[:, 0], p.rate[:, 0])
    return np.array([[value(*row)] for row in zip(x, *columns, strict=True)])


def value(x, t, sigma, rho, strike, rate, factors=80, levels=120):
    """∫_K^∞ P(max > m) dm; given the common factor, the assets are independent."""
    v = sigma * np.sqrt(t)
    nodes, weights = np.polynomial.hermite_e.hermegauss(factors)
    forward = np.log(x) + rate * t - 0.5 * v**2
    top = max(forward.max(), np.log(strike)) + 7.0 * v
    z, w = np.polynomial.legendre.leggauss(levels)
    half = 0.5 * (top - np.log(strike))
    level = np.log(strike) + half * (z + 1.0)
    common = np.sqrt(rho) * v * nodes
    distance = level[:, None, None] - forward - common[:, None]
    below = np.exp(log_ndtr(distance / (np.sqrt(1.0 - rho) * v)).sum(-1))
    above = ((1.0 - below) * weights).sum(-1) / weights.sum()
    return np.exp(-rate * t) * (half * w * np.exp(level) * above).sum()
