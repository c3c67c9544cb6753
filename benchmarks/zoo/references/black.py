r"""Means of payoffs of a normal or lognormal variable.

E (S − K)⁺ = F N(d₁) − K N(d₂),   ln S ~ N(ln F − v²/2, v²).
"""

import numpy as np
from scipy.special import ndtr


def call(forward, strike, deviation):
    """Of a lognormal S with mean F; `deviation` is that of ln S."""
    v = np.maximum(deviation, 1e-12)
    d1 = np.log(forward / strike) / v + 0.5 * v
    return forward * ndtr(d1) - strike * ndtr(d1 - v)


def put(forward, strike, deviation):
    """By parity."""
    return call(forward, strike, deviation) - forward + strike


def normal_call(mean, strike, deviation):
    """Of a normal variable."""
    v = np.maximum(deviation, 1e-12)
    d = (mean - strike) / v
    return (mean - strike) * ndtr(d) + v * np.exp(-0.5 * d**2) / np.sqrt(2.0 * np.pi)
