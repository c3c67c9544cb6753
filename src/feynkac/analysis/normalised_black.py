r"""Black's formula in normalised form, and its inverse, to the last digits of float64.

With x = −|ln(F/K)|, s = σ√t, h = x/s, τ = s/2, Ψ and ψ the normal law and Y = Ψ/ψ, an option out of
the money is worth √(FK) b (undiscounted):

    b(x, s) = e^{x/2} Ψ(h + τ) − e^{−x/2} Ψ(h − τ) = ψ(√(h² + τ²)) (Y(h + τ) − Y(h − τ)),
    b_s = ψ(√(h² + τ²)),   b_ss/b_s = h²/s − s/4,   b_sss/b_s = (b_ss/b_s)² − 3h²/s² − ¼.

Where the difference of the Y loses digits, it is the integral of Y′ > 0, by Gauss and Legendre;
for z ≥ 3, Y′(−z) = Y(−z) · 1/(z + 2/(z + 3/(z + …))), after Laplace.

b is convex in s up to s_c = √2|x|, and concave beyond. The inverse solves 1/ln b = 1/ln β below
(nearly linear in s², as b ~ e^{−x²/2s²}) and ln(b_max − b) = ln(b_max − β) beyond, b_max = e^{x/2}.
Both start from a guess that is exact at s_c and asymptotically, and take steps of Householder's
third-order method: its error is then to the fourth power of that before.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from feynkac.families.formulas.quadrature import gauss_legendre

ROWS = 2**14  # at a time
NODES = 7  # of the integral of Y′ over at most a tenth of the length on which it changes
WIDEST, CURVED = 0.1, 2.5  # that share; the length is |h|, or this where h is smaller
TERMS, FRACTION_FROM = 60, 3.0  # of the continued fraction; where it starts
FAR = 6.0  # h + τ beyond which b is b_max minus little
C = math.sqrt(math.pi / 2.0)  # of the rough Y′
GUESS_STEPS, MOST_STEPS = 4, 20
DONE = 1e-5  # a relative step after which the next one would be below the rounding


def normalised_price(x: Tensor, s: Tensor) -> Tensor:
    """b(x, s), differentiable as often as wanted.  Shape: any, x ≤ 0 and s ≥ 0, broadcast.

    Example:
        >>> x, s = torch.tensor([-0.1, -700.0], dtype=torch.float64), torch.tensor(0.2).double()
        >>> normalised_price(x, s)
        tensor([0.0395, 0.0000], dtype=torch.float64)
    """
    price: Tensor = _Price.apply(*torch.broadcast_tensors(x, s))  # type: ignore[no-untyped-call]
    return price


def normalised_volatility(x: Tensor, price: Tensor) -> Tensor:
    """The s for which b(x, s) = `price`, differentiable as often as wanted; NaN where none exists.

    Shape: any, x ≤ 0, broadcast. A price of exactly 0 has s = 0.

    Example:
        >>> x, b = torch.tensor([-0.1, -0.1], dtype=torch.float64), torch.tensor([0.0385, 2.0])
        >>> normalised_volatility(x, b.double())
        tensor([0.1973,    nan], dtype=torch.float64)
    """
    s: Tensor = _Volatility.apply(*torch.broadcast_tensors(x, price))  # type: ignore[no-untyped-call]
    return s


class _Price(torch.autograd.Function):
    """b(x, s); the slopes are formulas of their own, without the integral."""

    @staticmethod
    def forward(x: Tensor, s: Tensor) -> Tensor:
        return by_rows(_price, x, s)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        x, s, b = ctx.saved_tensors
        by_x, by_s = slopes(x, s, b)
        return grad * by_x, grad * by_s

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], x: Tensor, s: Tensor) -> tuple[Tensor, int]:
        return normalised_price(*_batch_first(dims, x, s)), 0


class _Volatility(torch.autograd.Function):
    """s(x, β), with ds = (dβ − b_x dx)/b_s; where none exists or s = 0, the slopes are 0."""

    @staticmethod
    def forward(x: Tensor, price: Tensor) -> Tensor:
        return by_rows(_volatility, x, price)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        x, price, s = ctx.saved_tensors
        exists = s > 0
        by_x, by_s = slopes(x, torch.where(exists, s, 1.0), torch.where(exists, price, 0.0))
        pulled = torch.where(exists & (by_s > 0), grad / by_s, 0.0)
        return -pulled * by_x, pulled

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], x: Tensor, s: Tensor) -> tuple[Tensor, int]:
        return normalised_volatility(*_batch_first(dims, x, s)), 0


def _batch_first(dims: tuple[int | None, ...], *values: Tensor) -> tuple[Tensor, Tensor]:
    first, second = (
        v if dim is None else v.movedim(dim, 0) for v, dim in zip(values, dims, strict=True)
    )
    return first, second


def slopes(x: Tensor, s: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """b_x = ½b + e^{−x/2} Ψ(h − τ) and b_s, given b; at s = 0 both are 0, or ½ and 1/√2π for x = 0.

    Shape: any, x ≤ 0 and s ≥ 0 → the same, twice.

    Example:
        >>> x, s = torch.tensor([-0.1, 0.0]).double(), torch.tensor([0.2, 0.0]).double()
        >>> [v.tolist()[1] for v in slopes(x, s, normalised_price(x, s))]
        [0.5, 0.3989422804014327]
    """
    moving = s > 0
    length = torch.where(moving, s, 1.0)
    h, tau = x / length, length / 2
    by_s = (-0.5 * (h.square() + tau.square())).exp() / math.sqrt(2.0 * math.pi)
    rest = by_s * mills(h - tau)
    at_money = (x == 0).to(x.dtype)
    still = at_money / math.sqrt(2.0 * math.pi)
    return 0.5 * b + torch.where(moving, rest, 0.5 * at_money), torch.where(moving, by_s, still)


def by_rows(f: Callable[[Tensor, Tensor], Tensor], x: Tensor, y: Tensor) -> Tensor:
    """f of flat tensors, some rows at a time.  Shape: any, the same for both."""
    rows = zip(*(torch.split(v.reshape(-1), ROWS) for v in (x, y)), strict=True)
    return torch.cat([f(*row) for row in rows]).reshape(x.shape)


def mills(u: Tensor) -> Tensor:
    """Y(u) = Ψ/ψ, for u below 37."""
    scaled: Tensor = torch.special.erfcx(-u / math.sqrt(2.0))
    return math.sqrt(math.pi / 2.0) * scaled


def mills_slope(u: Tensor) -> Tensor:
    """Y′(u) = 1 + u Y(u), by the continued fraction where the sum would lose digits."""
    z = (-u).clamp_min(FRACTION_FROM)
    tail = 0.5 * ((z.square() + 4.0 * TERMS).sqrt() - z)
    for n in range(TERMS - 1, 0, -1):
        tail = n / (z + tail)
    return torch.where(-u > FRACTION_FROM, mills(-z) * tail, 1.0 + u * mills(u))


def mills_difference(h: Tensor, tau: Tensor) -> Tensor:
    """Y(h + τ) − Y(h − τ), for h + τ below 37, with all its digits."""
    found = mills(h + tau) - mills(h - tau)
    near = tau < WIDEST * h.abs().clamp_min(CURVED)
    if near.any():
        h, tau = h[near], tau[near]
        nodes, weights = gauss_legendre(2.0 * tau[:, None], NODES)
        found[near] = (mills_slope((h - tau)[:, None] + nodes) * weights).sum(-1)
    return found


def _log_slope(h: Tensor, tau: Tensor) -> Tensor:
    """ln b_s."""
    return -0.5 * (h.square() + tau.square()) - 0.5 * math.log(2.0 * math.pi)


def _price(x: Tensor, s: Tensor) -> Tensor:
    """b(x, s)."""
    h, tau = x / torch.where(s > 0, s, 1.0), 0.5 * s
    slope = _log_slope(h, tau).exp()
    far = h + tau > FAR
    b = slope * mills_difference(h, torch.where(far, 0.0, tau))
    short = (0.5 * x).exp() - slope * _shortfall(torch.where(far, h, 0.0), tau)
    return torch.where(s == 0, 0.0, torch.where(far, short, b))


def _shortfall(h: Tensor, tau: Tensor) -> Tensor:
    """(b_max − b)/b_s, for h + τ ≥ 0."""
    return mills(-h - tau) + mills(h - tau)


def _volatility(x: Tensor, price: Tensor) -> Tensor:
    """s(x, β)."""
    exists = (price > 0) & (price < (0.5 * x).exp()) & x.isfinite()
    turn = (-2.0 * x).sqrt()
    at_turn = _price(x, turn)
    found = torch.where(exists, turn, torch.where(price == 0, 0.0, torch.nan))
    for part, solve in (
        (exists & (price < at_turn), _below),
        (exists & (price > at_turn), _beyond),
    ):
        if part.any():
            found[part] = solve(x[part], price[part], turn[part], at_turn[part])
    return found


def _below(x: Tensor, price: Tensor, turn: Tensor, at_turn: Tensor) -> Tensor:
    """s < s_c, from 1/ln b."""
    target = price.log()

    def step(s: Tensor) -> Tensor:
        h, tau = x / s, 0.5 * s
        ratio = mills_difference(h, tau)
        level = _log_slope(h, tau) + ratio.log()
        p, second, third = _log_derivatives(h, s, ratio)
        newton = (target - level) * (level / target) * ratio
        third = third - 6.0 * second * p / level + 6.0 * (p / level).square()
        return _householder(newton, second - 2.0 * p / level, third)

    guess = _guess_below(-x, at_turn.log() - target)
    return _iterate(step, guess.minimum(turn), torch.zeros_like(turn), turn)


def _guess_below(k: Tensor, fall: Tensor) -> Tensor:
    """s from k = |x| and ln(b_c/β)."""
    turn = (0.5 * k).sqrt()
    start = torch.minimum(turn * fall.exp(), (k + 2.0 * fall).sqrt())
    return k / guess_distance(k, _rough_cost(k, turn) + fall, start)


def guess_distance(k: Tensor, cost: Tensor, start: Tensor) -> Tensor:
    """z = k/s for which −ln b is about `cost` + ½ ln 2π, from a larger z.  Shape: any.

    With Y′(−z) ≈ 1/(1 + cz + z²), c = √(π/2), it is W = z²/2 + k²/8z² + ln z + ln(1 + cz + z²). W
    is convex in ln z, so that Newton falls to the root from above.
    """
    z = start
    for _ in range(GUESS_STEPS):
        rational = (C * z + 2.0 * z**2) / (1.0 + C * z + z**2)
        by_log = z**2 - 0.25 * (k / z) ** 2 + 1.0 + rational
        z = z * ((cost - _rough_cost(k, z)) / by_log).exp()
    return z


def _rough_cost(k: Tensor, z: Tensor) -> Tensor:
    """W."""
    return 0.5 * z.square() + 0.125 * (k / z).square() + (z + C * z**2 + z**3).log()


def _beyond(x: Tensor, price: Tensor, turn: Tensor, at_turn: Tensor) -> Tensor:
    """s > s_c, from ln(b_max − b)."""
    most = (0.5 * x).exp()
    left = most - price
    small = price < 0.5 * most

    def step(s: Tensor) -> Tensor:
        h, tau = x / s, 0.5 * s
        ratio = _shortfall(h, tau)
        level = _log_slope(h, tau) + ratio.log()
        difference = torch.where(
            small,
            ((_price(x, s) - price) / level.exp()).log1p(),
            left.log() - level,
        )
        _, second, third = _log_derivatives(h, s, -ratio)
        return _householder(-difference * ratio, second, third)

    rise = (price - at_turn) / (most - at_turn)
    normal = torch.where(
        rise < 0.5,
        math.sqrt(2.0) * rise.erfinv(),
        -torch.special.ndtri(0.5 * left / (most - at_turn)),
    )
    return _iterate(step, turn + 2.0 * normal, turn, torch.full_like(turn, torch.inf))


def _log_derivatives(h: Tensor, s: Tensor, ratio: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """ℓ′, ℓ″/ℓ′ and ℓ‴/ℓ′ of ℓ = ln b or ln(b_max − b), given ratio = 1/ℓ′."""
    p, second = 1.0 / ratio, h.square() / s - 0.25 * s
    third = second.square() - 3.0 * (h / s).square() - 0.25
    return p, second - p, third - 3.0 * second * p + 2.0 * p.square()


def _householder(newton: Tensor, second: Tensor, third: Tensor) -> Tensor:
    """The step of third order from Newton's step and f″/f′, f‴/f′."""
    curved = second * newton
    return newton * (1.0 + 0.5 * curved) / (1.0 + curved + third * newton.square() / 6.0)


def _iterate(step: Callable[[Tensor], Tensor], s: Tensor, least: Tensor, most: Tensor) -> Tensor:
    """s after steps until they are small; none changes s more than twofold or leaves its branch."""
    for _ in range(MOST_STEPS):
        moved = s + step(s)
        moved = moved.maximum(0.5 * s).minimum(2.0 * s).maximum(least).minimum(most)
        done = ((moved - s).abs() <= DONE * s).all()
        s = moved
        if done:
            break
    return s
