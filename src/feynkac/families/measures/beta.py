r"""The beta law on [low, high]: the density of (x − low)/(high − low) is ∝ yᵃ⁻¹ (1 − y)ᵇ⁻¹.

F⁻¹ is a table between whose nodes y is linear in u. There the error is Δy²/8 · |(ln density)′|,
and with nodes as dense at the ends as those of a cosine it is below 10⁻⁶ for all a and b, on
10⁻⁹ < u < 1 − 10⁻⁹. Nodes are needed near the mean only (Marchal and Arbel, 2017):

    P(Y > E Y + r) ≤ exp(−2 (a + b + 1) r²),  and so below.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy
import torch
from torch import Tensor

from feynkac.families.measures.measure import (
    Quantiles,
    fill,
    flatten,
    require,
    require_order,
    vector,
)

TABLE_NODES = 2**13
TABLE_TAIL = 1e-18  # of the law on each side, without nodes


@dataclass(frozen=True, init=False, repr=False)
class Beta(Quantiles):
    """A beta law between bounds; numbers broadcast to `shape`.

    Args:
        a: exponent at the lower bound, plus one; positive.
        b: exponent at the upper bound, plus one; positive.
        low: lower bound.
        high: upper bound.
        shape: shape of the variable; by default that of the numbers.

    Example:
        >>> Beta(2.0, 2.0, low=-1.0, high=1.0).std.item() == 0.2 ** 0.5
        True
    """

    kind: ClassVar[str | None] = "beta"

    a: tuple[float, ...]
    b: tuple[float, ...]

    def __init__(
        self, a: Any, b: Any, low: Any = 0.0, high: Any = 1.0, shape: tuple[int, ...] | None = None
    ) -> None:
        numbers = {"a": a, "b": b, "lower bound": low, "upper bound": high}
        target, (first, second, lower, upper) = flatten("Beta", numbers, shape)
        for name, values in (("a", first), ("b", second)):
            require("Beta", f"{name} > 0", [v > 0 for v in values], {name: values}, "raise it")
        require_order("Beta", lower, upper)
        fill(self, shape=target, low=lower, high=upper, a=first, b=second)

    @property
    def mean(self) -> Tensor:
        """low + (high − low) a/(a + b)."""
        a, b, low, high = map(vector, (self.a, self.b, self.low, self.high))
        return low + (high - low) * a / (a + b)

    @property
    def std(self) -> Tensor:
        """(high − low) √(ab/(a + b + 1)) / (a + b)."""
        a, b, low, high = map(vector, (self.a, self.b, self.low, self.high))
        return (high - low) * (a * b / (a + b + 1.0)).sqrt() / (a + b)

    @property
    def parameters(self) -> Mapping[str, tuple[float, ...]]:
        """a and b."""
        return {"a": self.a, "b": self.b}

    def _inverse(self, u: Tensor) -> Tensor:
        y, F = (table.to(u) for table in self._table)
        flat = u.reshape(-1, self.size).T.contiguous()
        right = torch.searchsorted(F, flat).clamp(1, F.shape[-1] - 1)
        y0, y1, F0, F1 = (table.gather(-1, i) for table in (y, F) for i in (right - 1, right))
        share = (flat - F0) / (F1 - F0).clamp_min(torch.finfo(u.dtype).tiny)
        low, high = self.bounds(u)
        return low + (high - low) * (y0 + share * (y1 - y0)).T.reshape(u.shape)

    @functools.cached_property
    @torch.inference_mode(False)  # what is kept serves autograd later
    def _table(self) -> tuple[Tensor, Tensor]:
        """y and F(y).  Shape: `(size, n)`, float64."""
        a, b = np.array(self.a)[:, None], np.array(self.b)[:, None]
        reach = np.sqrt(-np.log(TABLE_TAIL) / 2.0 / (a + b + 1.0))
        first, last = (np.clip(a / (a + b) + side * reach, 0.0, 1.0) for side in (-1.0, 1.0))
        inner = first + (last - first) * (1.0 - np.cos(np.linspace(0.0, np.pi, TABLE_NODES))) / 2.0
        y = np.concatenate([np.zeros_like(a), inner, np.ones_like(a)], axis=-1)
        return torch.as_tensor(y), torch.as_tensor(scipy.special.betainc(a, b, y))
