r"""The uniform distribution on a box  [a₁, b₁] × … × [aₙ, bₙ]  of any shape.

Mean (a + b)/2 and standard deviation (b − a)/√12 are exact, which is what lets the network's
inputs be normalised exactly (paper, Section 3).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from feynkac.families.measures.measure import Quantiles, fill, flatten, require, vector


@dataclass(frozen=True, init=False, repr=False)
class Box(Quantiles):
    """Bounds of one variable; scalars broadcast to `shape`.

    Args:
        low: lower bound, a number or nested numbers.
        high: upper bound, likewise; above `low`, or the same in some of several coordinates, which
            are then fixed.
        shape: shape of the variable, `()` for a scalar; by default that of the bounds.

    Example:
        >>> Box(-1.0, 1.0, shape=(3,)).volume
        8.0
        >>> Box([0.0, 1.0], [1.0, 3.0])
        Box([0.0, 1.0], [1.0, 3.0])
        >>> Box([100.0, 0.04], [100.0, 0.09]).std[0].item()  # the first entry is fixed
        0.0
    """

    kind: ClassVar[str | None] = None

    def __init__(self, low: Any, high: Any, shape: tuple[int, ...] | None = None) -> None:
        numbers = {"lower bound": low, "upper bound": high}
        target, (a, b) = flatten("Box", numbers, shape)
        _require_sides(a, b)
        fill(self, shape=target, low=a, high=b)

    @property
    def mean(self) -> Tensor:
        """(a + b)/2."""
        return (vector(self.low) + vector(self.high)) / 2

    @property
    def std(self) -> Tensor:
        """(b − a)/√12."""
        return (vector(self.high) - vector(self.low)) / math.sqrt(12.0)

    @property
    def parameters(self) -> Mapping[str, tuple[float, ...]]:
        """None."""
        return {}

    def _inverse(self, u: Tensor) -> Tensor:
        """a + u (b − a)."""
        low, high = self.bounds(u)
        return torch.addcmul(low, u, high - low)


def _require_sides(low: tuple[float, ...], high: tuple[float, ...]) -> None:
    """Lower bounds below upper ones; some of several may be equal, but not all."""
    all_fixed = low == high
    good = [a <= b and not all_fixed for a, b in zip(low, high, strict=True)]
    advice = f"swap or widen the bounds{f', or give Fixed({low[0]:g})' * all_fixed}"
    require("Box", "lower < upper", good, {"lower": low, "upper": high}, advice)
