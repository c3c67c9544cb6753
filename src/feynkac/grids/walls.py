r"""Walls on grids: each stands still, across one axis, and leaves the box on one side.

A wall {distance_j = 0} stands across axis i if its distance changes with x_i alone: the barrier of
a price whose variance is the second coordinate.
"""

import torch
from torch import Tensor

from feynkac.families.capabilities import Absorbing, BoundaryValue, TimeDependent
from feynkac.families.evaluating import once_per_family
from feynkac.families.family import Family
from feynkac.families.point import Params
from feynkac.families.squared_radius import squared_radius
from feynkac.families.symmetry import is_radial
from feynkac.sampling.generators import make_generator

TRIALS, LINE_POINTS = 64, 257  # parameter sets and places at which walls are looked for
BEYOND = 4.0  # widths of the box


@once_per_family
def walls_fit(family: Family) -> bool:
    """Whether a grid can have the walls of a family, if there are any."""
    if not isinstance(family, Absorbing):
        return True
    if _may_move(family):
        return False
    line = squared_radius(family) if is_radial(family) else family
    if not isinstance(line, Absorbing):
        return False
    return wall_axes(line) is not None and not _is_divided(line)


@once_per_family
def wall_axes(family: Family) -> tuple[int, ...] | None:
    """The axis that each wall stands across; None if one stands across several.

    Example:
        >>> from feynkac.families.models.channel import Channel
        >>> wall_axes(Channel())
        (1, 1)
    """
    assert isinstance(family, Absorbing)
    generator = make_generator(0, "walls")
    x, _, p = family.domain.split(family.domain.sample(TRIALS, generator, torch.float64))
    x, other = _farther(family, x, generator), _farther(family, x, generator)
    known = family.distance(x, p)
    if x.shape[-1] == 1:
        return (0,) * known.shape[-1]
    found = []
    for i in range(x.shape[-1]):
        moved = x.clone()
        moved[:, i] = other[:, i]
        distances = family.distance(moved, p)
        defined = known.isfinite() & distances.isfinite()
        found.append((defined & (distances != known)).any(0))
    changes = torch.stack(found)
    return tuple(changes.int().argmax(0).tolist()) if bool((changes.sum(0) == 1).all()) else None


def _farther(family: Family, x: Tensor, generator: torch.Generator) -> Tensor:
    """x in the box and beyond it, where paths go."""
    low, high = (side[: x.shape[-1]].to(x) for side in family.domain.bounds)
    share = torch.rand(x.shape, generator=generator, dtype=x.dtype)
    reach = BEYOND * (2.0 * share - 1.0) * (high - low)
    return torch.where(torch.arange(len(x)).unsqueeze(-1) % 2 == 0, x, x + reach)


def inside(family: Absorbing, axis: int, x: Tensor, p: Params) -> Tensor:
    """The least distance to walls across one axis; ∞ without them.  Shape: `(…, d)` → `(…,)`."""
    axes = wall_axes(family)  # type: ignore[arg-type]
    assert axes is not None
    mine = [number for number, across in enumerate(axes) if across == axis]
    if not mine:
        return torch.full_like(x[..., 0], torch.inf)
    return family.distance(x, p)[..., mine].amin(-1)


@once_per_family
def _may_move(family: Family) -> bool:
    """Whether walls, or values on them, read the time."""
    formulas = [family.distance] if isinstance(family, Absorbing) else []
    formulas += [family.boundary_value] if isinstance(family, BoundaryValue) else []
    inputs = family.domain.sample(TRIALS, make_generator(0, "moving walls"))
    x, _, p = family.domain.split(inputs)
    try:
        for formula in formulas if isinstance(family, TimeDependent) else []:
            formula(x, p)
    except AttributeError:  # p has no t here
        return True
    return False


@once_per_family
def _is_divided(family: Family) -> bool:
    """Whether paths start on both sides of a wall."""
    assert isinstance(family, Absorbing)
    x, _, p = family.domain.split(family.domain.sample(TRIALS, make_generator(0, "walls")))
    for axis in set(wall_axes(family) or ()):
        low, high = (side[axis].item() for side in family.domain.bounds)
        within = []
        for share in torch.linspace(0.0, 1.0, LINE_POINTS).tolist():
            place = x.clone()
            place[:, axis] = low + share * (high - low)
            within.append(inside(family, axis, place, p))
        distances = torch.stack(within)
        free = distances > 0.0
        parts = free[0].int() + (free[1:] & ~free[:-1]).sum(0)
        if bool((parts > 1).any()) or _touches(distances):
            return True
    return False


def _touches(distances: Tensor) -> bool:
    """Whether a distance falls to about 0 and rises again, as |x − b| does.  Shape: `(n, B)`."""
    before, here, after = distances[:-2], distances[1:-1], distances[2:]
    lowest = (here > 0.0) & (here <= before) & (here <= after)
    return bool((lowest & (here < torch.maximum(before - here, after - here))).any())
