r"""Coordinates first: a state is stored as `(d, …, K)`, whatever the order of the axes one sees.

Formulas take states apart, x[..., :1], and join what they made of it, torch.cat(…, dim=-1). Stored
as it is seen, `(…, K, d)`, both would touch every d-th number only, and joining two columns would
take torch as long as a dozen products.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

JOINS = frozenset([torch.cat, torch.concat, torch.concatenate, torch.stack])
TAKE = Tensor.__getitem__


def coordinates_first(x: Tensor) -> Tensor:
    """The same tensor, its last axis the slowest in memory.  Shape: `(…, d)` → `(…, d)`.

    Example:
        >>> coordinates_first(torch.zeros(5, 7, 2)).stride()
        (7, 1, 35)
    """
    return x.movedim(-1, 0).contiguous().movedim(0, -1)


def is_coordinates_first(x: Tensor) -> bool:
    """Whether entries of the last axis lie apart."""
    return x.ndim > 1 and x.shape[-1] > 1 and x.stride(-1) > x.stride(-2)


class JoinCoordinates(TorchFunctionMode):
    """What is joined inside it along the last axis is stored coordinates first.

    Example:
        >>> with JoinCoordinates():
        ...     joined = torch.cat([torch.zeros(5, 1), torch.ones(5, 1)], dim=-1)
        >>> joined.stride()
        (1, 5)
    """

    def __torch_function__(
        self, func: Callable[..., Any], _types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Call `func`, or what gives the same numbers in the other order."""
        named = kwargs or {}
        if func is TAKE and args[0].requires_grad and _takes_coordinates(*args):
            x, (_, which) = args
            taken = x.movedim(-1, 0)[which]
            return taken.movedim(0, -1) if isinstance(which, slice) else taken
        if func in JOINS and _along_last_axis(func, *args, **named):
            parts = args[0] if args else named["tensors"]
            columns = parts if func is torch.stack else [part.movedim(-1, 0) for part in parts]
            return (torch.stack if func is torch.stack else torch.cat)(columns).movedim(0, -1)
        return func(*args, **named)


def _takes_coordinates(x: Tensor, index: Any) -> bool:
    """x[..., i] or x[..., i:j]: backwards, torch would fill up with zeros in the order one sees."""
    if not isinstance(index, tuple) or len(index) != 2:
        return False
    where, which = index
    return where is Ellipsis and isinstance(which, int | slice) and is_coordinates_first(x)


def _along_last_axis(func: Callable[..., Any], tensors: Any, dim: int = 0, **rest: Any) -> bool:
    axes = tensors[0].ndim + (func is torch.stack)
    return axes > 1 and dim in (-1, axes - 1) and not rest
