r"""A table of labels: u, ∂u/∂x and ∂u/∂t at inputs of many parameter sets, without noise.

Sets are divided into bands by time: each t ≤ T of a band lies between two quantiles of the law of
t, so that a grid of short horizon is as fine as it can be.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.grids.grid import Grid, read_grid
from feynkac.networks.network import SHORTEST_TIME

BANDS = 4


class Table(NamedTuple):
    """Inputs `(N, dim)`, values `(N, m)`, slopes in x and t `(N, d + 1, m)`."""

    inputs: Tensor
    values: Tensor
    slopes: Tensor


def make_table(family: Family, grid: Grid, generator: torch.Generator) -> Table:
    """Labels at `grid.points` inputs of each of `grid.sets` parameter sets."""
    inputs = grouped_inputs(family.domain, grid.sets, grid.points, generator)
    found = read_grid(family, grid, inputs)
    slopes = torch.cat([found.space, found.time.unsqueeze(-2)], dim=-2)
    rows = (part.flatten(0, 1).float() for part in (inputs, found.value, slopes))
    return Table(*rows)


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
