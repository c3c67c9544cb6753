r"""u on a grid, and labels from it, for states of one or two dimensions.

One dimension is enough for a state of many if u is the same in all directions: that of |x|².

One solution holds for a parameter set, and gives u at all x and all t up to its horizon:

    u ≈ (4 u_fine − u_coarse) / 3,

the coarse grid with half the nodes and half the steps; both are of order 2.
"""

import math
from dataclasses import replace
from typing import Annotated

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from feynkac.families.capabilities import Absorbing, BoundaryValue, Reflected
from feynkac.families.family import Family
from feynkac.families.squared_radius import squared_radius
from feynkac.families.symmetry import is_radial
from feynkac.grids.axes import make_axes
from feynkac.grids.extent import Sets, find_extent
from feynkac.grids.march import march
from feynkac.grids.reading import Reading, read
from feynkac.grids.walls import walls_fit
from feynkac.sampling.reference import Estimate
from feynkac.sampling.schemes.fields import pullback
from feynkac.threads import using_threads

VALUES_AT_ONCE = 2**17  # of one time: 1 MB
MOST_DIMENSIONS = 2
LARGER = 1.5  # nodes and steps of a reference, relative to those of labels
REMAINING = 0.5  # of what a reference differs from labels, its own error: (1/1.5)⁴ and to spare


@dataclass(frozen=True, config={"extra": "forbid"})
class Grid:
    """Finite differences in place of paths.

    Example:
        >>> Grid(nodes=(65,), steps=32).refined().nodes
        (97,)
    """

    nodes: tuple[Annotated[int, Field(ge=9)], ...]
    """Along each dimension of the state; odd, so that every other one makes the coarse grid."""
    steps: Annotated[int, Field(ge=8)]
    """In time; even."""
    sets: Annotated[int, Field(ge=8)] = 4096
    """Parameter sets that are solved before training."""
    points: Annotated[int, Field(ge=1)] = 32
    """Inputs (x, t) for which each gives a label."""

    def finer(self, which: int) -> "Grid":
        """With half as many nodes more along one axis, or steps for the number after the last."""
        nodes = list(self.nodes)
        if which == len(nodes):
            return replace(self, steps=2 * round(LARGER * self.steps / 2))
        nodes[which] = 2 * round(LARGER * (nodes[which] - 1) / 2) + 1
        return replace(self, nodes=tuple(nodes))

    def refined(self) -> "Grid":
        """Finer in all, for reference values."""
        grid = self
        for which in range(len(self.nodes) + 1):
            grid = grid.finer(which)
        return grid


def suits(family: Family) -> bool:
    """Whether there is a grid for the family: few dimensions, and walls across single axes.

    Where paths are pushed back, μ and σ are not the whole equation. Where a wall divides the box,
    one grid does not hold all of it, nor where it moves.
    """
    if grid_dims(family) > MOST_DIMENSIONS or isinstance(family, Reflected):
        return False
    independent = family.domain.sampler is None and family.domain.rule is None
    return independent and walls_fit(family)


def grid_dims(family: Family) -> int:
    """Dimensions of a grid for the family.

    Example:
        >>> from feynkac.families.models.heat_gaussian import HeatGaussian
        >>> grid_dims(HeatGaussian(dim=3))
        1
    """
    return 1 if is_radial(family) else family.domain.state_dim


def at_once(grid: Grid) -> int:
    """Sets that are solved together: so many that each costs little, so few that memory does."""
    return max(1, VALUES_AT_ONCE // math.prod(grid.nodes))


def read_grid(family: Family, grid: Grid, inputs: Tensor, wide: bool = False) -> Reading:
    """u and its slopes in x and t.  Shape: `(sets, points, dim)`, a set has one γ.

    A `wide` grid has the same nodes in a larger region.
    """
    if is_radial(family):
        return _read_radially(family, grid, inputs, wide)
    with torch.no_grad(), using_threads(1):  # operations are small
        parts = torch.split(inputs, at_once(grid))
        found = [_extrapolated(family, grid, part, wide) for part in parts]
    return Reading._make(torch.cat(column) for column in zip(*found, strict=True))


def _read_radially(family: Family, grid: Grid, inputs: Tensor, wide: bool) -> Reading:
    """By the squared radius:  ∇u = 2x ∂v/∂s."""
    x, rest = inputs.tensor_split([family.domain.state_dim], dim=-1)
    s = torch.cat([x.square().sum(-1, keepdim=True), rest], dim=-1)
    parts = torch.split(s, max(1, at_once(grid) // x.shape[-1]))  # formulas see all of x
    read = [read_grid(squared_radius(family), grid, part, wide) for part in parts]
    found = Reading._make(torch.cat(column) for column in zip(*read, strict=True))
    return found._replace(space=2.0 * x.unsqueeze(-1) * found.space)


def _extrapolated(family: Family, grid: Grid, inputs: Tensor, wide: bool) -> Reading:
    domain = family.domain
    x, t, _ = domain.split(inputs)
    p, t = domain.split(inputs[:, 0]).p, t.squeeze(-1)
    sets = Sets(family, x, t.amax(1), p)
    extent = find_extent(sets, wide)

    def solved(nodes: tuple[int, ...], steps: int) -> Reading:
        axes = make_axes(extent, nodes)
        return read(march(family, axes, sets.t, p, steps), axes, sets.t, x, t)

    fine = solved(grid.nodes, grid.steps)
    coarse = solved(tuple((n + 1) // 2 for n in grid.nodes), grid.steps // 2)
    found = Reading._make((4.0 * f - c) / 3.0 for f, c in zip(fine, coarse, strict=True))
    return _beyond_walls(family, inputs, found) if isinstance(family, Absorbing) else found


def _beyond_walls(family: Absorbing, inputs: Tensor, found: Reading) -> Reading:
    """Paths that start beyond a wall have met it: u is its value there, and flat in t."""
    x, _, p = family.domain.split(inputs)  # type: ignore[attr-defined]
    out = (family.distance(x, p) <= 0).any(-1, keepdim=True)
    value, slope = torch.zeros_like(found.value), torch.zeros_like(found.space)
    if isinstance(family, BoundaryValue):
        value, pull = pullback(lambda y: family.boundary_value(y, p).expand_as(found.value), x)
        units = torch.eye(value.shape[-1], dtype=value.dtype)
        slope = torch.stack([pull(unit.expand_as(value)) for unit in units], -1)
    return Reading(
        torch.where(out, value, found.value),
        torch.where(out.unsqueeze(-1), slope, found.space),
        found.time.masked_fill(out, 0.0),
    )


def grid_reference(family: Family, grid: Grid, inputs: Tensor) -> Estimate:
    """u on a finer and wider grid than that of the labels.

    Its error is told by what both differ, but no less than at half of the inputs: where they agree
    better, that is chance.

    Shape: `(N, dim)` → `Estimate` of `(N, m)`.
    """
    alone = inputs.double().cpu().unsqueeze(1)  # grids are made there
    value = read_grid(family, grid.refined(), alone, wide=True).value.squeeze(1)
    gap = (value - read_grid(family, grid, alone).value.squeeze(1)).abs()
    error = REMAINING * gap.maximum(gap.median(0).values)
    return Estimate(value.to(inputs.device), error.to(inputs.device))


def grid_error(family: Family, grid: Grid, inputs: Tensor, count: int) -> tuple[float, float]:
    """Mean error of labels at the first inputs relative to 1 + |u|, and its own error."""
    found = grid_reference(family, grid, inputs[:count])
    own = (found.error / (1.0 + found.value.abs())).mean().item()
    return own / REMAINING, own
