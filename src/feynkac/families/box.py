r"""The uniform distribution on a box  [a₁, b₁] × … × [aₙ, bₙ]  of any shape.

Mean (a + b)/2 and standard deviation (b − a)/√12 are exact, which is what lets the network's
inputs be normalised exactly (paper, Section 3).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from feynkac.errors import InputError


@dataclass(frozen=True, init=False, repr=False)
class Box:
    """Bounds of one variable; scalars broadcast to `shape`.

    Args:
        low: lower bound, a number or nested numbers.
        high: upper bound, likewise; above `low` in every coordinate.
        shape: shape of the variable, `()` for a scalar; by default that of the bounds.

    Example:
        >>> Box(-1.0, 1.0, shape=(3,)).volume
        8.0
        >>> Box([0.0, 1.0], [1.0, 3.0])
        Box([0.0, 1.0], [1.0, 3.0])
    """

    shape: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def __init__(self, low: Any, high: Any, shape: tuple[int, ...] | None = None) -> None:
        a, b = _bound("lower", low), _bound("upper", high)
        try:
            wanted = None if shape is None else tuple(shape)
            # torch's own imports sympy, a second at every start of the program
            target = np.broadcast_shapes(a.shape, b.shape, wanted or ())
        except (TypeError, ValueError):
            target = None
        if target is None or (wanted is not None and target != wanted) or 0 in target:
            raise InputError(
                f"Box bounds of shapes {tuple(a.shape)} and {tuple(b.shape)} do not fit "
                f"{shape=}; give numbers, or arrays of exactly that shape."
            )
        a, b = a.expand(target).flatten(), b.expand(target).flatten()
        bad = ~(a < b)
        if bad.any():
            i = int(bad.nonzero()[0])
            raise InputError(
                f"Box needs lower < upper in every coordinate, but coordinate {i} has "
                f"lower={a[i].item():g}, upper={b[i].item():g}; swap or widen the bounds."
            )
        object.__setattr__(self, "shape", tuple(target))
        object.__setattr__(self, "low", tuple(a.tolist()))
        object.__setattr__(self, "high", tuple(b.tolist()))

    def __repr__(self) -> str:
        if len(set(self.low)) == 1 and len(set(self.high)) == 1:
            tail = f", shape={self.shape}" if self.shape else ""
            return f"Box({self.low[0]:g}, {self.high[0]:g}{tail})"
        low, high = (
            torch.tensor(v, dtype=torch.float64).reshape(self.shape).tolist()
            for v in (self.low, self.high)
        )
        return f"Box({low}, {high})"

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self.low)

    @property
    def volume(self) -> float:
        """∏ (bᵢ − aᵢ)."""
        return math.prod(b - a for a, b in zip(self.low, self.high, strict=True))


def _bound(side: str, value: Any) -> Tensor:
    try:
        bound = torch.as_tensor(value, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise InputError(f"Box {side} bound must be numbers, got {value!r}.") from error
    if not bound.isfinite().all():
        raise InputError(f"Box {side} bound must be finite, got {value!r}; give finite numbers.")
    return bound
