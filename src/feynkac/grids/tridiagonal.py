r"""(I − k A) v = b for many tridiagonal A at once: Thomas's elimination, all systems side by side.

The pivots of one A serve several right-hand sides. Systems run along one axis of a tensor, so that
a step of the elimination is one operation on all of them.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Factors(NamedTuple):
    """What elimination multiplies by, row after row."""

    forward: list[Tensor]
    backward: list[Tensor]
    pivots: Tensor
    axis: int


def factorise(bands: tuple[Tensor, Tensor, Tensor], k: Tensor, axis: int) -> Factors:
    """Of I − k A, with k `(B, 1)` and the diagonals of A."""
    lower, diagonal, upper = (-k * band for band in bands)
    lows, ups = lower.unbind(axis), upper.unbind(axis)
    diagonals = (1.0 + diagonal).unbind(axis)
    forward, inverse = [], [diagonals[0].reciprocal()]
    for i in range(1, len(diagonals)):
        forward.append(-lows[i] * inverse[-1])
        inverse.append(torch.addcmul(diagonals[i], forward[-1], ups[i - 1]).reciprocal())
    backward = [-up * pivot for up, pivot in zip(ups[:-1], inverse[:-1], strict=True)]
    return Factors(forward, backward, torch.stack(inverse, axis), axis)


def substitute(factors: Factors, b: Tensor) -> Tensor:
    """v; b is overwritten.  Shape: as the grid's values."""
    rows = b.unbind(factors.axis)
    for i, factor in enumerate(factors.forward):
        rows[i + 1].addcmul_(factor, rows[i])
    b.mul_(factors.pivots)
    for i in range(len(rows) - 2, -1, -1):
        rows[i].addcmul_(factors.backward[i], rows[i + 1])
    return b
