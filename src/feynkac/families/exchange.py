"""Variables whose entries may change places alike, as assets do, while u stays the same.

Networks see them in rising order of the first variable: there is less to learn.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.measures.fixed import Fixed
from feynkac.families.measures.measure import Measure


def check_exchange(measures: Mapping[str, Measure], names: Sequence[str]) -> None:
    """Refuse variables that are unknown or of different shapes."""
    shapes = {name: measures[name].shape for name in names if name in measures}
    if len(shapes) < len(names) or len(set(shapes.values())) != 1:
        raise InputError(
            f"variables that exchange entries are known and of one shape, got {tuple(names)} with "
            f"the shapes {shapes}; the domain has {', '.join(measures)}."
        )
    if not exchangeable(measures, names):
        raise InputError(
            f"entries of {', '.join(names)} cannot change places, since some are fixed; fix none, "
            "or all at the same value."
        )


def exchangeable(measures: Mapping[str, Measure], names: Sequence[str]) -> bool:
    """Whether entries may change places: none is fixed, or all are, at the same value.

    Example:
        >>> from feynkac.families.measures.box import Box
        >>> exchangeable({"x": Fixed([1.0, 2.0])}, ["x"]), exchangeable({"x": Box(0, 1)}, ["x"])
        (False, True)
    """
    laws = [measures[name] for name in names]
    return all(
        law.low == law.high and len(set(law.low)) == 1
        if isinstance(law, Fixed)
        else all(a < b for a, b in zip(law.low, law.high, strict=True))
        for law in laws
    )


def order_of(inputs: Tensor, places: Sequence[slice]) -> Tensor:
    """Which entry stands where once those at all `places` are in rising order of the first one.

    Shape: `(…, dim)` → `(…, dim)`.

    Example:
        >>> inputs = torch.tensor([0.7, 0.2, 0.5, 0.3, 0.4])
        >>> inputs.gather(-1, order_of(inputs, [slice(0, 2), slice(3, 5)]))
        tensor([0.2000, 0.7000, 0.5000, 0.4000, 0.3000])
    """
    found = torch.zeros_like(inputs, dtype=torch.long)  # of the inputs, so that vmap follows it
    found = found + torch.arange(inputs.shape[-1], device=inputs.device)
    order = inputs[..., places[0]].argsort(-1)
    for where in places:
        found[..., where] = where.start + order
    return found


def in_order(inputs: Tensor, places: Sequence[slice]) -> Tensor:
    """The entries themselves.  Shape: `(…, dim)` → `(…, dim)`."""
    return inputs.gather(-1, order_of(inputs, places))
