"""Other laws of some variables: a measure replaces a measure, a value fixes its variable.

One entry of a box, `x[1]`, gets other bounds or a value; the other entries keep theirs.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from feynkac.errors import InputError
from feynkac.families.measures.box import Box
from feynkac.families.measures.fixed import Fixed
from feynkac.families.measures.measure import Measure
from feynkac.families.names import Index, find_place


def replaced(measures: Mapping[str, Measure], others: Mapping[str, Any]) -> dict[str, Measure]:
    """The laws of all variables.

    Example:
        >>> old = {"x": Box(0, 1, shape=(2,)), "t": Box(0, 1)}
        >>> replaced(old, {"x[1]": 0.5, "t": Box(0, 2)})
        {'x': Box([0.0, 0.5], [1.0, 0.5]), 't': Box(0, 2)}
    """
    found = dict(measures)
    for text, given in others.items():
        place = find_place(measures, text)
        law = given if isinstance(given, Measure) else _fixed(text, given, place.shape)
        whole = place.index is None
        found[place.name] = law if whole else _with_entry(found[place.name], place.index, law, text)
    return found


def bounded(low: Any, high: Any, shape: Index) -> Measure:
    """The uniform law between bounds, or a value where they are the same.

    Example:
        >>> bounded(1.0, 1.0, ()), bounded(0.0, 1.0, ())
        (Fixed(1), Box(0, 1))
    """
    same = np.array_equal(np.asarray(low), np.asarray(high))
    return Fixed(low, shape=shape) if same else Box(low, high, shape=shape)


def _fixed(text: str, given: Any, shape: Index) -> Fixed:
    try:
        return Fixed(given, shape=shape)
    except InputError as error:
        raise InputError(
            f"{text} gets a measure, such as Box(0, 1), or a value of shape {shape}, got {given!r}."
        ) from error


def _with_entry(old: Measure, index: Index | None, law: Measure, text: str) -> Measure:
    """A box with other bounds of one entry."""
    if not isinstance(old, Box | Fixed) or not isinstance(law, Box | Fixed) or law.size > 1:
        raise InputError(
            f"{text} is an entry of {old} and would get {law}; one entry gets a Box or a value, "
            "and the others keep theirs if they have a Box. Give the law of the whole variable."
        )
    low, high = (np.reshape(side, old.shape).copy() for side in (old.low, old.high))
    low[index], high[index] = law.low[0], law.high[0]
    return bounded(low.tolist(), high.tolist(), old.shape)
