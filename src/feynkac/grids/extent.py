r"""How far a grid must reach: as far as paths of twice the noise do, about five deviations out.

An end is moved inward to where the coefficients are defined, and to where noise ends if paths
cannot cross that point (a variance stays above 0); or onto the wall at which paths stop. Where
the noise ends like a root of the distance, as √v does, u is rough, and nodes crowd there. Where
points of a positive coordinate lie decades apart and its noise grows with it, as in populations,
nodes are even in its logarithm. Else they crowd where φ has a kink (`kinks.py`).
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.families.capabilities import Absorbing
from feynkac.families.family import Family, noise_dim, timed
from feynkac.families.point import Params
from feynkac.grids.coefficients import all_finite, drift, variances
from feynkac.grids.kinks import find_kinks
from feynkac.grids.walls import inside
from feynkac.sampling.noise.noise import normals

STARTS, STEPS, LOUDER = 128, 16, 2.25  # paths from anywhere, and from each outermost point
WIDER = 1.25  # noise of paths that tell whether others went far enough; they take twice the steps
FARTHEST = 0.99  # quantile of the paths' extremes that is kept
MARGIN = 0.02  # of the scale, added at each end
SPREAD = 0.5  # of what paths scatter, for the scale
BISECTIONS = 40
WALL_POINTS = 257
NO_NOISE = 1e-9  # variance, relative to that in the middle
ROOT, NEAR = 1.5, 1e-3  # a variance falls like a root: power of the distance, share of the scale
CROWDED = 0.1  # scale of nodes there
SHARPER = 0.4  # scale of nodes where φ has a kink
LOW_POINTS, DECADES = 0.1, 16.0  # quantile of the points; the last one, relative to it
BELOW = 3.0  # times as small as where paths come, the end of nodes that are even in ln x
NATURAL_ENDS = (0.0, 1.0)  # of prices, rates, variances, shares


class Extent(NamedTuple):
    """Ends, centre and scale of B sets, `(B, d)` each; whether the ends are walls."""

    low: Tensor
    high: Tensor
    centre: Tensor
    scale: Tensor
    low_wall: Tensor
    high_wall: Tensor


class Sets(NamedTuple):
    """B parameter sets: points x `(B, M, d)` to be within, horizons t `(B,)`, parameters."""

    family: Family
    x: Tensor
    t: Tensor
    p: Params

    def at_horizon(self) -> Params:
        """Parameters as the formulas read them when paths start."""
        return timed(self.family, self.p, self.t.unsqueeze(-1))

    def single(self) -> "Sets":
        """In single precision."""
        p = Params(**{name: value.float() for name, value in vars(self.p).items()})
        return Sets(self.family, self.x.float(), self.t.float(), p)


def find_extent(sets: Sets, wide: bool = False) -> Extent:
    """Of all sets; a `wide` one reaches farther than it needs to."""
    low, high, centre, scale = (part.to(sets.x) for part in _visited(sets.single(), wide))
    low, high = _defined(sets, low), _defined(sets, high)
    lowest = low / BELOW
    low, low_rough = _where_noise_ends(sets, low, 1.0, scale)
    high, high_rough = _where_noise_ends(sets, high, -1.0, scale)
    centre, scale = _crowded(sets, low, high, low_rough, high_rough, centre, scale)
    apart = _decades_apart(sets, low) & (lowest > 0.0)
    low, centre, scale = (
        torch.where(apart, lowest, part) for part in (low, centre, scale)
    )  # even in ln x
    low_wall = high_wall = torch.zeros_like(low, dtype=torch.bool)
    if isinstance(sets.family, Absorbing):
        low, low_wall = _onto_walls(sets.family, sets, low)
        high, high_wall = _onto_walls(sets.family, sets, high)
    return Extent(low, high, centre.maximum(low).minimum(high), scale, low_wall, high_wall)


def _visited(sets: Sets, wide: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Ends, centre and scale of what loud paths visit.  Shape: `(B, d)` each."""
    first, last = sets.x.amin(1), sets.x.amax(1)
    centre = 0.5 * (first + last)
    diffused = (sets.t.unsqueeze(-1) * variances(sets.family, centre, sets.at_horizon())).sqrt()
    drifted = sets.t.unsqueeze(-1) * drift(sets.family, centre, sets.at_horizon()).abs()
    reach = (
        (last - first).maximum(diffused).maximum(drifted).clamp_min(torch.finfo(centre.dtype).tiny)
    )
    ends, lowest, highest = _loud_paths(sets, centre, reach, wide)
    lows, highs = (torch.stack(torch.split(part, STARTS)) for part in (lowest, highest))
    low = lows.quantile(1.0 - FARTHEST, dim=1).amin(0).minimum(first)
    high = highs.quantile(FARTHEST, dim=1).amax(0).maximum(last)
    scattered = (ends - centre).abs().median(0).values
    scattered = torch.where(diffused > 0, scattered.minimum(diffused), scattered)
    scale = (0.5 * (last - first)).maximum(SPREAD * scattered)
    scale = scale.minimum(high - low).clamp_min(1e-6 * (1.0 + centre.abs()))
    return low - MARGIN * scale.minimum(low.abs()), high + MARGIN * scale, centre, scale


def _loud_paths(
    sets: Sets, centre: Tensor, reach: Tensor, wide: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Ends of paths from anywhere; minima and maxima, also of those from the outermost points.

    Shape: `(STARTS, B, d)`; `((1 + 2d) STARTS, B, d)`.
    """
    family, x, t, p = sets
    generator = torch.Generator().manual_seed(0)
    anywhere = torch.randint(x.shape[1], (STARTS, 1), generator=generator).expand(-1, len(x))
    outermost = torch.cat([x.argmin(1), x.argmax(1)], dim=-1).T.repeat_interleave(STARTS, 0)
    starts = torch.cat([anywhere, outermost])
    state = x[torch.arange(len(x)), starts]
    steps, louder = (2 * STEPS, WIDER * LOUDER) if wide else (STEPS, LOUDER)
    z = normals(steps, (len(state), 1), noise_dim(family), generator, x.dtype)
    h = (t / steps).unsqueeze(-1)
    lowest = highest = state
    for k in range(steps):
        now, dw = timed(family, p, t.unsqueeze(-1) - k * h), louder * h.sqrt() * z[k]
        loud = family.diffusion(state, dw, now)
        loud = 0.5 * (loud + family.diffusion(state + loud, dw, now))  # in Stratonovich's sense
        away = (state - centre).abs()
        moved = state + _tamed(family.drift(state, now) * h, away + reach)
        moved = moved + _tamed(loud, away + 4.0 * reach)
        state = torch.where(moved.isfinite(), moved, state)
        lowest, highest = lowest.minimum(state), highest.maximum(state)
    return state[:STARTS], lowest, highest


def _tamed(step: Tensor, most: Tensor) -> Tensor:
    """A step shorter than `most`: a steep drift must not throw a long step far out."""
    return step / (1.0 + step.abs() / most)


def _defined(sets: Sets, end: Tensor) -> Tensor:
    """`end` moved towards the points, coordinate by coordinate, until formulas give numbers."""
    found, inner = end.clone(), sets.x.mean(1)
    for i in range(end.shape[-1]):

        def fine(value: Tensor, i: int = i) -> Tensor:
            return all_finite(sets.family, _with(inner, i, value), sets.t, sets.p)

        found[:, i] = _last(fine, inner[:, i], end[:, i])
    return found


def _where_noise_ends(
    sets: Sets, end: Tensor, inward: float, scale: Tensor
) -> tuple[Tensor, Tensor]:
    """`end` moved to where the noise of its coordinate ends, if the drift does not lead across.

    It may lie farther out, if that is near. Also, whether the noise ends like a root there: the
    variance falls more slowly than distance^1.5.
    """
    family, p = sets.family, sets.at_horizon()
    found, inner = end.clone(), sets.x.mean(1)
    rough = torch.zeros_like(end, dtype=torch.bool)
    outermost = inward * (inward * sets.x).amin(1)
    for i in range(end.shape[-1]):

        def noise(value: Tensor, i: int = i) -> Tensor:
            return variances(family, _with(inner, i, value), p)[:, i]

        least = NO_NOISE * noise(inner[:, i])
        quiet = _last(lambda v: noise(v) > least, inner[:, i], end[:, i], outside=True)  # noqa: B023
        for place in (quiet, *(torch.full_like(quiet, natural) for natural in NATURAL_ENDS)):
            at = _with(inner, i, place)
            closed = (noise(place) <= least) & (least > 0)
            closed &= inward * drift(family, at, p)[:, i] >= 0
            closed &= all_finite(family, at, sets.t, sets.p)
            closed &= inward * (inner[:, i] - place) > 0
            closed &= inward * (outermost[:, i] - place) >= 0  # all points stay within
            closed &= inward * (end[:, i] - place) < scale[:, i]
            found[:, i] = torch.where(closed, place, found[:, i])
            near = inward * NEAR * scale[:, i]
            slow = noise(place + 2.0 * near) < 2.0**ROOT * noise(place + near)
            rough[:, i] |= closed & slow
    return found, rough


def _crowded(
    sets: Sets,
    low: Tensor,
    high: Tensor,
    low_rough: Tensor,
    high_rough: Tensor,
    centre: Tensor,
    scale: Tensor,
) -> tuple[Tensor, Tensor]:
    """Centre and scale of the nodes: at a rough end, or at a kink if all points are far from it."""
    kinks, near = find_kinks(sets.family, sets.x, sets.p), CROWDED * scale
    low_rough = low_rough & (~kinks.found | (sets.x.amin(1) - low < near))
    high_rough = high_rough & (~kinks.found | (high - sets.x.amax(1) < near))
    rough = low_rough ^ high_rough
    at_kink = kinks.found & ~rough
    sharp = (SHARPER * scale).maximum(kinks.deviation).minimum(scale)
    centre = torch.where(at_kink, kinks.mean, centre)
    centre = torch.where(rough, torch.where(low_rough, low, high), centre)
    return centre, torch.where(rough, near, torch.where(at_kink, sharp, scale))


def _decades_apart(sets: Sets, low: Tensor) -> Tensor:
    """Whether some points are many times as large as others, with noise that grows as fast.

    Shape: `(B, d)`.
    """
    small, large = sets.x.quantile(LOW_POINTS, dim=1), sets.x.amax(1)
    apart = (low >= 0.0) & (small > 0.0) & (large > DECADES * small)
    for i in range(low.shape[-1] if bool(apart.any()) else 0):
        before, after = (
            variances(sets.family, _with(sets.x.mean(1), i, place[:, i]), sets.at_horizon())[:, i]
            for place in (small, large)
        )
        apart[:, i] &= after > (large / small)[:, i] ** ROOT * before
    return apart


def _onto_walls(family: Absorbing, sets: Sets, end: Tensor) -> tuple[Tensor, Tensor]:
    """`end` moved onto walls, axis by axis, and where there are any."""
    found, walls = end.clone(), torch.zeros_like(end, dtype=torch.bool)
    for i in range(end.shape[-1]):
        distances = [inside(family, i, x, sets.p) for x in sets.x.unbind(1)]
        farthest = torch.stack(distances, dim=1).argmax(1)
        inner = sets.x[torch.arange(len(sets.x)), farthest]

        def free(value: Tensor, i: int = i, inner: Tensor = inner) -> Tensor:
            return inside(family, i, _with(inner, i, value), sets.p) > 0.0

        found[:, i], walls[:, i] = _onto_wall(free, inner[:, i], end[:, i])
    return found, walls


def _onto_wall(
    free: Callable[[Tensor], Tensor], inner: Tensor, end: Tensor
) -> tuple[Tensor, Tensor]:
    """The first wall from `inner` to `end`, if there are two; or `end`.  Shape: `(B,)` each."""
    good, bad, wall = inner, end, torch.zeros_like(inner, dtype=torch.bool)
    for share in torch.linspace(0.0, 1.0, WALL_POINTS)[1:].tolist():
        place = inner + share * (end - inner)
        met = ~free(place) & ~wall
        bad, wall = torch.where(met, place, bad), wall | met
        good = torch.where(wall, good, place)
    return _last(free, good, bad), wall


def _with(x: Tensor, i: int, value: Tensor) -> Tensor:
    """x with another value of coordinate i."""
    changed = x.clone()
    changed[:, i] = value
    return changed


def _last(
    holds: Callable[[Tensor], Tensor], inner: Tensor, end: Tensor, outside: bool = False
) -> Tensor:
    """The last point from `inner` to `end` where something holds, by bisection; or the next."""
    good, bad = inner, end
    already = holds(end)
    for _ in range(0 if bool(already.all()) else BISECTIONS):
        middle = 0.5 * (good + bad)
        fine = holds(middle)
        good, bad = torch.where(fine, middle, good), torch.where(fine, bad, middle)
    return torch.where(already, end, bad if outside else good)
