r"""(f(λ_1), …, f(λ_n)) in blocks of rows, with bounded memory beyond input and output.

Rows are independent of each other, so blocks only change rounding.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from feynkac.analysis.partials import Map, traced
from feynkac.families.domain import Domain
from feynkac.families.reach import Reach

ROWS = 2**13  # a second derivative takes about ten kilobytes per row


def over_rows(u: Map, inputs: Tensor, rows: int = ROWS) -> Tensor:
    """u at flat inputs.  Shape: `(…, dim)` → `(…, *what u adds)`.

    Example:
        >>> over_rows(lambda v: v.sum(-1, keepdim=True), torch.ones(3, 2, 5), rows=2).shape
        torch.Size([3, 2, 1])
    """
    flat = inputs.reshape(-1, inputs.shape[-1])
    found = gather(map(u, torch.split(flat, rows)), len(flat))
    return found.reshape((*inputs.shape[:-1], *found.shape[1:]))


def over_values(
    f: Callable[[Tensor], Tensor],
    domain: Domain | Reach,
    at: Mapping[str, Any],
    extrapolate: bool = False,
    rows: int = ROWS,
) -> Tensor:
    """f at inputs by name, joined block by block.  Shape: leading axes, then what f adds."""
    lead, blocks = domain.blocks(at, extrapolate, rows)
    count = torch.Size(lead).numel()
    found = gather(map(f, blocks), count)
    return found.reshape((*lead, *found.shape[1:]))


def gather(pieces: Iterable[Tensor], count: int) -> Tensor:
    """All pieces together, `count` rows in total, with their graph if they have one."""
    rest = iter(pieces)
    first = next(rest)
    if len(first) == count:
        return first
    if traced(first):
        return torch.cat([first, *rest])
    whole = first.new_empty(count, *first.shape[1:])
    whole[: (done := len(first))] = first
    for piece in rest:
        whole[done : (done := done + len(piece))] = piece
    return whole
