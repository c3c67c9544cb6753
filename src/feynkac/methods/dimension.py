"""What one setting of a search may be: one of some values, or a number between bounds."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch

from feynkac.errors import InputError

INSIDE = 0.382  # a place in an interval where no whole number is expected


class Dimension(ABC):
    """What one setting may be."""

    @abstractmethod
    def draw(self, generator: torch.Generator) -> Any:
        """A random value."""

    @abstractmethod
    def contains(self, value: Any) -> bool:
        """Whether `value` may be drawn."""

    @abstractmethod
    def samples(self) -> tuple[Any, ...]:
        """A few values; if they make sense, all do."""

    @abstractmethod
    def record(self) -> Any:
        """As in a file: a list, or the name of a law with its bounds."""


@dataclass(frozen=True)
class Choice(Dimension):
    """One of some values, equally likely.

    Example:
        >>> Choice((16, 32)).contains(16), print(Choice((16, 32)))
        {16, 32}
        (True, None)
    """

    values: tuple[Any, ...]

    def draw(self, generator: torch.Generator) -> Any:
        """One of them."""
        return self.values[int(torch.randint(len(self.values), (), generator=generator))]

    def contains(self, value: Any) -> bool:
        """Whether it is one of them."""
        return value in self.values

    def samples(self) -> tuple[Any, ...]:
        """All of them."""
        return self.values

    def record(self) -> list[Any]:
        """The list of them."""
        return list(self.values)

    def __str__(self) -> str:
        return f"{{{', '.join(map(str, self.values))}}}"


@dataclass(frozen=True)
class Interval(Dimension):
    """Between two bounds, uniform, or uniform in the logarithm.

    Example:
        >>> print(Interval(1e-5, 0.1, log=True))
        (1e-05, 0.1), log-uniform
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.high - self.low) and self.low <= self.high):
            raise InputError(f"expected two bounds low ≤ high, got {self.low}, {self.high}.")
        if self.log and self.low <= 0.0:
            raise InputError(f"log-uniform bounds are positive, got {self.low}.")

    def draw(self, generator: torch.Generator) -> float:
        """A number between the bounds."""
        return self.at(torch.rand((), generator=generator, dtype=torch.float64).item())

    def at(self, fraction: float) -> float:
        """The number below which `fraction` of the draws lie."""
        if self.log:
            return math.exp(math.log(self.low) * (1.0 - fraction) + math.log(self.high) * fraction)
        return self.low + (self.high - self.low) * fraction

    def contains(self, value: Any) -> bool:
        """Whether it lies between the bounds."""
        return isinstance(value, int | float) and self.low <= value <= self.high

    def samples(self) -> tuple[float, ...]:
        """The bounds, and a number between them."""
        return (self.low, self.at(INSIDE), self.high)

    def record(self) -> dict[str, list[float]]:
        """The law with its bounds."""
        return {"log-uniform" if self.log else "uniform": [self.low, self.high]}

    def __str__(self) -> str:
        return f"({self.low:g}, {self.high:g}), {'log-' if self.log else ''}uniform"


def read_dimension(name: str, data: Any) -> Dimension:
    """A dimension from `[16, 32]`, `{"uniform": [0, 1]}` or `{"log-uniform": [0.1, 1]}`.

    Example:
        >>> read_dimension("decay", {"uniform": [0.2, 0.6]})
        Interval(low=0.2, high=0.6, log=False)
    """
    match data:
        case [_, *_] if all(isinstance(value, int | float | str | None) for value in data):
            return Choice(tuple(data))
        case {"uniform": [int() | float() as low, int() | float() as high]} if len(data) == 1:
            return Interval(low, high)
        case {"log-uniform": [int() | float() as low, int() | float() as high]} if len(data) == 1:
            return Interval(low, high, log=True)
    raise InputError(
        f'cannot read the range of {name}; expected a list of values, {{"uniform": [low, high]}} '
        'or {"log-uniform": [low, high]}.'
    )
