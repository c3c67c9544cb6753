"""Domains and families for people: what varies and how far, what is known about the equation."""

import contextlib
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from feynkac.cards import Card
from feynkac.families.measures.box import Box
from feynkac.families.measures.measure import Measure
from feynkac.sketches import curve

POINTS = 61
MOST_ENTRIES = 4  # of a vector whose ranges are listed


def ranges(measures: Mapping[str, Measure]) -> dict[str, str]:
    """The range of each variable, with its shape and its law if it is not uniform.

    Example:
        >>> ranges({"x": Box(9, 10, shape=(3,)), "t": Box(0, 1)})
        {'x': '9 … 10, shape (3,)', 't': '0 … 1'}
        >>> ranges({"x": Box([80, 0.01], [120, 0.1])})
        {'x': '80 … 120; 0.01 … 0.1'}
    """
    return {name: _range(measure) for name, measure in measures.items()}


def _range(measure: Measure) -> str:
    """Entry by entry where few of them differ."""
    spans = [_span(*ends) for ends in zip(measure.low, measure.high, strict=True)]
    law = "" if isinstance(measure, Box) else f", {type(measure).__name__}"
    if len(set(spans)) > 1 and len(spans) <= MOST_ENTRIES:
        return "; ".join(spans) + law
    shape = f", shape {measure.shape}" if measure.shape else ""
    return f"{_span(min(measure.low), max(measure.high))}{shape}{law}"


def _span(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} … {high:g}"


def domain_card(measures: Mapping[str, Measure]) -> Card:
    """The ranges of all variables."""
    inputs = sum(measure.size for measure in measures.values())
    return Card(f"Domain: {len(measures)} variables, {inputs} inputs", rows=ranges(measures))


def family_card(
    title: str, measures: Mapping[str, Measure], known: Mapping[str, bool], picture: str
) -> Card:
    """What it is, where it is solved, what is known about it, and φ."""
    facts = {name: "yes" if true else "no" for name, true in known.items()}
    return Card(title, rows=ranges(measures) | facts, picture=picture)


def picture_along(
    u: Callable[[Tensor], Tensor], measures: Mapping[str, Measure], label: str
) -> str:
    """u along the first input that varies, all else at its mean; empty if u fails there.

    Args:
        u: on flat inputs, `(N, dim)` → `(N, outputs)`; the first output is drawn.
        measures: of the variables, in their order.
        label: below the picture, with {} for the name of the input.
    """
    laws = measures.values()
    sides = [pair for m in laws for pair in zip(m.low, m.high, strict=True)]
    column = next((i for i, (low, high) in enumerate(sides) if low < high), 0)
    inputs = torch.cat([measure.mean for measure in laws]).repeat(POINTS, 1)
    inputs[:, column] = torch.linspace(*sides[column], POINTS, dtype=inputs.dtype)
    name = [n for n, m in measures.items() for _ in range(m.size)][column]
    with torch.no_grad(), contextlib.suppress(Exception):  # a picture hides no other news
        heights = u(inputs)[:, 0].tolist()
        return curve(inputs[:, column].tolist(), heights, label.format(name))
    return ""
