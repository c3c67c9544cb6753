r"""Laws of states whose coefficients A, b, σ vary with time: frozen in the middle of small pieces,

    m_n + (m_n − m_{n/2}) / 3 + …,    m_n the moments by n pieces, even but for jumps,

extrapolated twice, to order 6. A pilot finds the jumps (a volatility by quarter, a tariff by day),
and doubles n until the moments stand still: a season of ten years needs more pieces than one of a
year. If even the largest n does not suffice, there is no such law, and paths take steps.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.families.evaluating import once_per_family
from feynkac.families.family import Family
from feynkac.families.point import Params, at_time
from feynkac.sampling.generators import make_generator
from feynkac.sampling.schemes.linear_law import Coefficients, Transition, moments, root_of

FEWEST, MOST = 16, 256  # pieces; multiples of 4
STILL = 1e-5  # change of mean and covariance, relative to deviations
TRIALS, PLACES = 16, 1025  # inputs, and times at which jumps are looked for
ABRUPT = 0.5  # of a change between two places that a tenth of their distance still shows
LEAST_JUMP = 1e-3  # of the largest coefficient
BISECTIONS = 45
MOST_JUMPS = 64


class TimeVarying(ABC):
    """What is normal: the state, or a function of it; hashable."""

    @abstractmethod
    def start(self, x: Tensor) -> Tensor:
        """Its value at x.  Shape: `(…, d)` both."""

    @abstractmethod
    def coefficients(self, family: Family, x: Tensor, p: Params) -> Coefficients:
        """Of its equation, whatever its value is."""


class Pieces(NamedTuple):
    """How many, and at which values of `p.t` the coefficients jump."""

    number: int
    jumps: tuple[float, ...]


def in_pieces(law: TimeVarying, family: Family, x: Tensor, p: Params, h: Tensor) -> Transition:
    """The law after a time h, in whose middle `p.t` is left.

    Shape: x `(…, d)`, h `(…, 1)`.
    """
    pieces = find_pieces(family, law)
    assert pieces is not None
    mean, covariance = _extrapolated(law, family, x, p, h, pieces)
    return Transition(mean, root_of(covariance))


def _extrapolated(
    law: TimeVarying, family: Family, x: Tensor, p: Params, h: Tensor, pieces: Pieces
) -> tuple[Tensor, Tensor]:
    counts = (pieces.number, pieces.number // 2, pieces.number // 4)
    levels = [_by_pieces(law, family, x, p, h, n, pieces.jumps) for n in counts]
    mean, covariance = (_limit(*parts) for parts in zip(*levels, strict=True))
    return mean, covariance


def _limit(fine: Tensor, middle: Tensor, coarse: Tensor) -> Tensor:
    """Romberg's: errors of order 2 and 4 cancel."""
    once, before = (4.0 * fine - middle) / 3.0, (4.0 * middle - coarse) / 3.0
    return (16.0 * once - before) / 15.0


def _by_pieces(
    law: TimeVarying,
    family: Family,
    x: Tensor,
    p: Params,
    h: Tensor,
    count: int,
    jumps: tuple[float, ...],
) -> tuple[Tensor, Tensor]:
    """Mean `(…, d)` and covariance `(…, d, d)`; coefficients of all pieces are found at once."""
    edges = _edges(p.t, h, count, jumps)
    lengths, left = edges[:-1] - edges[1:], 0.5 * (edges[:-1] + edges[1:])
    given = law.coefficients(family, x.expand(len(left), *x.shape), at_time(p, left))
    parts = moments(given, torch.zeros_like(given.constant), lengths)
    mean, covariance = law.start(x), torch.zeros_like(parts[1][0])
    for shift, added, flow in zip(*parts, strict=True):
        mean = (flow * mean.unsqueeze(-2)).sum(-1) + shift
        covariance = added + flow @ covariance @ flow.mT
    return mean, covariance


def _edges(middle: Tensor, h: Tensor, count: int, jumps: tuple[float, ...]) -> Tensor:
    """Times left at the ends of pieces, from the first to the last; between jumps, even ones.

    Shape: `(…, 1)` → `(count + jumps + 1, …, 1)`.
    """
    shares = torch.linspace(0.5, -0.5, count + 1, dtype=h.dtype, device=h.device)
    even = middle + shares.view(-1, *[1] * h.ndim) * h
    if not jumps:
        return even
    at = torch.tensor(jumps, dtype=h.dtype, device=h.device).view(-1, *[1] * h.ndim)
    within = at.clamp(middle - 0.5 * h, middle + 0.5 * h)
    return torch.cat([even, within]).sort(dim=0, descending=True).values


@once_per_family
@torch.no_grad()
def find_pieces(family: Family, law: TimeVarying) -> Pieces | None:
    """So many that the law is known at trial inputs, half of them at the longest time."""
    domain, generator = family.domain, make_generator(0, "pieces")
    x, t, p = domain.split(domain.sample(TRIALS, generator, torch.float64))
    longest = domain.bounds[1][domain.slices()["t"]].to(t)
    t = torch.where(torch.arange(len(t)).unsqueeze(-1) % 2 == 0, longest.expand_as(t), t)
    p = at_time(p, 0.5 * t)
    pieces = Pieces(FEWEST, _jumps(law, family, x, p, longest.item()))
    known = _extrapolated(law, family, x, p, t, pieces)
    while pieces.number <= MOST:
        finer = Pieces(2 * pieces.number, pieces.jumps)
        found = _extrapolated(law, family, x, p, t, finer)
        if _agree(known, found):
            return pieces
        pieces, known = finer, found
    return None


def _agree(one: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor]) -> bool:
    """Whether means and covariances do, in units of deviations; NaN does not."""
    variance = other[1].diagonal(dim1=-2, dim2=-1)
    deviation = variance.clamp_min(torch.finfo(variance.dtype).tiny).sqrt()
    mean = (one[0] - other[0]).abs() / deviation
    spread = (one[1] - other[1]).abs() / (deviation.unsqueeze(-1) * deviation.unsqueeze(-2))
    return bool((variance >= 0.0).all() and (mean < STILL).all() and (spread < STILL).all())


def _jumps(
    law: TimeVarying, family: Family, x: Tensor, p: Params, longest: float
) -> tuple[float, ...]:
    """Values of `p.t` at which coefficients jump at the first input, by bisection."""

    def at(time: Tensor) -> Tensor:
        """All coefficients, one row per time."""
        row = Params(**{name: value[:1] for name, value in vars(p).items()})
        first = x[:1].expand(len(time), *x[:1].shape)
        found = law.coefficients(family, first, at_time(row, time.view(-1, 1, 1)))
        return torch.cat([part.expand(len(time), *part.shape[1:]).flatten(1) for part in found], 1)

    times = torch.linspace(0.0, longest, PLACES, dtype=x.dtype)
    values = at(times)
    least = LEAST_JUMP * values.abs().amax()
    change = values.diff(dim=0).abs().amax(1)
    near = (change > least).nonzero().flatten()
    if not len(near) or len(near) > PLACES // 4:  # smooth, or steep everywhere
        return ()
    low, high = times[near], times[near + 1]
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        below = (at(middle) - at(low)).abs().amax(1) > (at(high) - at(middle)).abs().amax(1)
        low, high = torch.where(below, low, middle), torch.where(below, middle, high)
    left = (at(high) - at(low)).abs().amax(1)
    found = (0.5 * (low + high))[left > ABRUPT * change[near]].tolist()
    return tuple(found) if len(found) <= MOST_JUMPS else ()
