r"""The law of one variable on [low, high], by which inputs are drawn, normalised and judged.

A `Measure` is known by its mean and standard deviation and can be drawn from. The coordinates of
most are independent, with an inverse distribution function F⁻¹ each (`Quantiles`):

    X = F⁻¹(U),   U uniform on (0, 1),     E f(X) = ∫₀¹ f(F⁻¹(u)) du.
"""

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from feynkac.errors import InputError

ROUNDING = 1e-6  # relative; a few units in the last place of float32
QUADRATURE_WIDTH, QUADRATURE_NODES = 4.5, 289  # more change nothing in float64


@dataclass(frozen=True, init=False, repr=False)
class Measure(ABC):
    """A probability measure on the values of one variable of any shape.

    There are only a few, since a manifest must be able to restore them; a law of your own is a
    `Sampled`.

    Example:
        >>> from feynkac.families.measures.box import Box
        >>> isinstance(Box(0.0, 1.0), Measure)
        True
    """

    kind: ClassVar[str | None]
    """Its name in a manifest; None is uniform."""

    shape: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    @abstractmethod
    def mean(self) -> Tensor:
        """Mean of each coordinate.  Shape: `(size,)`, float64."""

    @property
    @abstractmethod
    def std(self) -> Tensor:
        """Standard deviation of each coordinate.  Shape: `(size,)`, float64."""

    @property
    @abstractmethod
    def parameters(self) -> Mapping[str, tuple[float, ...]]:
        """What it is made of besides its bounds, by argument."""

    @abstractmethod
    def draw(self, uniform: Tensor, generator: torch.Generator) -> Tensor:
        """Independent draws: a function of uniforms on (0, 1), or as many fresh ones.

        Shape: `(count, size)` → `(count, size)`, in the dtype of the uniforms.
        """

    @abstractmethod
    def moments(self, f: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of f(X), f entry by entry.  Shape: `(size,)`, float64."""

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self.low)

    @property
    def volume(self) -> float:
        """∏ (bᵢ − aᵢ) over the coordinates that vary."""
        sides = zip(self.low, self.high, strict=True)
        return math.prod(b - a for a, b in sides if a != b)

    def bounds(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Lower and upper.  Shape: `(size,)`, of the dtype and device of `like`."""
        return like.new_tensor(self.low), like.new_tensor(self.high)

    def record(self) -> dict[str, Any]:
        """The measure as plain data; for a uniform one, its shape and bounds."""
        bounds = {"shape": self.shape, "low": self.low, "high": self.high}
        law = {"kind": self.kind, "parameters": dict(self.parameters)}
        return bounds if self.kind is None else bounds | law

    def __repr__(self) -> str:
        numbers = {**self.parameters, "low": self.low, "high": self.high}
        if self.low == self.high:
            del numbers["high"]
        alike = all(len(set(v)) == 1 for v in numbers.values())
        texts = {
            name: f"{v[0]:g}" if alike else str(np.reshape(v, self.shape).tolist())
            for name, v in numbers.items()
        }
        shown = [f"{name}={text}" if self.parameters else text for name, text in texts.items()]
        shown += [f"shape={self.shape}"] * (alike and self.shape != ())
        return f"{type(self).__name__}({', '.join(shown)})"


class Quantiles(Measure):
    """Capability: independent coordinates with known quantiles."""

    @abstractmethod
    def _inverse(self, u: Tensor) -> Tensor:
        """F⁻¹ in float64, up to rounding.  Shape: `(…, size)` → `(…, size)`."""

    def quantile(self, u: Tensor) -> Tensor:
        """F⁻¹(u), coordinate by coordinate.  Shape: `(…, size)` → `(…, size)`, dtype kept."""
        x = self._inverse(u.double())
        return x.clamp(*self.bounds(x)).to(u.dtype)

    def draw(self, uniform: Tensor, generator: torch.Generator) -> Tensor:
        """F⁻¹(U)."""
        return self.quantile(uniform)

    def moments(self, f: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
        """By quadrature."""
        u, weights = _quadrature()
        y = f(self.quantile(u.expand(-1, self.size)))
        mean = (weights * y).sum(0)
        return mean, (weights * (y - mean).square()).sum(0).sqrt()


class Integrated(Quantiles):
    """Quantiles whose mean and standard deviation are found by quadrature."""

    @property
    def mean(self) -> Tensor:
        """∫ F⁻¹(u) du."""
        return self.moments(torch.clone)[0]

    @property
    def std(self) -> Tensor:
        """By quadrature too: formulas lose their digits where a law is narrow."""
        return self.moments(torch.clone)[1]


def vector(values: Sequence[float]) -> Tensor:
    """As a tensor, float64."""
    return torch.tensor(values, dtype=torch.float64)


@functools.cache
@torch.inference_mode(False)  # what is kept serves autograd later
def _quadrature() -> tuple[Tensor, Tensor]:
    """The tanh-sinh rule on (0, 1), which does not mind an infinite slope at the ends.

    Shape: nodes `(n, 1)`, weights `(n, 1)`.
    """
    width, nodes = QUADRATURE_WIDTH, QUADRATURE_NODES
    s = torch.linspace(-width, width, nodes, dtype=torch.float64).unsqueeze(-1)
    u = torch.sigmoid(math.pi * s.sinh())
    weights = s.cosh() * u * u.flip(0)
    below_one = 1.0 - 2.0**-53  # at 1 a quantile is the bound, however far that is
    return u.clamp_max(below_one), weights / weights.sum()


def fill(measure: Measure, **fields: Any) -> None:
    """Set the fields of a frozen measure, once."""
    for name, value in fields.items():
        object.__setattr__(measure, name, value)


def flatten(
    owner: str, numbers: Mapping[str, Any], shape: tuple[int, ...] | None
) -> tuple[tuple[int, ...], list[tuple[float, ...]]]:
    """The common shape of all numbers, and each of them filled to it, flat.

    Args:
        owner: the class, for messages.
        numbers: by name; a number or nested numbers each.
        shape: the shape wanted; by default what they broadcast to.
    """
    arrays = [_finite(f"{owner} {name}", value) for name, value in numbers.items()]
    shapes = [tuple(a.shape) for a in arrays]
    try:
        wanted = None if shape is None else tuple(shape)
        # torch's own imports sympy, a second at every start of the program
        target = np.broadcast_shapes(*shapes, wanted or ())
    except (TypeError, ValueError):
        target = None
    if target is None or (wanted is not None and target != wanted) or 0 in target:
        what = "bounds" if len(numbers) == 2 else "numbers"
        given = " and ".join(map(str, shapes))
        raise InputError(
            f"{owner} {what} of shapes {given} do not fit {shape=}; "
            "give numbers, or arrays of exactly that shape."
        )
    return tuple(target), [tuple(a.expand(target).flatten().tolist()) for a in arrays]


def _finite(label: str, value: Any) -> Tensor:
    try:
        array = torch.as_tensor(value, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise InputError(f"{label} must be numbers, got {value!r}.") from error
    if not array.isfinite().all():
        raise InputError(f"{label} must be finite, got {value!r}; give finite numbers.")
    return array


def require(
    owner: str,
    rule: str,
    good: Sequence[bool],
    shown: Mapping[str, Sequence[float]],
    advice: str,
) -> None:
    """Raise an `InputError` that shows the first coordinate which is not good."""
    if all(good):
        return
    i = list(good).index(False)
    values = ", ".join(f"{name}={v[i]:g}" for name, v in shown.items())
    raise InputError(
        f"{owner} needs {rule} in every coordinate, but coordinate {i} has {values}; {advice}."
    )


def require_order(owner: str, low: Sequence[float], high: Sequence[float]) -> None:
    """Lower bounds below upper ones."""
    good = [a < b for a, b in zip(low, high, strict=True)]
    shown = {"lower": low, "upper": high}
    require(owner, "lower < upper", good, shown, "swap or widen the bounds")
