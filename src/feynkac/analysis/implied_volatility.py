r"""Implied volatility: the σ for which Black's formula gives a price,

    price = D ((F − K)⁺ + √(FK) b(−|ln(F/K)|, σ√t))  for a call, with (K − F)⁺ for a put,

with forward F, strike K, time t, discount factor D and b from `normalised_black.py`. All in
float64, row by row, and differentiable by the implicit function theorem: dσ = dprice/vega.

A volatility exists where the price is at least the intrinsic value and below the forward (of a
call) or the strike (of a put), all discounted. An option deep in the money has a price whose last
digits are all there is of its time value; its volatility cannot be more accurate than these.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from feynkac.analysis.normalised_black import normalised_price, normalised_volatility, slopes
from feynkac.errors import InputError

ROUNDING = torch.finfo(torch.float64).eps

Number = Any
"""A number, an array or a tensor; all arguments of a call broadcast."""


def implied_volatility(
    price: Number,
    forward: Number,
    strike: Number,
    t: Number,
    discount: Number = 1.0,
    call: Number = True,
) -> Tensor:
    """σ, and NaN where none exists: `why_no_volatility` says why.  Shape: any, broadcast.

    In float64. A price that equals the intrinsic value has σ = 0.

    Args:
        price: of the option.
        forward: of the asset, for maturity; positive.
        strike: positive.
        t: time to maturity; positive.
        discount: what 1 at maturity is worth now.
        call: whether it is a call; otherwise a put.

    Example:
        >>> implied_volatility([7.9656, 120.0], 100.0, 100.0, 1.0)
        tensor([0.2000,    nan], dtype=torch.float64)
    """
    P, F, K, t, D, is_call = as_tensors(price, forward, strike, t, discount, as_flags(call))
    exists = ~torch.stack([*_obstacles(P, F, K, t, D, is_call).values()]).any(0)
    F, K, t, D = (torch.where(exists, v, 1.0) for v in (F, K, t, D))
    x = -log_ratio(F, K).abs()
    value = (P / D - intrinsic(F, K, is_call)).clamp_min(0.0) / (F * K).sqrt()
    below = value.minimum((0.5 * x).exp() * (1.0 - ROUNDING))
    sigma: Tensor = normalised_volatility(x, torch.where(exists, below, torch.nan)) / t.sqrt()
    return sigma


def black_price(
    forward: Number,
    strike: Number,
    t: Number,
    volatility: Number,
    discount: Number = 1.0,
    call: Number = True,
) -> Tensor:
    """Black's formula, with all digits also far out of the money.  Shape: any, broadcast.

    Example:
        >>> black_price(100.0, [100.0, 1e4], 1.0, 0.2)
        tensor([ 7.9656e+00, 1.1057e-116], dtype=torch.float64)
    """
    F, K, t, sigma, D, is_call = as_tensors(
        forward, strike, t, volatility, discount, as_flags(call)
    )
    b = normalised_price(-log_ratio(F, K).abs(), sigma * t.sqrt())
    return D * (intrinsic(F, K, is_call) + (F * K).sqrt() * b)


def black_vega(
    forward: Number, strike: Number, t: Number, volatility: Number, discount: Number = 1.0
) -> Tensor:
    """∂price/∂σ, the same for a call and a put.  Shape: any, broadcast.

    Example:
        >>> black_vega(100.0, 100.0, 1.0, 0.2)
        tensor(39.6953, dtype=torch.float64)
    """
    F, K, t, sigma, D = as_tensors(forward, strike, t, volatility, discount)
    x = -log_ratio(F, K).abs()
    _, by_s = slopes(x, sigma * t.sqrt(), torch.zeros_like(x))
    vega: Tensor = D * (F * K * t).sqrt() * by_s
    return vega


def why_no_volatility(
    price: Number,
    forward: Number,
    strike: Number,
    t: Number,
    discount: Number = 1.0,
    call: Number = True,
) -> Mapping[str, int]:
    """Why volatilities do not exist: sentences, and for how many rows each is the first to hold.

    Args: as of `implied_volatility`.

    Example:
        >>> why_no_volatility([12.0, 9.0, 120.0, 12.0], [110.0, 110.0, 110.0, -1.0], 100.0, 1.0)
        {'forward or strike is not positive': 1, 'below the intrinsic value': 1, 'not below the \
forward of a call, the strike of a put': 1}
    """
    counts: dict[str, int] = {}
    obstacles = _obstacles(*as_tensors(price, forward, strike, t, discount, as_flags(call)))
    said = torch.tensor(False)
    for sentence, holds in obstacles.items():
        counts[sentence] = int((holds & ~said).sum())
        said = said | holds
    return {sentence: count for sentence, count in counts.items() if count}


def _obstacles(
    P: Tensor, F: Tensor, K: Tensor, t: Tensor, D: Tensor, call: Tensor
) -> dict[str, Tensor]:
    """Where no volatility exists, by reason.  Shape: all `(…,)` → `(…,)` each, bool."""
    value, paid = P / D, intrinsic(F, K, call) * (1.0 - 2.0 * ROUNDING)  # it may be rounded down
    return {
        "not a finite number": ~(P + F + K + t + D).isfinite(),
        "forward or strike is not positive": (F <= 0) | (K <= 0),
        "the discount factor is not positive": D <= 0,
        "no time to maturity": t <= 0,
        "below the intrinsic value": value < paid,
        "not below the forward of a call, the strike of a put": value >= torch.where(call, F, K),
    }


def log_ratio(forward: Tensor, strike: Tensor) -> Tensor:
    """ln(F/K), with all digits also where F is nearly K.  Shape: any."""
    gap = (forward - strike) / strike
    near = gap.abs() < 0.5
    return torch.where(near, torch.where(near, gap, 0.0).log1p(), (forward / strike).log())


def intrinsic(forward: Tensor, strike: Tensor, call: Tensor) -> Tensor:
    """(F − K)⁺ of a call, (K − F)⁺ of a put; at the kink with the mean of both slopes."""
    gain = torch.where(call, forward - strike, strike - forward)
    return 0.5 * (gain + gain.abs())


def as_tensors(*values: Number) -> tuple[Tensor, ...]:
    """Broadcast to one shape; numbers in float64, booleans as they are."""
    found = [_tensor(value) for value in values]
    try:
        return tuple(torch.broadcast_tensors(*found))  # type: ignore[no-untyped-call]
    except RuntimeError as error:
        shapes = ", ".join(str(tuple(each.shape)) for each in found)
        raise InputError(f"the arguments do not broadcast: they have shapes {shapes}.") from error


def as_flags(call: Number) -> Tensor:
    """Whether each is a call; a number or a word does not say.

    Example:
        >>> as_flags([True, False])
        tensor([ True, False])
    """
    wrong = InputError(f"call is True for calls and False for puts, not {call!r}.")
    try:
        found = _tensor(call)
    except InputError:
        raise wrong from None
    if found.dtype != torch.bool:
        raise wrong
    return found


def _tensor(value: Number) -> Tensor:
    try:
        return _numbers(value if isinstance(value, Tensor | float) else np.array(value))
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"expected numbers, got {value!r}.") from error


def _numbers(value: Number) -> Tensor:
    found = torch.as_tensor(value)
    if found.dtype == torch.bool:
        return found
    return torch.as_tensor(value, dtype=torch.float64)  # Python's numbers, without float32 between
