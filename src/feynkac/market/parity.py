r"""Forwards and discount factors that calls and puts at equal strikes tell: C − P = D (F − K).

A line through C − P over K, one for each maturity, has the slope −D and its zero at F.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from feynkac.market.quotes import Array, Bools

FEWEST = 3  # pairs of one maturity
LARGEST_ERROR = 0.01  # standard error of D; beyond, D = 1 and only F is told
LIKELY = (0.2, 1.5)  # discount factors; others are no discount factors


class Carry(NamedTuple):
    """Of each row, `(n,)` each."""

    forward: Array
    rate: Array


def told_carry(
    t: Array, strike: Array, price: Array, sides: Sequence[str | None], spot: float | None
) -> Carry | None:
    """The carry of all maturities, or None where no maturity has enough pairs.

    Between maturities that tell theirs, rates and growth rates are interpolated.

    Args:
        t: of each row.
        strike: likewise.
        price: likewise; NaN where there is none.
        sides: "call" or "put".
        spot: of the asset, if it is known.

    Example:
        >>> t, K = np.full(6, 2.0), np.array([90.0, 100.0, 110.0] * 2)
        >>> gap = np.exp(-0.06) * (105.0 - K[:3])
        >>> price, sides = np.append(20.0 + gap, [20.0] * 3), ["call"] * 3 + ["put"] * 3
        >>> found = told_carry(t, K, price, sides, None)
        >>> found.forward.round(6)[0].item(), found.rate.round(6)[0].item()
        (105.0, 0.03)
    """
    times = np.unique(t[np.isfinite(t)])
    told = [(time, *found) for time in times if (found := _line(t == time, strike, price, sides))]
    if not told:
        return None
    known, forward, discount = np.array(told).T
    base = forward[0] if spot is None else spot
    rate = np.interp(t, known, -np.log(discount) / known)
    growth = np.interp(t, known, np.log(forward / base) / known)
    return Carry(base * np.exp(growth * t), rate)


def _line(
    rows: Bools, strike: Array, price: Array, sides: Sequence[str | None]
) -> tuple[float, float] | None:
    """Forward and discount factor of one maturity."""
    quoted: dict[str, dict[float, float]] = {"call": {}, "put": {}}
    for i in map(int, np.flatnonzero(rows & np.isfinite(price) & np.isfinite(strike))):
        if (side := sides[i]) is not None:
            quoted[side][float(strike[i])] = float(price[i])
    both = sorted(quoted["call"].keys() & quoted["put"].keys())
    if len(both) < FEWEST:
        return None
    K = np.array(both)
    gap = np.array([quoted["call"][k] - quoted["put"][k] for k in both])
    middle = K.mean()
    slope = float(((K - middle) * gap).sum() / ((K - middle) ** 2).sum())
    left = gap - gap.mean() - slope * (K - middle)
    error = float(np.sqrt((left**2).sum() / max(1, len(K) - 2) / ((K - middle) ** 2).sum()))
    discount = -slope if error < LARGEST_ERROR and LIKELY[0] < -slope < LIKELY[1] else 1.0
    forward = float(np.median(K + gap / discount))
    return (forward, discount) if 0.0 < forward < 10.0 * K.max() else None
