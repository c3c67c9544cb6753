r"""What a formula may return: anything that broadcasts to the shape it stands for.

`p.rate` is a discount, 0.0 a drift and `p.sigma` one drift for all coordinates; each is filled to
`(…, width)` where it is called, once and for all who call it.
"""

import functools
import types
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from feynkac.families.capabilities import VectorValued
from feynkac.families.layout import JoinCoordinates, is_coordinates_first

Formula = Callable[..., Any]
WORTH_JOINING = 2**14  # numbers at once: to watch what a formula calls takes time, too


def outputs(family: Any) -> int:
    """Number of components of u."""
    return family.outputs if isinstance(family, VectorValued) else 1


def _state(_family: Any, x: Tensor) -> int:
    return x.shape[-1]


def _values(family: Any, _x: Tensor) -> int:
    return outputs(family)


def _one(_family: Any, _x: Tensor) -> int:
    return 1


WIDTHS: dict[str, Callable[[Any, Tensor], int]] = {
    "drift": _state,
    "diffusion": _state,
    "initial": _values,
    "discount": _one,
    "source": _values,
    "boundary_value": _values,
    "closed_form": _values,
}
"""The length of the last axis of each formula's values."""


def broadcast_formulas(cls: type) -> None:
    """Let the formulas of a family return what broadcasts to their shapes."""
    for name, width in WIDTHS.items():
        found = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
        known = getattr(found, "fills", False) or getattr(found, "__isabstractmethod__", False)
        if isinstance(found, types.FunctionType) and not known:
            setattr(cls, name, _filling(found, width, by_path=name == "diffusion"))


def _filling(formula: Formula, width: Callable[[Any, Tensor], int], by_path: bool) -> Formula:
    @functools.wraps(formula)
    def filled(family: Any, x: Tensor, *rest: Any, **named: Any) -> Any:
        if by_path:  # many increments may belong to one state
            dw = rest[0] if rest else named["dw"]
            if x.shape[:-1] != dw.shape[:-1]:
                lead = torch.broadcast_shapes(x.shape[:-1], dw.shape[:-1])  # type: ignore[no-untyped-call]
                x = x.expand(*lead, -1)
        large = x.numel() >= WORTH_JOINING and is_coordinates_first(x)
        with JoinCoordinates() if large else nullcontext():
            value = formula(family, x, *rest, **named)
        return fill(value, x, width(family, x))

    filled.fills = True  # type: ignore[attr-defined]
    return filled


def fill(value: Any, like: Tensor, width: int) -> Any:
    """`value` with the leading axes of `like`, if it broadcasts to them; else as it is.

    A last axis that was summed away stays away: it was forgotten (keepdim=True keeps it).

    Example:
        >>> import torch
        >>> x = torch.zeros(5, 3)
        >>> fill(0.05, x, 1).shape, fill(torch.ones(5, 1), x, 3).shape, fill(x.sum(-1), x, 1).shape
        (torch.Size([5, 1]), torch.Size([5, 3]), torch.Size([5]))
    """
    if isinstance(value, Tensor) and value.shape == like.shape and width == like.shape[-1]:
        return value  # as most are
    lead = tuple(like.shape[:-1])
    if isinstance(value, int | float):
        return like.new_full((*lead, width), value)
    if not isinstance(value, Tensor) or tuple(value.shape) in (lead, (*lead, width)):
        return value
    sides = zip(reversed(value.shape), reversed((*lead, width)), strict=False)
    fits = value.ndim <= len(lead) + 1 and all(n in (1, wanted) for n, wanted in sides)
    return value.expand(*lead, width) if fits else value
