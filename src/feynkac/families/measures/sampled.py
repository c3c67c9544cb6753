r"""A law known by its draws alone: coordinates may depend on each other, and F⁻¹ is not known.

What normalises the network's inputs, mean and standard deviation, is given or estimated once.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.measures.measure import (
    ROUNDING,
    Measure,
    fill,
    flatten,
    require,
    require_order,
    vector,
)

PILOT_DRAWS = 2**16  # of the estimates
KEPT_DIGITS = 5  # of the standard deviation

Sampler = Callable[[int, torch.Generator, torch.dtype], Tensor]
"""`sample(count, generator, dtype)` → `(count, *shape)`."""


@dataclass(frozen=True, init=False, repr=False)
class Sampled(Measure):
    """A user's own sampler; numbers broadcast to `shape`.

    Args:
        sample: `sample(count, generator, dtype)` returns `(count, *shape)`, and takes all its
            randomness from the generator.
        low: lower bound of what it returns.
        high: upper bound.
        shape: of the variable.
        mean: of each coordinate, if known.
        std: standard deviation of each coordinate, if known.

    Example:
        >>> def arcsine(count, generator, dtype):
        ...     return torch.rand(count, generator=generator, dtype=dtype).mul(torch.pi).cos()
        >>> Sampled(arcsine, -1.0, 1.0, mean=0.0, std=0.5**0.5)
        Sampled(mean=0, std=0.707107, low=-1, high=1)
    """

    kind: ClassVar[str | None] = "sampled"

    average: tuple[float, ...]
    deviation: tuple[float, ...]
    sample: Sampler = field(compare=False)

    def __init__(
        self,
        sample: Sampler,
        low: Any,
        high: Any,
        shape: tuple[int, ...] = (),
        mean: Any = None,
        std: Any = None,
    ) -> None:
        target, (a, b) = flatten("Sampled", {"lower bound": low, "upper bound": high}, shape)
        require_order("Sampled", a, b)
        fill(self, shape=target, low=a, high=b, sample=sample)
        if mean is None or std is None:
            found = self._estimates()
            mean, std = found[0] if mean is None else mean, found[1] if std is None else std
        _, (m, s) = flatten("Sampled", {"mean": mean, "std": std}, target)
        require("Sampled", "std > 0", [v > 0 for v in s], {"std": s}, "let it vary")
        inside = [low <= v <= high for low, v, high in zip(a, m, b, strict=True)]
        shown = {"mean": m, "lower": a, "upper": b}
        require("Sampled", "its mean between the bounds", inside, shown, "correct one of them")
        fill(self, average=m, deviation=s)

    @property
    def mean(self) -> Tensor:
        """As given or estimated."""
        return vector(self.average)

    @property
    def std(self) -> Tensor:
        """As given or estimated."""
        return vector(self.deviation)

    @property
    def parameters(self) -> Mapping[str, tuple[float, ...]]:
        """Mean and standard deviation; the sampler itself cannot be written down."""
        return {"mean": self.average, "std": self.deviation}

    def draw(self, uniform: Tensor, generator: torch.Generator) -> Tensor:
        """Fresh draws of the sampler."""
        return self._draw(len(uniform), generator, uniform.dtype).to(uniform.device)

    def moments(self, f: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
        """Estimates from 2¹⁶ draws, always the same."""
        y = f(self._draw(PILOT_DRAWS, torch.Generator().manual_seed(0), torch.float64))
        spread = y - y[0]  # exactly zero for a constant
        return y[0] + spread.mean(0), spread.std(0)

    def _estimates(self) -> tuple[Tensor, ...]:
        """Mean and standard deviation, rounded to what another machine finds as well."""
        mean, std = (v.tolist() for v in self.moments(torch.clone))
        places = [KEPT_DIGITS - math.ceil(math.log10(s)) if s > 0 else 0 for s in std]
        rounded = [list(map(round, v, places)) for v in (mean, std)]
        return tuple(vector(v).reshape(self.shape) for v in rounded)

    def _draw(self, count: int, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
        """Checked draws.  Shape: `(count, size)`."""
        drawn = _tensor(self.sample(count, generator, dtype))
        if tuple(drawn.shape) != (count, *self.shape):
            raise InputError(
                f"a sampler must return shape {(count, *self.shape)}, got {tuple(drawn.shape)}."
            )
        flat = drawn.reshape(count, self.size).to(dtype)
        low, high = self.bounds(flat)
        slack = ROUNDING * torch.maximum(low.abs(), high.abs())
        bad = ~((flat >= low - slack) & (flat <= high + slack))
        if bad.any():
            row, i = bad.nonzero()[0].tolist()
            raise InputError(
                f"a sampler returned {flat[row, i].item():g} in coordinate {i}, outside "
                f"[{self.low[i]:g}, {self.high[i]:g}]; widen the bounds or cut its draws."
            )
        return flat.clamp(low, high)


def _tensor(drawn: Any) -> Tensor:
    try:
        return torch.as_tensor(drawn)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"a sampler must return a tensor, got {type(drawn).__name__}.") from error
