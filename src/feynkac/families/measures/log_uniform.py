r"""The law of a variable whose logarithm is uniform:  F⁻¹(u) = a (b/a)ᵘ  on [a, b], 0 < a.

For a scale that is known up to its order of magnitude.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from feynkac.families.measures.measure import Integrated, fill, flatten, require, require_order


@dataclass(frozen=True, init=False, repr=False)
class LogUniform(Integrated):
    """Uniform in the logarithm; numbers broadcast to `shape`.

    Args:
        low: lower bound, positive.
        high: upper bound.
        shape: shape of the variable; by default that of the bounds.

    Example:
        >>> import torch
        >>> LogUniform(0.01, 1.0).quantile(torch.tensor([0.5]))
        tensor([0.1000])
    """

    kind: ClassVar[str | None] = "log-uniform"

    def __init__(self, low: Any, high: Any, shape: tuple[int, ...] | None = None) -> None:
        numbers = {"lower bound": low, "upper bound": high}
        target, (a, b) = flatten("LogUniform", numbers, shape)
        require("LogUniform", "lower > 0", [v > 0 for v in a], {"lower": a}, "raise it")
        require_order("LogUniform", a, b)
        fill(self, shape=target, low=a, high=b)

    @property
    def parameters(self) -> Mapping[str, tuple[float, ...]]:
        """None."""
        return {}

    def _inverse(self, u: Tensor) -> Tensor:
        low, high = self.bounds(u)
        return low * (high / low) ** u
