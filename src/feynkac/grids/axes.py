r"""Where the nodes of a grid lie, for each parameter set by itself:  x_i = c + s sinh(ξ_i), ξ even.

Most nodes lie within a few s of c, the scale and the centre of where points lie and paths go,
however far the ends are.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.grids.extent import Extent


class Axis(NamedTuple):
    """One dimension of B sets: nodes `(n, B)`, all else `(B,)`."""

    nodes: Tensor
    centre: Tensor
    scale: Tensor
    first: Tensor
    """ξ of the first node."""
    stride: Tensor
    """Between two ξ."""
    low_wall: Tensor
    high_wall: Tensor
    """Whether an end is a wall."""

    def number(self, x: Tensor) -> Tensor:
        """The real-valued number of the node at x.  Shape: `(B, M)` → `(B, M)`."""
        xi = ((x - self.centre.unsqueeze(-1)) / self.scale.unsqueeze(-1)).asinh()
        return (xi - self.first.unsqueeze(-1)) / self.stride.unsqueeze(-1)

    def slope(self, x: Tensor) -> Tensor:
        """dx/d(number).  Shape: `(B, M)` → `(B, M)`."""
        distance = x - self.centre.unsqueeze(-1)
        root = (distance.square() + self.scale.unsqueeze(-1).square()).sqrt()
        return root * self.stride.unsqueeze(-1)


def make_axes(extent: Extent, nodes: tuple[int, ...]) -> list[Axis]:
    """One axis per dimension."""
    return [_make_axis(count, *(part[:, i] for part in extent)) for i, count in enumerate(nodes)]


def _make_axis(
    count: int,
    low: Tensor,
    high: Tensor,
    centre: Tensor,
    scale: Tensor,
    low_wall: Tensor,
    high_wall: Tensor,
) -> Axis:
    first, last = ((low - centre) / scale).asinh(), ((high - centre) / scale).asinh()
    stride = (last - first) / (count - 1)
    xi = first + stride * torch.arange(count, dtype=low.dtype).unsqueeze(-1)
    nodes = centre + scale * xi.sinh()
    nodes[0], nodes[-1] = low, high
    return Axis(nodes, centre, scale, first, stride, low_wall, high_wall)


def mesh(nodes: list[Tensor]) -> Tensor:
    """All combinations of nodes `(n_i, B)`.  Shape: `(n₁, …, n_d, B, d)`."""
    shape = [*(len(axis) for axis in nodes), nodes[0].shape[-1]]
    parts = [along(axis, i, len(nodes)).squeeze(-1).expand(shape) for i, axis in enumerate(nodes)]
    return torch.stack(parts, dim=-1)


def along(values: Tensor, axis: int, dims: int) -> Tensor:
    """`(n, B)` as values on a grid, `(1, …, n, …, 1, B, 1)`."""
    shape = [1] * dims + [values.shape[-1], 1]
    shape[axis] = len(values)
    return values.reshape(shape)
