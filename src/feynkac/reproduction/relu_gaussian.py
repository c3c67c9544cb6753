r"""The ReLU network of Theorem A.4: heat equation, Gaussian initial condition (paper, Section A.1).

    ū(x, t, γ) = Π_i f g(x_i f),   f = h(t γ²),   h(z) = (1 + 2z)^{−1/2},   g(y) = e^{−y²}

on [−X, X]^d × [0, 1] × [0, G] with X, G ≤ 1. As functions of w in [−1, 1], with t γ² = G² (1 + w)/2
and y = X w, h and g are Chebyshev sums of degree n by Clenshaw's recursion

    b_k = c_k + 2 w b_{k+1} − b_{k+2},    Σ c_k T_k(w) = c_0 + w b_1 − b_2,

with one product in each step. The product over i is a binary tree. What lies in an interval is
clipped to it. A product of m levels on [−Δ, Δ]² is off by at most δ(Δ) = Δ² 4^−m / 2
(`relu_calculus.py`), and an error in b_k is one in c_k, multiplied by |T_k| ≤ 1. With τ the sum of
the |c_k| left out, the errors of f, of p_i = f g(x_i f), and of all are at most

    e_f = 4^−m/4 + δ(1) + τ_h + (2n − 1) δ(Δ_h)                  |∂h/∂w| ≤ ½ G² ≤ ½
    e_p = 2 e_f + 2 δ(1) + τ_g + (2n − 1) δ(Δ_g)                 |∂g/∂w| ≤ X ≤ 1
    |Φ − ū| ≤ d e_p + (d − 1) δ(1).
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.chebyshev import chebinterpolate
from numpy.typing import ArrayLike, NDArray

from feynkac.reproduction.relu_calculus import (
    Chain,
    affine,
    carry,
    compose,
    parallel,
    product,
    squaring,
)

Array = NDArray[np.float64]
TERMS = 40  # of a Chebyshev series that leaves nothing out


@dataclass(frozen=True)
class Reach:
    """The domain: |x_i| ≤ x and 0 ≤ γ ≤ gamma, both at most 1; t in [0, 1]."""

    x: float
    gamma: float

    def h(self, w: Array) -> Array:
        """(1 + 2tγ²)^{−1/2} with tγ² = gamma² (1 + w)/2."""
        return np.asarray((1 + self.gamma**2 * (1 + w)) ** -0.5)

    def g(self, w: Array) -> Array:
        """e^{−y²} with y = x w."""
        return np.asarray(np.exp(-((self.x * w) ** 2)))


@dataclass(frozen=True)
class Plan:
    """How fine a network is: levels m of each product, degrees of h and g."""

    levels: int
    of_h: int
    of_g: int


def guarantee(dim: int, reach: Reach, plan: Plan) -> float:
    """The bound above on |Φ − ū| over the whole domain."""
    delta = product_error(1.0, plan.levels)
    of_h = series_error(coefficients(reach.h), plan.of_h, plan.levels)
    of_g = series_error(coefficients(reach.g), plan.of_g, plan.levels)
    of_f = 0.25**plan.levels / 4 + delta + of_h
    return dim * (2 * of_f + 2 * delta + of_g) + (dim - 1) * delta


def plan_for(dim: int, reach: Reach, eps: float) -> Plan:
    """The smallest degrees with τ ≤ ε/(8d), then the fewest levels with `guarantee` ≤ ε.

    Example:
        >>> plan_for(dim=10, reach=Reach(x=1.0, gamma=1.0), eps=1e-2)
        Plan(levels=9, of_h=6, of_g=8)
    """
    degrees = [
        next(n for n in range(1, TERMS) if np.abs(series[n + 1 :]).sum() <= eps / (8 * dim))
        for series in (coefficients(reach.h), coefficients(reach.g))
    ]
    plans = (Plan(levels, *degrees) for levels in itertools.count(1))
    return next(plan for plan in plans if guarantee(dim, reach, plan) <= eps)


def coefficients(function: Callable[[Array], Array]) -> Array:
    """Of the Chebyshev series.  Shape: `(TERMS + 1,)`."""
    return np.asarray(chebinterpolate(function, TERMS))  # type: ignore[type-var]


def product_error(bound: float, levels: int) -> float:
    """δ(Δ)."""
    return bound**2 * 0.25**levels / 2


def series_error(series: Array, degree: int, levels: int) -> float:
    """τ + (2n − 1) δ(Δ)."""
    kept, left = series[: degree + 1], series[degree + 1 :]
    return float(np.abs(left).sum()) + (2 * degree - 1) * product_error(reach_of(kept), levels)


def reach_of(series: Array) -> float:
    """A power of two Δ with |b_k| ≤ Σ_j (j + 1) |c_j| ≤ Δ, and room for errors."""
    size = float(np.abs(series) @ np.arange(1, len(series) + 1))
    return 2.0 ** max(0, math.ceil(math.log2(size + 0.5)))


def gaussian(dim: int, reach: Reach, plan: Plan) -> Chain:
    """Φ, its inputs in the order of `HeatGaussian`: x, t, γ.

    Example:
        >>> chain = gaussian(dim=4, reach=Reach(x=0.1, gamma=0.1), plan=Plan(6, 1, 2))
        >>> len(chain) - 1, chain[0].weight.shape[1]  # hidden layers, inputs
        (70, 6)
    """
    m = plan.levels
    h = clenshaw(coefficients(reach.h)[: plan.of_h + 1], m)
    g = clenshaw(coefficients(reach.g)[: plan.of_g + 1], m)
    return compose(
        _tree(dim, m),
        clip(dim),
        parallel([product(1.0, m)] * dim),
        affine(_pairs(dim)),
        _beside(1, compose(clip(dim), parallel([g] * dim), _spread(dim))),
        _beside(1, compose(clip(dim), _halved(dim), parallel([product(1.0, m)] * dim))),
        affine(*_fanned(dim)),
        _beside(dim, compose(clip(1), h, _spread(1))),
        _beside(dim, compose(clip(1), product(1.0, m))),
        _beside(dim + 1, squaring(1.0, m)),
        affine(np.diag([*[1 / reach.x] * dim, 1.0, 1 / reach.gamma]), [*[1.0] * dim, 0.0, 0.0]),
    )


def _beside(count: int, chain: Chain) -> Chain:
    """`count` numbers ≥ 0, carried past the chain."""
    return parallel([carry(count, len(chain) - 1), chain])


def _spread(count: int) -> Chain:
    """From [0, 1] to [−1, 1]."""
    return affine(2 * np.eye(count), -np.ones(count))


def _halved(count: int) -> Chain:
    """From [−1, 1] to [0, 1]."""
    return affine(np.eye(count) / 2, np.ones(count) / 2)


def _fanned(dim: int) -> tuple[Array, Array]:
    """From the x_i/X + 1 and f to f and the pairs x_i/X, f."""
    rows, bias = np.zeros((2 * dim + 1, dim + 1)), np.zeros(2 * dim + 1)
    rows[0::2, dim] = 1.0
    rows[1::2, :dim] = np.eye(dim)
    bias[1::2] = -1.0
    return rows, bias


def _pairs(dim: int) -> Array:
    """From f and the g_i to the pairs f, g_i."""
    rows = np.zeros((2 * dim, dim + 1))
    rows[0::2, 0] = 1.0
    rows[1::2, 1:] = np.eye(dim)
    return rows


def _tree(count: int, levels: int) -> Chain:
    """The product of `count` numbers in [0, 1], two by two, each result clipped."""
    if count == 1:
        return affine([[1.0]])
    odd = [carry(1, levels + 1)] * (count % 2)
    layer = parallel([*[product(1.0, levels)] * (count // 2), *odd])
    half = (count + 1) // 2
    return compose(_tree(half, levels), clip(half), layer)


def clip(count: int) -> Chain:
    """ϱ(y) − ϱ(y − 1) of `count` numbers: what lies outside [0, 1] moves to its ends."""
    eye = np.eye(count)
    start = affine(np.vstack([eye, eye]), [*[0.0] * count, *[-1.0] * count])
    return (*start, *affine(np.hstack([eye, -eye])))


def clenshaw(series: ArrayLike, levels: int) -> Chain:
    """w in [−1, 1] ↦ Σ c_k T_k(w), at least c_0 and c_1.

    Between the steps stand w + 1, b_{k+2} + Δ and b_{k+1} + Δ, which are ≥ 0.

    Example:
        >>> import torch
        >>> from feynkac.reproduction.relu_calculus import ReluNetwork
        >>> network = ReluNetwork(clenshaw([0.0, 0.0, 1.0], levels=12))
        >>> round(network(torch.tensor([[0.6]], dtype=torch.float64)).item(), 4)  # T_2(0.6)
        -0.28
    """
    first, *middle, last = (float(c) for c in np.asarray(series))
    bound = reach_of(np.asarray(series))
    fan = affine([*np.eye(3), [1, 0, 0], [0, 0, 1]], [0, 0, 0, -1, -bound])
    multiply = compose(_beside(3, product(bound, levels)), fan)  # w + 1, b + Δ, b′ + Δ, w b′
    joins = [
        affine([[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 2]], [0, 0, c + 2 * bound])
        for c in reversed(middle)
    ]
    steps = [compose(join, multiply) for join in joins]
    end = compose(affine([[0, -1, 0, 1]], [first + bound]), multiply)
    start = affine([[1], [0], [0]], [1, bound, last + bound])
    return compose(end, *reversed(steps), start)
