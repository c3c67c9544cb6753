"""Call on a three-year bond in the two-factor Gaussian model G2++, short rate 3 % + x₁ + x₂."""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import ndtr

import feynkac as fk

AREA = "rates"
METHOD = "closed form"
LEVEL, LENGTH = 0.03, 3.0


@dataclass(frozen=True)
class G2BondOption(fk.Family, fk.Discount):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-0.02, 0.02, shape=(2,)),
            t=fk.Box(0.1, 3.0),
            a=fk.Box(0.2, 1.0),
            b=fk.Box(0.02, 0.15),
            sigma=fk.Box(0.005, 0.02),
            eta=fk.Box(0.005, 0.02),
            rho=fk.Box(-0.9, 0.0),
            strike=fk.Box(0.85, 0.97),
        )

    def drift(self, x, p):
        return -torch.cat([p.a, p.b], dim=-1) * x

    def diffusion(self, x, dw, p):
        first, other = dw[..., :1], dw[..., 1:]
        second = p.rho * first + (1.0 - p.rho**2).sqrt() * other
        return torch.cat([p.sigma * first, p.eta * second], dim=-1)

    def discount(self, x, p):
        return LEVEL + x.sum(-1, keepdim=True)

    def initial(self, x, p):
        a, b = ((1.0 - (-k * LENGTH).exp()) / k for k in (p.a, p.b))
        both = (1.0 - (-(p.a + p.b) * LENGTH).exp()) / (p.a + p.b)
        variance = (
            (p.sigma / p.a) ** 2 * (LENGTH - a - 0.5 * p.a * a**2)
            + (p.eta / p.b) ** 2 * (LENGTH - b - 0.5 * p.b * b**2)
            + 2.0 * p.rho * p.sigma * p.eta / (p.a * p.b) * (LENGTH - a - b + both)
        )
        bond = (0.5 * variance - LEVEL * LENGTH - a * x[..., :1] - b * x[..., 1:]).exp()
        return (bond - p.strike).clamp_min(0.0)


def reference(x, t, p):
    early, late = bond(x, t, p), bond(x, t + LENGTH, p)
    a, b = (-np.expm1(-k * LENGTH) / k for k in (p.a, p.b))
    variance = (
        (p.sigma * a) ** 2 * mean_square(2.0 * p.a, t)
        + (p.eta * b) ** 2 * mean_square(2.0 * p.b, t)
        + 2.0 * p.rho * p.sigma * p.eta * a * b * mean_square(p.a + p.b, t)
    )
    deviation = np.sqrt(variance)
    h = np.log(late / (early * p.strike)) / deviation + 0.5 * deviation
    return late * ndtr(h) - p.strike * early * ndtr(h - deviation)


def mean_square(rate, t):
    return -np.expm1(-rate * t) / rate


def bond(x, t, p):
    """E exp(−∫r): the integral is normal; its variance by quadrature, not by the formula above."""
    nodes, weights = np.polynomial.legendre.leggauss(32)
    w = 0.5 * t * (nodes + 1.0)
    first, second = p.sigma * mean_square(p.a, w), p.eta * mean_square(p.b, w)
    density = first**2 + second**2 + 2.0 * p.rho * first * second
    variance = 0.5 * t * (weights * density).sum(-1, keepdims=True)
    mean = LEVEL * t + mean_square(p.a, t) * x[:, :1] + mean_square(p.b, t) * x[:, 1:]
    return np.exp(0.5 * variance - mean)
