r"""How many samples an excess risk takes:  s(d, ε) = the least s with ‖Φ̂ − ū‖² ≤ ε from there on.

Networks of one dimension and seed are trained on nested samples, so their risks are not
independent. Hence every exponent is fitted for each seed by itself; its value is the mean over the
seeds, its standard error comes from their spread.
"""

import itertools
import math
from collections.abc import Sequence
from statistics import mean, stdev
from typing import NamedTuple

from feynkac.benchmarks.dimensions import loglog_slope
from feynkac.reproduction.empirical_risk import FACTOR, HIDDEN, Fit

LEARNED = 0.5  # of the best constant's risk: above, ε takes next to no learning


class Slope(NamedTuple):
    """An exponent, and its standard error if there are at least two seeds."""

    value: float
    error: float | None

    def __str__(self) -> str:
        tail = "" if self.error is None else f" ± {self.error:.2g}"
        return f"{self.value:.2f}{tail}"


class Need(NamedTuple):
    """s(d, ε), or that it is at most the smallest or above the largest s tried."""

    size: float
    sign: str = ""

    def __str__(self) -> str:
        return f"{self.sign}{' ' if self.sign else ''}{float(f'{self.size:.3g}'):,.0f}"


def parameters(dim: int) -> int:
    """Of a network, d + 2 inputs.

    Example:
        >>> parameters(dim=1)
        73
    """
    widths = [dim + 2, *[FACTOR * (dim + 2)] * HIDDEN, 1]
    return sum((a + 1) * b for a, b in itertools.pairwise(widths))


def over_seeds(values: Sequence[float]) -> Slope:
    """Mean and standard error.

    Example:
        >>> over_seeds([1.0, 3.0])
        Slope(value=2.0, error=1.0)
    """
    several = len(values) > 1
    return Slope(mean(values), stdev(values) / math.sqrt(len(values)) if several else None)


def exponent(fits: Sequence[Fit]) -> Slope | None:
    """Of s in the excess risk of one dimension, for s of at least the number of parameters.

    Example:
        >>> fits = [Fit(1, s, 0, 8 / s, 1.0, 1.0, 1.0, 1.0) for s in (64, 128, 512)]
        >>> round(exponent(fits).value, 12)
        -1.0
    """
    slopes = []
    for seed in sorted({each.seed for each in fits}):
        own = [each for each in fits if each.seed == seed and each.size >= parameters(each.dim)]
        slopes.append(loglog_slope([e.size for e in own], [e.excess for e in own]))
    found = [slope for slope in slopes if slope is not None]
    return over_seeds(found) if found else None


def need(fits: Sequence[Fit], eps: float) -> Need:
    """s(d, ε) from the fits of one dimension and seed, between two sizes by interpolation.

    Example:
        >>> str(need([Fit(1, s, 0, 8 / s, 1.0, 1.0, 1.0, 1.0) for s in (64, 256)], 8 / 128))
        '128'
    """
    ordered = sorted(fits, key=lambda each: each.size)
    above = [k for k, each in enumerate(ordered) if each.excess > eps]
    if not above:
        return Need(ordered[0].size, "≤")
    if above[-1] == len(ordered) - 1:
        return Need(ordered[-1].size, ">")
    one, two = ordered[above[-1]], ordered[above[-1] + 1]
    share = math.log(one.excess / eps) / math.log(one.excess / two.excess)
    return Need(one.size * (two.size / one.size) ** share)


def needs(fits: Sequence[Fit], eps: float) -> dict[int, dict[int, Need]]:
    """By dimension and seed."""
    cells = sorted({(each.dim, each.seed) for each in fits})
    found: dict[int, dict[int, Need]] = {dim: {} for dim, _ in cells}
    for dim, seed in cells:
        own = [each for each in fits if (each.dim, each.seed) == (dim, seed)]
        found[dim][seed] = need(own, eps)
    return found


def typical(by_seed: dict[int, Need]) -> Need:
    """The geometric mean; if any seed has only a bound, then that."""
    bounds = [each for each in by_seed.values() if each.sign]
    if bounds:
        return max(bounds, key=lambda each: each.size)
    return Need(math.exp(mean(math.log(each.size) for each in by_seed.values())))


def growth(fits: Sequence[Fit], eps: float) -> tuple[Slope | None, list[int]]:
    """The exponent of d in s(d, ε), and the dimensions it is fitted to.

    Those where ε is well below the risk of the best constant and reached within the sizes tried.
    """
    constants = {each.dim: each.constant for each in fits}
    found = needs(fits, eps)
    dims = [
        dim
        for dim, by_seed in found.items()
        if eps <= LEARNED * constants[dim] and not any(each.sign for each in by_seed.values())
    ]
    if len(dims) < 2:
        return None, dims
    seeds = sorted(set.intersection(*(set(found[dim]) for dim in dims)))
    slopes = [loglog_slope(dims, [found[dim][seed].size for dim in dims]) for seed in seeds]
    return over_seeds([slope for slope in slopes if slope is not None]), dims
