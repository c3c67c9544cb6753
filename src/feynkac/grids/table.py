r"""A table of labels: u, ∂u/∂x and ∂u/∂t at inputs of many parameter sets, without noise.

Sets are divided into bands by time: each t ≤ T of a band lies between two quantiles of the law of
t, so that a grid of short horizon is as fine as it can be.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.clock import Allowance, Clock
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.grids.grid import Grid, at_once, read_grid
from feynkac.networks.network import SHORTEST_TIME

BANDS = 4


class Table(NamedTuple):
    """Inputs `(N, dim)`, values `(N, m)`, slopes in x and t `(N, d + 1, m)`, of so many sets."""

    inputs: Tensor
    values: Tensor
    slopes: Tensor
    sets: int

    def to(self, device: torch.device) -> "Table":
        """The same on another device."""
        return self._replace(
            inputs=self.inputs.to(device),
            values=self.values.to(device),
            slopes=self.slopes.to(device),
        )


def make_table(
    family: Family,
    grid: Grid,
    generator: torch.Generator,
    allowance: Allowance = Allowance(),  # noqa: B008  (whole)
) -> Table:
    """Labels at `grid.points` inputs of each of `grid.sets` parameter sets, piece by piece.

    The table ends early where the next piece would take longer than allowed.
    """
    pieces: list[Table] = []
    left, longest = grid.sets, 0.0
    while left > 0 and (not pieces or longest < allowance.left):
        clock = Clock()
        pieces.append(_piece(family, grid, min(left, piece_sets(grid)), generator))
        left, longest = left - pieces[-1].sets, max(longest, clock.spent())
    inputs, values, slopes, sets = zip(*pieces, strict=True)
    return Table(torch.cat(inputs), torch.cat(values), torch.cat(slopes), sum(sets))


def piece_sets(grid: Grid) -> int:
    """As many as are solved together, of all bands."""
    return BANDS * max(2, at_once(grid) // BANDS)


def _piece(family: Family, grid: Grid, sets: int, generator: torch.Generator) -> Table:
    inputs = grouped_inputs(family.domain, sets, grid.points, generator)
    found = read_grid(family, grid, inputs)
    slopes = torch.cat([found.space, found.time.unsqueeze(-2)], dim=-2)
    rows = [part.flatten(0, 1).float() for part in (inputs, found.value, slopes)]
    return Table(rows[0], rows[1], rows[2], len(inputs))


def grouped_inputs(domain: Domain, sets: int, points: int, generator: torch.Generator) -> Tensor:
    """Inputs by the law of the domain, those of a set with the same γ.

    Shape: `(sets, points, dim)`, float64.
    """
    sets = BANDS * max(1, sets // BANDS)
    where = domain.slices()
    inputs = domain.sample(sets * points, generator, torch.float64)
    time = inputs[:, where["t"]].clamp_min(SHORTEST_TIME * domain.measures["t"].high[0])
    bands = time.sort(0).values.view(BANDS, -1)
    order = torch.rand(bands.shape, generator=generator).argsort(-1)
    inputs[:, where["t"]] = bands.gather(1, order).view(-1, 1)
    grouped = inputs.view(sets, points, -1)
    fixed = grouped[:, :1].expand_as(grouped).clone()
    for name in ("x", "t"):
        fixed[..., where[name]] = grouped[..., where[name]]
    return fixed
