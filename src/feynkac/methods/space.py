"""What a search may vary: named ranges, and the method that a point in them means."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from feynkac.errors import InputError
from feynkac.methods.dimension import Dimension, read_dimension

Values = Mapping[str, Any]
"""One value for each dimension."""


@dataclass(frozen=True)
class Space:
    """Named dimensions, and what method a point in them means.

    Example:
        >>> from feynkac.methods.dimension import Choice
        >>> space = Space({"depth": Choice((2, 3))}, {"depth": 3}, dict)
        >>> space.narrowed({"depth": [2]}).draw(torch.Generator())
        {'depth': 2}
    """

    dimensions: Mapping[str, Dimension]
    default: Values
    """The method's own choice."""
    at: Callable[[Values], Any]
    """The method at a point."""

    def draw(self, generator: torch.Generator) -> dict[str, Any]:
        """A random point, each part independent of the others."""
        return {name: each.draw(generator) for name, each in self.dimensions.items()}

    def contains(self, values: Values) -> bool:
        """Whether `values` may be drawn."""
        return all(each.contains(values[name]) for name, each in self.dimensions.items())

    def record(self) -> dict[str, Any]:
        """The dimensions as in a file."""
        return {name: each.record() for name, each in self.dimensions.items()}

    def narrowed(self, given: Mapping[str, Any]) -> "Space":
        """With other ranges for some dimensions, each as `record` writes it.

        Raises:
            InputError: a name is unknown, or a range is none, or has values that cannot be set.
        """
        if unknown := [name for name in given if name not in self.dimensions]:
            known = ", ".join(self.dimensions)
            raise InputError(f"nothing to search is called {unknown[0]!r}; there are: {known}.")
        found = {name: read_dimension(name, data) for name, data in given.items()}
        for name, dimension in found.items():
            for value in dimension.samples():
                self._require(name, value)
        return replace(self, dimensions={**self.dimensions, **found})

    def _require(self, name: str, value: Any) -> None:
        try:
            self.at({**self.default, name: value})
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"{name} cannot be {value!r}; the method's is {self.default[name]!r}."
            ) from error
