r"""Expected payoffs of I, the largest or smallest of lognormal numbers F_i exp(v_i Z_i − ½v_i²):

    call E(I − K)⁺ = ∫_K^∞ P(I > s) ds,   put E(K − I)⁺ = ∫_0^K P(I < s) ds,   digital P(I > K),

by Gauss–Legendre quadrature in y = ln(s/K), between the points a and b where P(I > s) is no longer
1 and already 0. The Z_i are standard normal. With m_i = ln(F_i/K) − ½v_i² and α_i = (y − m_i)/v_i,

    P(max < s) = P(Z_i < α_i for all i),     P(min > s) = P(Z_i < −α_i for all i).

If they are independent, this is Π Ψ(α_i). If any two have correlation ρ > 0, they are independent
given a common factor z (Dunnett and Sobel 1955),

    P(Z_i < α_i for all i) = ∫ ψ(z) Π Ψ((α_i − √ρ z)/√(1 − ρ)) dz,

and the product is 1 for all z below, 0 for all z above an interval around min α_i/√ρ.
"""

import functools
from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from feynkac.families.formulas.normal_law import cdf, pdf
from feynkac.families.formulas.quadrature import gauss_legendre
from feynkac.families.formulas.safe_root import positive
from feynkac.families.payoff import INDICES, STYLES

CERTAIN = 6.0  # deviations at which Ψ is taken for 0 or 1
FACTOR_NODES = 32
NODES_AT_ONCE = 16  # in y; memory


def extreme(
    style: str,
    on: str,
    forward: Tensor,
    strike: Tensor,
    deviation: Tensor,
    rho: Tensor | None = None,
    nodes: int = 32,
) -> Tensor:
    """E of a call, put or digital on the max or min; at v = 0 the payoff of F.

    Shape: forward, deviation `(…, d)`, strike, rho `(…, 1)` → `(…, 1)`.

    Args:
        style: call, put or digital.
        on: max or min.
        forward: F_i.
        strike: K.
        deviation: v_i, all positive or all zero.
        rho: correlation of any two, 0 < ρ < 1; None if they are independent.
        nodes: of the quadrature in y; 32 are enough where no v_i is above four times another.

    Example:
        >>> F, v = torch.tensor([[100.0, 100.0], [0.2, 0.2]])
        >>> extreme("call", "max", F, torch.tensor([100.0]), v)
        tensor([13.9060])
    """
    v, sign = positive(deviation), 1.0 if on == "max" else -1.0
    m = (forward / strike).log() - 0.5 * v.square()

    def above(y: Tensor) -> Tensor:
        each = zip(torch.split(m, 1, -1), torch.split(v, 1, -1), strict=True)
        all_beyond = all_below((sign * (y - m_i) / v_i for m_i, v_i in each), rho)
        return 1.0 - all_beyond if on == "max" else all_beyond

    a, b = INDICES[on](m - CERTAIN * v), INDICES[on](m + CERTAIN * v)
    value = _expected(style, above, a, b, nodes)
    value = value if style == "digital" else strike * value
    paid = STYLES[style](INDICES[on](forward) - strike)
    return torch.where((deviation > 0).all(-1, keepdim=True), value, paid)


def all_below(alphas: Iterable[Tensor], rho: Tensor | None = None) -> Tensor:
    """P(Z_i < α_i for all i).  Shape: α_i `(…, n)`, rho `(…, 1)` → `(…, n)`.

    Example:
        >>> zero = torch.zeros(1)
        >>> all_below([zero, zero], torch.tensor([0.5]))  # ¼ + arcsin ρ/2π
        tensor([0.3333])
    """
    if rho is None:
        return functools.reduce(torch.mul, map(cdf, alphas))
    own, common = (1.0 - rho).sqrt(), rho.sqrt()
    alphas = list(alphas)
    least = functools.reduce(torch.minimum, alphas)
    ends = ((least + far * own) / common for far in (-CERTAIN, CERTAIN))
    first, last = (end.clamp(-CERTAIN, CERTAIN) for end in ends)
    total, scaled = cdf(first), [alpha / own for alpha in alphas]
    for part, weight in zip(*gauss_legendre(rho.new_ones(1), FACTOR_NODES), strict=True):
        z = first + part * (last - first)
        product = all_below(alpha - common / own * z for alpha in scaled)
        total = total + weight * (last - first) * pdf(z) * product
    return total


def _expected(
    style: str, above: Callable[[Tensor], Tensor], a: Tensor, b: Tensor, nodes: int
) -> Tensor:
    """The expectation for K = 1, from P(I > e^y), which is 1 below a and 0 above b."""
    if style == "digital":
        return above(torch.zeros_like(a))
    if style == "call":
        certain, first, last = a.expm1(), a.clamp_min(0.0), b.clamp_min(0.0)
    else:
        certain, first, last = -b.expm1(), a.clamp_max(0.0), b.clamp_max(0.0)
    above_first, weights = gauss_legendre(last - first, nodes)
    blocks = (torch.split(rule, NODES_AT_ONCE, -1) for rule in (first + above_first, weights))
    value = certain.clamp_min(0.0)
    for y, dy in zip(*blocks, strict=True):
        chance = above(y) if style == "call" else 1.0 - above(y)
        value = value + (chance * y.exp() * dy).sum(-1, keepdim=True)
    return value
