r"""Formulas on a grid: at each node the mean under a hat over its neighbours.

Kinks and jumps of φ, c and f between two nodes then cost no order. On a wall u is the value there.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from feynkac.families.capabilities import BoundaryValue
from feynkac.families.family import Family, jumps, timed
from feynkac.families.point import Params
from feynkac.grids.axes import Axis, along, mesh

# of the gap between two nodes, by dimension
PARTS, JUMP_PARTS, COEFFICIENT_PARTS = {1: 16, 2: 6}, {1: 64, 2: 12}, {1: 64, 2: 6}

Function = Callable[[Tensor, Params], Tensor]


def initial_values(family: Family, axes: list[Axis], p: Params) -> Tensor:
    """Shape: `(n₁, …, n_d, B, outputs)`."""
    p = timed(family, p, torch.zeros_like(axes[0].nodes[0]).unsqueeze(-1))
    parts = (JUMP_PARTS if jumps(family) else PARTS)[len(axes)]
    return _with_walls(family, axes, p, _under_hats(family.initial, axes, p, parts))


def coefficient(function: Function, axes: list[Axis], p: Params) -> Tensor:
    """c or f.  Shape: `(n₁, …, n_d, B, outputs)`."""
    return _under_hats(function, axes, p, COEFFICIENT_PARTS[len(axes)])


def _under_hats(function: Function, axes: list[Axis], p: Params, parts: int) -> Tensor:
    """The mean of a function of x and p at each node."""
    dims = len(axes)
    share = (torch.arange(parts, dtype=axes[0].nodes.dtype) + 0.5) / parts
    fine = [_between(axis.nodes, share) for axis in axes]
    values = function(mesh(fine), p)
    values = values.expand(*(len(f) for f in fine), fine[0].shape[-1], values.shape[-1])
    for i, axis in enumerate(axes):
        values = _along_hats(values, i, along(axis.nodes.diff(dim=0), i, dims), share)
    return values.contiguous()


def _between(nodes: Tensor, share: Tensor) -> Tensor:
    """Points that divide the gaps.  Shape: `(n, B)` → `((n − 1) parts, B)`."""
    points = nodes[:-1].unsqueeze(1) + nodes.diff(dim=0).unsqueeze(1) * share.view(1, -1, 1)
    return points.flatten(0, 1)


def _along_hats(values: Tensor, axis: int, gaps: Tensor, share: Tensor) -> Tensor:
    """Means over hats along one axis: points between nodes → nodes."""
    parts = values.unflatten(axis, (gaps.shape[axis], len(share)))  # type: ignore[no-untyped-call]
    weight = share.view([-1] + [1] * (values.ndim - axis - 1))
    right = gaps * (parts * weight).mean(axis + 1)
    left = gaps * (parts * (1.0 - weight)).mean(axis + 1)
    return 2.0 * _added(left, right, axis) / _added(gaps, gaps, axis)


def _added(left: Tensor, right: Tensor, axis: int) -> Tensor:
    """What each node gets from the gap after it and from the one before."""
    zero = torch.zeros_like(left.narrow(axis, 0, 1))
    return torch.cat([left, zero], axis) + torch.cat([zero, right], axis)


def _with_walls(family: Family, axes: list[Axis], p: Params, u: Tensor) -> Tensor:
    """Values on the walls in place of the initial ones."""
    x = mesh([axis.nodes for axis in axes])
    for i, axis in enumerate(axes):
        for end, wall in ((0, axis.low_wall), (len(axis.nodes) - 1, axis.high_wall)):
            edge = u.narrow(i, end, 1)
            value = torch.zeros_like(edge)
            if isinstance(family, BoundaryValue) and bool(wall.any()):
                value = family.boundary_value(x.narrow(i, end, 1), p).expand_as(edge)
            edge.copy_(torch.where(wall.unsqueeze(-1), value, edge))
    return u
