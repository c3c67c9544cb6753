r"""The normal law N(m, s²), cut to [a, b]. With Ψ its standard distribution function,

    α = (a − m)/s,  β = (b − m)/s,     F⁻¹(u) = m + s Ψ⁻¹(Ψ(α) + u (Ψ(β) − Ψ(α))).

Far on the right Ψ has no digits left; there Ψ⁻¹(p) is −Ψ⁻¹(1 − p), counted from β.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from feynkac.families.formulas.normal_law import cdf
from feynkac.families.measures.measure import (
    Integrated,
    fill,
    flatten,
    require,
    require_order,
    vector,
)

LEAST_MASS = 1e-9


@dataclass(frozen=True, init=False, repr=False)
class Normal(Integrated):
    """A normal law between bounds; numbers broadcast to `shape`.

    Args:
        mean: m, before it is cut.
        std: s, before it is cut.
        low: lower bound.
        high: upper bound.
        shape: shape of the variable; by default that of the numbers.

    Example:
        >>> Normal(1.0, 0.2, low=0.5, high=1.5).quantile(torch.tensor([0.0, 0.5]))
        tensor([0.5000, 1.0000])
    """

    kind: ClassVar[str | None] = "normal"

    location: tuple[float, ...]
    scale: tuple[float, ...]

    def __init__(
        self, mean: Any, std: Any, low: Any, high: Any, shape: tuple[int, ...] | None = None
    ) -> None:
        numbers = {"mean": mean, "std": std, "lower bound": low, "upper bound": high}
        target, (m, s, a, b) = flatten("Normal", numbers, shape)
        require("Normal", "std > 0", [v > 0 for v in s], {"std": s}, "raise it")
        require_order("Normal", a, b)
        fill(self, shape=target, low=a, high=b, location=m, scale=s)
        require(
            "Normal",
            "mass between its bounds",
            (self._masses(vector(a))[1] > LEAST_MASS).tolist(),
            {"mean": m, "std": s, "lower": a, "upper": b},
            "widen the bounds or move them to the mean",
        )

    @property
    def parameters(self) -> Mapping[str, tuple[float, ...]]:
        """Mean and standard deviation before the law is cut."""
        return {"mean": self.location, "std": self.scale}

    def _inverse(self, u: Tensor) -> Tensor:
        left, between, right = self._masses(u)
        below, above = left + u * between, right + (1.0 - u) * between
        tail = torch.special.ndtri(torch.minimum(below, above))
        z = torch.where(below < above, tail, -tail)
        return u.new_tensor(self.location) + u.new_tensor(self.scale) * z

    def _masses(self, like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Ψ(α), Ψ(β) − Ψ(α) and 1 − Ψ(β).  Shape: `(size,)`."""
        m, s = like.new_tensor(self.location), like.new_tensor(self.scale)
        alpha, beta = ((bound - m) / s for bound in self.bounds(like))
        left, right = cdf(alpha), cdf(-beta)
        between = torch.where(alpha + beta > 0, cdf(-alpha) - right, cdf(beta) - left)
        return left, between, right
