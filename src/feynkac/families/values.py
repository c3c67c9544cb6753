"""Values of variables as users give them: by name, as numbers, lists, arrays or tensors."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.columns import as_series, read_column
from feynkac.families.measures.measure import Measure
from feynkac.families.names import Index, find_place, label, parse_name
from feynkac.suggestions import did_you_mean

At = Mapping[str, Any] | None
"""Values of variables by name, or none but those given as keywords."""
OPTIONS = (
    "greeks",
    "extrapolate",
    "tolerance",
    "effort",
    "progress",
)  # what else may stand beside variables, and be mistyped
PLAIN = (list, tuple, int, float, complex, str, np.generic)
"""What is no series of a data frame."""


def by_name(at: At, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Values of variables, given as one mapping, as keywords, or some this way and some that.

    The mapping serves variables whose names are also options of the method that is called.

    Example:
        >>> by_name({"noise": 0.3}, {"x": 9.5})
        {'noise': 0.3, 'x': 9.5}
    """
    if at is None:
        return dict(keywords)
    if not isinstance(at, Mapping):
        raise InputError(
            "variables are given as keywords or as one mapping by name, as in "
            f"{{'x': 9.5, 't': 0.5}}; got {type(at).__name__}."
        )
    if twice := [name for name in at if name in keywords]:
        raise InputError(f"{twice[0]} is given twice, in the mapping and as a keyword.")
    return {**at, **keywords}


def as_variables(values: Mapping[str, Any], measures: Mapping[str, Measure]) -> dict[str, Tensor]:
    """All variables from values by name; `x[1]` gives one entry, and says more than `x` does.

    What is fixed need not be given. Shape: `(…, *shape of the variable)` each.

    Raises:
        InputError: a name is unknown or missing, or a value is not what its variable holds.

    Example:
        >>> from feynkac.families import Box, Fixed
        >>> laws = {"x": Box(0, 1, shape=(2,)), "t": Fixed(2.0)}
        >>> as_variables({"x[0]": 0.5, "x[1]": [0.1, 0.2]}, laws)["x"].tolist()
        [[0.5, 0.1], [0.5, 0.2]]
    """
    unknown = [text for text in values if parse_name(text)[0] not in measures]
    known = {text: value for text, value in values.items() if text not in unknown}
    wholes, entries = _by_variable(known, measures)
    lacking = (
        _lacking(name, law, entries[name]) for name, law in measures.items() if name not in wholes
    )
    missing = [text for found in lacking for text in found]
    if unknown or missing:
        parts = [f"unknown: {', '.join(unknown)}"] * bool(unknown)
        parts += [f"missing: {', '.join(missing)}"] * bool(missing)
        meant = did_you_mean(unknown[0], [*(missing or measures), *OPTIONS]) if unknown else ""
        raise InputError(f"expected the inputs {', '.join(measures)}; {'; '.join(parts)}.{meant}")
    return {
        name: _whole(law, wholes.get(name), entries[name])
        if entries[name] or name not in wholes
        else wholes[name]
        for name, law in measures.items()
    }


def _by_variable(
    values: Mapping[str, Any], measures: Mapping[str, Measure]
) -> tuple[dict[str, Tensor], dict[str, dict[Index, Tensor]]]:
    """Values of whole variables, and of single entries."""
    wholes: dict[str, Tensor] = {}
    entries: dict[str, dict[Index, Tensor]] = {name: {} for name in measures}
    for text, value in values.items():
        place = find_place(measures, text)
        given = as_variable(text, place.shape, value)
        if place.index is None:
            wholes[place.name] = given
        else:
            entries[place.name][place.index] = given
    return wholes, entries


def _lacking(name: str, law: Measure, entries: Mapping[Index, Tensor]) -> list[str]:
    """Which entries of a variable vary and are not given."""
    sides = zip(np.ndindex(*law.shape), law.low, law.high, strict=True)
    gone = [index for index, low, high in sides if low < high and index not in entries]
    return [label(name, index) for index in gone] if entries else [name] * bool(gone)


def _whole(law: Measure, given: Tensor | None, entries: Mapping[Index, Tensor]) -> Tensor:
    """A variable from its entries; the others are those of `given`, or fixed."""
    base = law.mean.reshape(law.shape) if given is None else given
    rank = len(law.shape)
    lead = np.broadcast_shapes(base.shape[: base.ndim - rank], *(e.shape for e in entries.values()))
    parts = [
        entries.get(index, base[(..., *index)]).to(torch.float64).expand(lead)
        for index in np.ndindex(*law.shape)
    ]
    return torch.stack(parts, dim=-1).reshape((*lead, *law.shape))


def as_variable(name: str, shape: tuple[int, ...], value: Any) -> Tensor:
    """A value of the variable `name`; a single number fills its shape.

    Shape: `(…, *shape)`.

    Raises:
        InputError: it is not a real number or an array of them, or has another shape.

    Example:
        >>> as_variable("x", (2,), 0.5)
        tensor([0.5000, 0.5000], dtype=torch.float64)
    """
    try:
        tensor = _as_tensor(name, value)
    except InputError:
        raise
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise InputError(f"{name} must be a number or an array, got {value!r}.") from error
    if tensor.is_complex():
        raise InputError(f"{name} must be a real number or an array of them, got {value!r}.")
    rank = len(shape)
    if tensor.ndim == 0:
        return tensor.expand(shape)
    if tensor.ndim < rank or tuple(tensor.shape[tensor.ndim - rank :]) != shape:
        expected = ", ".join(["…", *map(str, shape)])
        raise InputError(f"{name} must have shape ({expected}), got {tuple(tensor.shape)}.")
    return tensor


def _as_tensor(name: str, value: Any) -> Tensor:
    """Tensors and arrays as they are, gradients included; all else as float64."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.ndarray):
        # torch takes no negative strides and warns of read-only arrays
        usable = value.flags.writeable and all(step >= 0 for step in value.strides)
        return torch.as_tensor(value if usable else value.copy())
    if _holds_tensors(value):  # torch.as_tensor would cut their gradients off
        return torch.stack([_as_tensor(name, v).to(torch.float64) for v in value])
    if not isinstance(value, PLAIN) and (series := as_series(value)) is not None:
        return _as_tensor(name, read_column(name, series))
    return torch.as_tensor(value, dtype=torch.float64)


def _holds_tensors(value: Any) -> bool:
    listed = isinstance(value, list | tuple)
    return listed and any(isinstance(v, Tensor) or _holds_tensors(v) for v in value)


def in_blocks(
    lead: tuple[int, ...], parts: list[Tensor], rows: int
) -> Iterator[tuple[tuple[int, ...], list[Tensor]]]:
    """Views of `parts`, whose leading axes are `lead`, with at most `rows` rows each, in order."""
    if math.prod(lead) <= rows:
        yield lead, parts
        return
    axis = next(i for i, size in enumerate(lead) if size > 1)
    step = max(1, rows // math.prod(lead[axis + 1 :]))
    for piece in zip(*(torch.split(part, step, dim=axis) for part in parts), strict=True):
        yield from in_blocks(tuple(piece[0].shape[: len(lead)]), list(piece), rows)


def refuse(
    inputs: Tensor, good: Tensor, entries: Sequence[str], bounds: tuple[Tensor, Tensor]
) -> NoReturn:
    """Raise an `InputError` with the first value that is not good.  Shape: `(…, dim)`."""
    columns = zip(good.unbind(-1), inputs.unbind(-1), strict=True)
    bad = ((i, seen(x)[~seen(fine)]) for i, (fine, x) in enumerate(columns))
    column, value = next((i, x.flatten()[0].item()) for i, x in bad if x.numel())
    low, high = (side[column].item() for side in bounds)
    if not math.isfinite(value):
        raise InputError(f"{entries[column]} = {value} is not a finite number.")
    if low == high:
        raise InputError(
            f"{entries[column]} = {value:g}, but it was fixed at {low:g} in training; omit it, or "
            "give that value."
        )
    raise InputError(
        f"{entries[column]} = {value:g} lies outside [{low:g}, {high:g}], where the solution was "
        "trained; ask inside, or give extrapolate=True."
    )


def seen(tensor: Tensor) -> Tensor:
    """All numbers of a tensor that may belong to a transform of `torch.func`, such as vmap."""
    return torch.func.debug_unwrap(tensor)
