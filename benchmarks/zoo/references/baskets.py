r"""Baskets of displaced lognormal prices with equal correlations, by quasi-Monte Carlo:

    Sᵢ = mᵢ + cᵢ exp(vᵢ Zᵢ − vᵢ²/2),    Z = q g + r,   g ~ N(0, 1) independent of r.

q is the direction of the basket's own noise. Given r, which Sobol points fill, the basket grows
with g; where it meets the strike is found by Newton's method, and the mean over g is exact.
"""

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import qmc

REPLICATES, LOG_POINTS = 16, 12


def displaced(x, t, p):
    """Values and errors of E e^{−rt} (mean Sᵢ − K)⁺, Sᵢ + 100 (1 − β)/β lognormal."""
    spread = np.linspace(0.7, 1.3, x.shape[-1])
    shift = 100.0 * (1.0 - p.beta) / p.beta
    v = p.beta * p.sigma * spread * np.sqrt(t)
    return _all(-shift + 0.0 * x, x + shift, v, t, p, _call)


def digital(x, t, p):
    """Values and errors of e^{−rt} P(mean Sᵢ > K)."""
    v = p.sigma * np.sqrt(t)
    return _all(0.0 * x, x * np.exp(p.rate * t), v, t, p, _above)


def _all(m, c, v, t, p, mean):
    generator = np.random.default_rng(1)
    found = np.array(
        [
            _one(m[i], c[i], v[i], p.rho[i], p.strike[i], mean, generator)
            * np.exp(-p.rate[i] * t[i])
            for i in range(len(t))
        ]
    )
    return found.mean(-1, keepdims=True), found.std(-1, ddof=1, keepdims=True) / REPLICATES**0.5


def _one(m, c, v, rho, strike, mean, generator):
    """One value per replicate."""
    dim = len(c)
    correlation = rho + (1.0 - rho) * np.eye(dim)
    weights = c * v
    q = correlation @ weights / np.sqrt(weights @ correlation @ weights)
    values, vectors = np.linalg.eigh(correlation - np.outer(q, q))
    root = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1][:, : dim - 1]
    found = []
    for _ in range(REPLICATES):
        uniform = qmc.Sobol(dim - 1, rng=generator).random_base2(LOG_POINTS)
        rest = ndtri(np.clip(uniform, 1e-12, 1.0 - 1e-12)) @ root.T
        a = c / dim * np.exp(v * rest - 0.5 * v**2)
        found.append(mean(a, v * q, strike - m.mean()).mean())
    return np.array(found)


def _threshold(a, b, strike):
    """g with Σ aᵢ e^{bᵢ g} = K; the logarithm of the sum is nearly a line."""
    g = np.zeros((len(a), 1))
    for _ in range(12):
        terms = a * np.exp(b * g)
        total = terms.sum(-1, keepdims=True)
        slope = (terms * b).sum(-1, keepdims=True) / total
        g = np.clip(g - np.log(total / strike) / slope, -12.0, 12.0)
    return g


def _above(a, b, strike):
    return ndtr(-_threshold(a, b, strike))


def _call(a, b, strike):
    g = _threshold(a, b, strike)
    return (a * np.exp(0.5 * b**2) * ndtr(b - g)).sum(-1, keepdims=True) - strike * ndtr(-g)
