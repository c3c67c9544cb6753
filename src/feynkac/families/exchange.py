"""Variables whose entries may change places alike, as assets do, while u stays the same.

Networks see them in rising order of the first variable: there is less to learn.
"""

from collections.abc import Mapping, Sequence

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


def in_order(inputs: Tensor, places: Sequence[slice]) -> Tensor:
    """The entries at all `places` in rising order of those at the first one.

    Shape: `(…, dim)` → `(…, dim)`.

    Example:
        >>> import torch
        >>> in_order(torch.tensor([0.7, 0.2, 0.5, 0.3, 0.4]), [slice(0, 2), slice(3, 5)])
        tensor([0.2000, 0.7000, 0.5000, 0.4000, 0.3000])
    """
    order, ordered = inputs[..., places[0]].argsort(-1), inputs.clone()
    for where in places:
        ordered[..., where] = inputs[..., where].gather(-1, order)
    return ordered
