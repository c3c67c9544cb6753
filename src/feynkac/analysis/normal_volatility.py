r"""Normal implied volatility: the σ for which Bachelier's formula gives a price, in units of F,

    price = D ((F − K)⁺ + |F − K| b(z))  for a call,   z = |F − K|/σ√t,   b(z) = ψ(z) Y′(−z)/z,

with Y = Ψ/ψ as in `normalised_black.py`. −ln b is convex in ln z with slope 1/Y′(−z). The guess
takes Y′(−z) ≈ 1/(1 + cz + z²), c = √(π/2); Halley's method does the rest. At F = K it is simply
σ√t = √2π price/D.
"""

import math
from typing import Any

import torch
from torch import Tensor

from feynkac.analysis.implied_volatility import (
    ROUNDING,
    Number,
    as_flags,
    as_tensors,
    intrinsic,
)
from feynkac.analysis.normalised_black import by_rows, guess_distance, mills, mills_slope

STEPS = 4  # of Halley's method: the guess is within a few per cent
ROOT = math.sqrt(2.0 * math.pi)


def normal_volatility(
    price: Number,
    forward: Number,
    strike: Number,
    t: Number,
    discount: Number = 1.0,
    call: Number = True,
) -> Tensor:
    """σ of Bachelier's formula; NaN below the intrinsic value and where t or D are not positive.

    For any forwards and strikes, also negative ones. Differentiable once and more often; a price
    that equals the intrinsic value has σ = 0.

    Shape: any, broadcast, in float64. Args: as of `implied_volatility`.

    Example:
        >>> normal_volatility([7.9788, 7.0], [100.0, 108.0], 100.0, 1.0)
        tensor([19.9999,     nan], dtype=torch.float64)
    """
    P, F, K, t, D, is_call = as_tensors(price, forward, strike, t, discount, as_flags(call))
    exists = (P + F + K + t + D).isfinite() & (t > 0) & (D > 0)
    time, factor = torch.where(exists, t, 1.0), torch.where(exists, D, 1.0)
    paid = intrinsic(F, K, is_call)
    exists = exists & (P / factor >= paid * (1.0 - 2.0 * ROUNDING))
    value = (P / factor - paid).clamp_min(0.0)
    value = torch.where(exists, value, torch.nan)
    deviation: Tensor = _Deviation.apply((F - K).abs(), value)  # type: ignore[no-untyped-call]
    return deviation / time.sqrt()


class _Deviation(torch.autograd.Function):
    """σ√t from |F − K| and the time value; slopes Y(−z) and 1/ψ(z), 0 where there is none."""

    @staticmethod
    def forward(gap: Tensor, value: Tensor) -> Tensor:
        return by_rows(_deviation, gap, value)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        gap, deviation = ctx.saved_tensors
        exists = deviation > 0
        z = gap / torch.where(exists, deviation, 1.0)
        pulled = torch.where(exists, grad, 0.0)
        by_value = torch.where(exists, ROOT * (0.5 * z.square()).exp(), 0.0)
        return pulled * mills(-z), pulled * by_value


def _deviation(gap: Tensor, value: Tensor) -> Tensor:
    """σ√t.  Shape: `(n,)` each."""
    found = torch.where(gap == 0, ROOT * value, value)  # NaN and 0 stay
    part = (gap > 0) & (value > 0)
    if part.any():
        found[part] = gap[part] / _distance((gap[part] / value[part]).log() - math.log(ROOT))
    return found


def _distance(level: Tensor) -> Tensor:
    """z for which z²/2 + ln z − ln Y′(−z) = level."""
    most = torch.maximum((2.0 * level.clamp_min(0.0)).sqrt(), torch.ones_like(level))
    z = guess_distance(torch.zeros_like(level), level, torch.minimum(level.exp(), most))
    for _ in range(STEPS):
        slope = mills_slope(-z)
        missing = level - (0.5 * z.square() + z.log() - slope.log())
        bend = z * (mills(-z) / slope - z)  # F″/F′ in ln z
        newton = missing * slope
        z = z * (newton / (1.0 + 0.5 * bend * newton)).exp()
    return z
