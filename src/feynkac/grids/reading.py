r"""Between the nodes: polynomials of degree 3 through four neighbours along each axis and in time.

Nodes are even in ξ and times in √t, so that the weights are those of even points, functions of the
place r between the two in the middle.
"""

from itertools import product
from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.grids.axes import Axis


class Reading(NamedTuple):
    """u `(B, M, outputs)`, ∂u/∂x `(B, M, d, outputs)` and ∂u/∂t `(B, M, outputs)`."""

    value: Tensor
    space: Tensor
    time: Tensor


class Stencil(NamedTuple):
    """The first of four neighbours, their weights, and the derivatives of these: `(B, M)` each."""

    first: Tensor
    weights: list[Tensor]
    slopes: list[Tensor]


def read(levels: Tensor, axes: list[Axis], horizon: Tensor, x: Tensor, t: Tensor) -> Reading:
    """u at points x `(B, M, d)`, t `(B, M)` from `levels` `(steps + 1, n₁, …, n_d, B, outputs)`."""
    count, tiny = len(levels), torch.finfo(t.dtype).tiny
    clock = (count - 1) * (t / horizon.clamp_min(tiny).unsqueeze(-1)).clamp(0.0, 1.0).sqrt()
    stencils = [_stencil(clock, count)]
    stencils += [_stencil(a.number(x[..., i]), len(a.nodes)) for i, a in enumerate(axes)]
    pace = clock / (2.0 * t.clamp_min(tiny))
    space = [
        _combined(levels, stencils, i + 1) / axis.slope(x[..., i]).unsqueeze(-1)
        for i, axis in enumerate(axes)
    ]
    time = _combined(levels, stencils, 0) * pace.unsqueeze(-1)
    return Reading(_combined(levels, stencils), torch.stack(space, dim=-2), time)


def _stencil(index: Tensor, count: int) -> Stencil:
    first = (index.floor().long() - 1).clamp(0, count - 4)
    r = index - first - 1.0
    weights = [
        -r * (r - 1) * (r - 2) / 6,
        (r + 1) * (r - 1) * (r - 2) / 2,
        -(r + 1) * r * (r - 2) / 2,
        (r + 1) * r * (r - 1) / 6,
    ]
    slopes = [
        -(3 * r * r - 6 * r + 2) / 6,
        (3 * r * r - 4 * r - 1) / 2,
        -(3 * r * r - 2 * r - 2) / 2,
        (3 * r * r - 1) / 6,
    ]
    return Stencil(first, weights, slopes)


def _combined(levels: Tensor, stencils: list[Stencil], sloped: int | None = None) -> Tensor:
    """Weighted neighbours, with slopes for weights along one axis.  Shape: `(B, M, outputs)`."""
    sets = torch.arange(levels.shape[-2], device=levels.device).unsqueeze(-1)
    total = torch.zeros((), dtype=levels.dtype)
    for offsets in product(range(4), repeat=len(stencils)):
        factor, where = torch.ones((), dtype=levels.dtype), []
        for axis, (offset, stencil) in enumerate(zip(offsets, stencils, strict=True)):
            parts = stencil.slopes if axis == sloped else stencil.weights
            factor = factor * parts[offset]
            where.append(stencil.first + offset)
        total = total + factor.unsqueeze(-1) * levels[(*where, sets)]
    return total
