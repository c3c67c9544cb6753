r"""Where φ has kinks or jumps along an axis: the mean and the deviation of where its slope changes.

Nodes crowd at one kink, since u is sharpest there at short times. If there are several, or if the
place moves with the other coordinates, the deviation says how far they are apart.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.families.family import Family, timed
from feynkac.families.point import Params

PLACES = 513  # along each axis
OTHERS = (0.1, 0.5, 0.9)  # quantiles of the other coordinates
SHARP = 0.04  # share of all change of slope: at one place in 513, this is no curvature
ENOUGH = 0.2  # share of all sharp changes together


class Kinks(NamedTuple):
    """Of B sets, `(B, d)` each: mean and deviation of the places, and whether there are any."""

    mean: Tensor
    deviation: Tensor
    found: Tensor


def find_kinks(family: Family, x: Tensor, p: Params) -> Kinks:
    """Between the points of each set.  Shape: x `(B, M, d)`."""
    columns = [_along(family, x, p, i) for i in range(x.shape[-1])]
    return Kinks._make(torch.stack(parts, -1) for parts in zip(*columns, strict=True))


def _along(family: Family, x: Tensor, p: Params, i: int) -> Kinks:
    """On axis i.  Shape: `(B,)` each."""
    share = torch.linspace(0.0, 1.0, PLACES, dtype=x.dtype).view(-1, 1)
    places = x[..., i].amin(1) + share * (x[..., i].amax(1) - x[..., i].amin(1))
    mass = torch.stack([_mass(family, x, p, i, places, q) for q in OTHERS[: 2 * x.shape[-1] - 1]])
    mass = mass.mean(0)
    weight = mass / mass.sum(0).clamp_min(torch.finfo(x.dtype).tiny)
    mean = (weight * places[1:-1]).sum(0)
    deviation = (weight * (places[1:-1] - mean).square()).sum(0).sqrt()
    return Kinks(mean, deviation, mass.sum(0) >= ENOUGH)


def _mass(family: Family, x: Tensor, p: Params, i: int, places: Tensor, quantile: float) -> Tensor:
    """Share of the change of slope at each inner place, where it is sharp.  Shape: `(n − 2, B)`."""
    at = x.quantile(quantile, dim=1).expand(len(places), -1, -1).clone()
    at[..., i] = places
    now = timed(family, p, torch.zeros_like(x[:, 0, :1]))
    bend = family.initial(at, now).expand(*at.shape[:-1], -1).diff(n=2, dim=0).abs().sum(-1)
    share = bend / bend.sum(0).clamp_min(torch.finfo(x.dtype).tiny)
    return torch.where(share > SHARP, share, 0.0)
