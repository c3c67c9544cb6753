r"""The ReLU network of Theorem 3: heat equation, paraboloid initial condition (paper, Section 4).

    Φ(x, t, γ) = Σ_i sq_m(x_i) + Σ_ij mult_m(t, sq_m(γ_ij))    on [½, 3/2]^d × [0, 1] × [0, 1]^{d×d}

is one chain of 2m + 2 hidden layers. With h = 2^−m, and Δ = 2 for x_i and for the sum in mult_m,
Δ = 1 otherwise, the errors of the squares (`relu_calculus.py`) add up to

    |Φ − ū|               ≤ (3d² + 4d) h²/4
    |∂Φ/∂x_i − 2x_i|      ≤ 2h
    |∂Φ/∂γ_ij − 2tγ_ij|   ≤ 4h                  |∂_b mult_m − t| |sq_m′| + t |sq_m′ − 2γ|
    |∂Φ/∂t − Tr γγ*|      ≤ d² (3h/2 + h²/4)    |∂_a mult_m − sq_m(γ)| + |sq_m(γ) − γ²|, d² times.

Slopes are those of almost every point. On a kink itself autograd's convention ϱ′(0) = 0 gives a
number between or beside the slopes on both sides.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from feynkac.reproduction.relu_calculus import (
    Chain,
    affine,
    carry,
    compose,
    parallel,
    product,
    squaring,
)

SPACE = 2.0  # Δ of x_i, the power of two above 3/2


@dataclass(frozen=True)
class Bounds:
    """Suprema over the whole domain."""

    value: float
    """|Φ − ū|."""
    component: float
    """The largest component of |∇Φ − ∇ū|."""
    gradient: float
    """‖∇Φ − ∇ū‖, Euclidean as in the paper."""


def guarantee(dim: int, levels: int) -> Bounds:
    """The bounds above.

    Example:
        >>> guarantee(dim=1, levels=1).component
        2.0
    """
    h, n = 0.5**levels, dim**2
    by_x, by_gamma, by_t = SPACE * h, 4.0 * h, n * (1.5 * h + h**2 / 4)
    return Bounds(
        value=(3 * n + SPACE**2 * dim) * h**2 / 4,
        component=max(by_x, by_gamma, by_t),
        gradient=math.sqrt(dim * by_x**2 + n * by_gamma**2 + by_t**2),
    )


def levels_for(dim: int, eps: float) -> int:
    """The smallest m with  ‖Φ − ū‖_{W^{1,∞}} ≤ eps  by `guarantee`, the gradient Euclidean.

    Example:
        >>> levels_for(dim=10, eps=1e-4)
        21
    """

    def enough(levels: int) -> bool:
        bounds = guarantee(dim, levels)
        return max(bounds.value, bounds.gradient) <= eps

    return next(filter(enough, itertools.count(1)))


def paraboloid(dim: int, levels: int) -> Chain:
    """Φ, its inputs in the order of `HeatParaboloid`: x, t, γ row by row.

    Example:
        >>> len(paraboloid(dim=2, levels=5)) - 1  # hidden layers
        12
    """
    n, hidden = dim**2, levels + 1
    squares = [squaring(SPACE, levels)] * dim, [squaring(1.0, levels)] * n
    first = parallel([*squares[0], carry(1, hidden), *squares[1]])
    second = parallel([carry(1, hidden), *[product(1.0, levels)] * n])
    return compose(affine(np.ones((1, 1 + n))), second, affine(_regrouped(dim)), first)


def _regrouped(dim: int) -> np.ndarray:
    """From (x_i²)_i, t, (γ_ij²)_ij to Σ x_i² and the pairs t, γ_ij²."""
    n = dim**2
    rows = np.zeros((1 + 2 * n, dim + 1 + n))
    rows[0, :dim] = 1.0
    rows[1::2, dim] = 1.0
    rows[2::2, dim + 1 :] = np.eye(n)
    return rows
