"""Names of variables and of their single entries: `t`, `x`, `x[1]`, `sigma[0,1]`.

Wherever a variable is named, one entry of it can be named as well.
"""

import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from feynkac.errors import InputError
from feynkac.families.measures.measure import Measure
from feynkac.suggestions import did_you_mean

Index = tuple[int, ...]


@dataclass(frozen=True)
class Place:
    """Where a variable, or one entry of it, stands in the flat input."""

    name: str
    """Of the variable."""
    index: Index | None
    """Of the entry; None: all of them."""
    columns: slice
    shape: Index
    """Of the variable, or `()` of an entry."""

    @property
    def size(self) -> int:
        """Number of columns."""
        return int(self.columns.stop - self.columns.start)


def parse_name(text: str) -> tuple[str, Index | None]:
    """The variable, and the index of the entry if it is one.

    Example:
        >>> parse_name("x"), parse_name("sigma[0, 1]")
        (('x', None), ('sigma', (0, 1)))
    """
    text = text.strip()
    match = re.fullmatch(r"([^\[\]]*)\[([\d\s,]+)\]", text)  # in one pass, however long it is
    if match is None:
        return text, None
    try:
        return match[1].rstrip(), tuple(int(part) for part in match[2].split(","))
    except ValueError:
        return text, None


def label(name: str, index: Index | None) -> str:
    """The name of an entry.

    Example:
        >>> label("sigma", (0, 1)), label("t", ())
        ('sigma[0, 1]', 't')
    """
    return f"{name}{list(index)}" if index else name


def labels(name: str, shape: Index) -> list[str]:
    """The names of all entries of a variable, in their order in the flat input.

    Example:
        >>> labels("x", (2,)), labels("t", ())
        (['x[0]', 'x[1]'], ['t'])
    """
    return [label(name, index) for index in np.ndindex(*shape)]


def find_place(measures: Mapping[str, Measure], text: str) -> Place:
    """The place of what `text` names.

    Raises:
        InputError: there is no such variable, or it has no such entry.

    Example:
        >>> from feynkac.families.measures.box import Box
        >>> find_place({"x": Box(0, 1, shape=(2,)), "t": Box(0, 1)}, "x[1]").columns
        slice(1, 2, None)
    """
    name, index = parse_name(text)
    if name not in measures:
        meant = did_you_mean(name, measures)
        raise InputError(f"there is no variable {text!r}; there are: {', '.join(measures)}.{meant}")
    names, shape = list(measures), measures[name].shape
    start = sum(measures[other].size for other in names[: names.index(name)])
    if index is None:
        return Place(name, None, slice(start, start + measures[name].size), shape)
    if len(index) != len(shape) or any(i >= n for i, n in zip(index, shape, strict=True)):
        what = f"has the shape {shape}, counted from 0" if shape else "is a single number"
        raise InputError(f"there is no entry {text!r}: {name} {what}.")
    column = start + int(np.ravel_multi_index(index, shape))
    return Place(name, index, slice(column, column + 1), ())


def require_variable(name: str, measure: Measure) -> None:
    """Refuse what cannot be a variable of a domain."""
    if not isinstance(measure, Measure):
        raise InputError(
            f"Domain expects a Box for {name!r}, got {type(measure).__name__}; "
            "give one, or another measure."
        )
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise InputError(f"{name!r} cannot name a parameter; use a plain identifier.")
    if name == "x" and len(measure.shape) > 1:
        raise InputError(f"x must have shape () or (d,), got {measure.shape}.")
    if name == "t" and (measure.shape != () or measure.low[0] < 0 or measure.high[0] == 0):
        raise InputError(
            f"t must be a scalar box with lower bound ≥ 0, got {measure}; a fixed t is positive."
        )
