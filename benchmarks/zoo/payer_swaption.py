"""Payer swaption on Vasicek's short rate, notional 10⁶, into a swap of five annual payments."""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import ndtr

import feynkac as fk

AREA = "rates"
METHOD = "closed form (Jamshidian)"


@dataclass(frozen=True)
class PayerSwaption(fk.Family, fk.Discount):
    notional: float = 1e6

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-0.01, 0.08),
            t=fk.Box(0.1, 5.0),
            kappa=fk.Box(0.05, 0.5),
            theta=fk.Box(0.01, 0.06),
            sigma=fk.Box(0.005, 0.02),
            strike=fk.Box(0.01, 0.06),
        )

    def drift(self, x, p):
        return p.kappa * (p.theta - x)

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def discount(self, x, p):
        return x

    def initial(self, x, p):
        tenors = torch.arange(1.0, 6.0, dtype=x.dtype, device=x.device)
        b = (1.0 - (-p.kappa * tenors).exp()) / p.kappa
        limit = p.theta - p.sigma**2 / (2.0 * p.kappa**2)
        bonds = (limit * (b - tenors) - p.sigma**2 * b**2 / (4.0 * p.kappa) - b * x).exp()
        swap = 1.0 - bonds[..., -1:] - p.strike * bonds.sum(-1, keepdim=True)
        return self.notional * swap.clamp_min(0.0)


def reference(x, t, p):
    """A put on each bond of the fixed leg, struck where the rate makes the swap worthless."""
    tenors = np.arange(1.0, 6.0)
    coupons = p.strike + (tenors == 5.0)
    b, log_a = affine(tenors, p)
    r = np.zeros_like(x)
    for _ in range(50):
        legs = coupons * np.exp(log_a - b * r)
        r += (legs.sum(-1, keepdims=True) - 1.0) / (legs * b).sum(-1, keepdims=True)
    strikes = np.exp(log_a - b * r)
    deviation = p.sigma * np.sqrt(-np.expm1(-2.0 * p.kappa * t) / (2.0 * p.kappa)) * b
    expiry, later = bond(x, t, p), bond(x, t + tenors, p)
    h = np.log(later / (strikes * expiry)) / deviation + 0.5 * deviation
    puts = strikes * expiry * ndtr(deviation - h) - later * ndtr(-h)
    return 1e6 * (coupons * puts).sum(-1, keepdims=True)


def affine(t, p):
    """B and ln A of the bond that matures in t."""
    b = -np.expm1(-p.kappa * t) / p.kappa
    limit = p.theta - p.sigma**2 / (2.0 * p.kappa**2)
    return b, limit * (b - t) - p.sigma**2 * b**2 / (4.0 * p.kappa)


def bond(x, t, p):
    b, log_a = affine(t, p)
    return np.exp(log_a - b * x)
