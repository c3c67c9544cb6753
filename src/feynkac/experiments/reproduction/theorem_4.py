r"""Theorem 4: few samples are enough for every empirical risk minimiser (paper, Section 4 and A.1).

    R̂(Φ) = (1/s) Σ (Φ(Λ_i) − Y_i)²,     Φ̂ ∈ argmin R̂,     ‖Φ̂ − ū‖²_{L²(P_Λ)} ≤ ε

for s ~ (d/ε)² polylog(d/ε) samples, drawn once: up to logarithms the excess risk ε is at most of
the order d s^{−1/2}. The networks have O(d) neurons a layer and their output is clipped to [0, 1],
where the heat flow of a Gaussian takes its values. The proof needs R̂(Φ̂) ≤ R̂(Φ*) only, Φ* the best
of the networks; so near to the minimum a training got where R̂(Φ̂) ≤ R̂(ū), up to the distance of Φ*
from ū.
"""

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from statistics import mean, stdev
from typing import Any, NamedTuple

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from feynkac.experiments.reproduction.empirical_risk import (
    FACTOR,
    HIDDEN,
    Fit,
    fit,
)
from feynkac.experiments.reproduction.result import FULL, Result
from feynkac.experiments.reproduction.settings import Settings

NAME = "theorem-4"
BOUND, FAST = -0.5, -1.0
"""The exponents of s in the theorem's bound, and in parameters / s."""

UNFINISHED = "whose excess risk contains what the optimiser left."
MOST_LABELS = 6  # in the legend
SAFETY = 0.85  # of the time, as steps may get slower


class Effort(NamedTuple):
    """What is trained."""

    dims: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: int


FULL_EFFORT = Effort(tuple(range(1, 21)), tuple(2**k for k in range(8, 19)), 10_000)
SCALED_EFFORT = Effort((1, 2, 5, 10, 20), tuple(2**k for k in range(8, 17, 2)), 5_000)


class Slope(NamedTuple):
    """An exponent and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ± {self.error:.2f}"


def run(settings: Settings) -> Result:
    """Minimise the empirical risk for each dimension, sample size and seed; fit the exponents."""
    effort = choose_effort(settings)
    fits = [
        each
        for dim, seed in itertools.product(effort.dims, settings.seeds)
        for each in _stored(settings, dim, seed, effort)
    ]
    by_dim = {dim: [each for each in fits if each.dim == dim] for dim in effort.dims}
    slopes = {dim: exponent(by_dim[dim], lambda each: each.size) for dim in effort.dims}
    return Result(
        name=NAME,
        title="Theorem 4: excess risk against the number of samples, heat equation with Gaussian",
        columns=("d", "best constant", *(f"s = {s:,}" for s in effort.sizes), "exponent of s"),
        rows=[_row(by_dim[dim], slopes[dim]) for dim in effort.dims],
        scale=FULL if settings.full else _scale(effort),
        notes=tuple(_notes(fits, effort)),
        data={
            "fits": [asdict(each) for each in fits],
            "exponents": [{"dim": dim, **s._asdict()} for dim, s in slopes.items() if s],
            "steps": effort.steps,
        },
        figure=draw(fits, slopes),
    )


def choose_effort(settings: Settings) -> Effort:
    """The full one, or the scaled one with as many steps as fit the budget."""
    if settings.full:
        return FULL_EFFORT

    def compute() -> int:
        settings.announce("timing a step")
        start = time.perf_counter()
        setup, step = map(sum, zip(*map(_time, SCALED_EFFORT.dims), strict=True))
        left = settings.budget - (time.perf_counter() - start)
        steps = SAFETY * (left / len(settings.seeds) - setup) / step
        return max(1, min(SCALED_EFFORT.steps, int(steps)))

    key = f"{NAME} steps {settings.budget:g} {settings.seeds} {SCALED_EFFORT}"
    return SCALED_EFFORT._replace(steps=settings.store.once(key, compute))


def _time(dim: int, steps: int = 50) -> tuple[float, float]:
    """Seconds of a training besides its steps, and of one step; the first call warms up."""
    clock = []
    for number in (1, 1, 1 + steps):
        clock.append(time.perf_counter())
        fit(dim, SCALED_EFFORT.sizes, 0, number)
    _, setup, total = (b - a for a, b in itertools.pairwise([*clock, time.perf_counter()]))
    return setup, max(1e-4, (total - setup) / steps)


def _stored(settings: Settings, dim: int, seed: int, effort: Effort) -> list[Fit]:
    def compute() -> list[dict[str, Any]]:
        settings.announce(f"d = {dim}, seed {seed}")
        return [asdict(each) for each in fit(dim, effort.sizes, seed, effort.steps)]

    key = f"{NAME} d={dim} seed={seed} {effort.sizes} {effort.steps} {FACTOR} {HIDDEN}"
    return [Fit(**each) for each in settings.store.once(key, compute)]


def exponent(fits: Sequence[Fit], of: Callable[[Fit], float]) -> Slope | None:
    """The exponent of `of` in the excess risk, by least squares; None for fewer than two values.

    Example:
        >>> fits = [Fit(1, s, 0, 8 / s, 1.0, 1.0, 1.0, 1.0) for s in (256, 512, 1024)]
        >>> round(exponent(fits, lambda fit: fit.size).value, 12)
        -1.0
    """
    x = [math.log(of(each)) for each in fits]
    if len(set(x)) < 2:
        return None
    line = stats.linregress(x, [math.log(each.excess) for each in fits])
    error = float(line.stderr)
    return Slope(float(line.slope), error if math.isfinite(error) else 0.0)


def draw(fits: list[Fit], slopes: dict[int, Slope | None]) -> Figure:
    """Excess risk against s, a line a dimension; the exponents against d."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    _draw_risks(left, fits)
    found = {dim: slope for dim, slope in slopes.items() if slope}
    errors = [slope.error for slope in found.values()]
    right.errorbar([*found], [slope.value for slope in found.values()], errors, fmt="o", ms=4)
    right.axhline(BOUND, ls="--", color="black", label="the bound")
    right.axhline(FAST, ls=":", color="grey", label="parameters / s")
    right.set(xlabel="d", ylabel="exponent of s ± s.e.", xticks=[*found])
    right.legend(loc="lower right", bbox_to_anchor=(1.0, 0.1))
    return figure


def _draw_risks(axes: Axes, fits: list[Fit]) -> None:
    dims, sizes = _values(fits)
    colours = colormaps["viridis"].resampled(len(dims) + 1)
    for number, dim in enumerate(dims):
        groups = [_excesses(fits, dim, size) for size in sizes]
        middle, spread = [mean(g) for g in groups], [_deviation(g) for g in groups]
        label = f"d = {dim}" if dim in dims[:: -(-len(dims) // MOST_LABELS)] else None
        axes.errorbar(sizes, middle, spread, marker="o", ms=3, color=colours(number), label=label)
    top = 4.0 * max(each.excess for each in fits)
    bound = [top * (size / sizes[0]) ** BOUND for size in sizes]
    axes.plot(sizes, bound, "--", color="black", label="slope −1/2")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set(xlabel="samples s", ylabel=r"excess risk $\|\hat\Phi - \bar u\|^2$")
    axes.legend(fontsize="small", ncols=2, loc="lower left")


def _values(fits: list[Fit]) -> tuple[list[int], list[int]]:
    """The dimensions and the sample sizes."""
    return sorted({each.dim for each in fits}), sorted({each.size for each in fits})


def _excesses(fits: Sequence[Fit], dim: int, size: int) -> list[float]:
    return [each.excess for each in fits if (each.dim, each.size) == (dim, size)]


def _deviation(values: Sequence[float]) -> float:
    return stdev(values) if len(values) > 1 else 0.0


def _row(fits: list[Fit], slope: Slope | None) -> tuple[str, ...]:
    (dim,), sizes = _values(fits)
    groups = [_excesses(fits, dim, size) for size in sizes]
    return (
        str(dim),
        f"{mean(each.constant for each in fits):.1e}",
        *(f"{mean(group):.1e} ± {_deviation(group):.0e}" for group in groups),
        str(slope or "–"),
    )


def _scale(effort: Effort) -> str:
    sizes = f"s up to {effort.sizes[-1]:,} in place of {FULL_EFFORT.sizes[-1]:,}"
    dims = f"d = {', '.join(map(str, effort.dims))} in place of all up to {FULL_EFFORT.dims[-1]}"
    return f"{dims}, {sizes}, {effort.steps:,} steps in place of {FULL_EFFORT.steps:,}."


def _notes(fits: list[Fit], effort: Effort) -> list[str]:
    minimal = [each for each in fits if each.risk <= each.truth]
    others = [each.risk / each.truth - 1.0 for each in fits if each.risk > each.truth]
    largest = [each for each in fits if each.size == effort.sizes[-1]]
    learned = [each for each in largest if each.excess < each.constant]
    ratio = max(each.excess * math.sqrt(each.size) / each.dim for each in fits)
    return [
        f"Networks with {HIDDEN} hidden layers of {FACTOR}(d + 2) ReLU neurons, clipped to [0, 1], "
        f"and {effort.steps:,} steps of AdamW on the first s of a sample drawn once a seed. The "
        "excess risk is measured against the closed form on fresh inputs: mean ± standard "
        "deviation over the seeds.",
        "The theorem's bound s ~ (d/ε)² polylog(d/ε) falls as d s^(−1/2), up to logarithms; the "
        "risk itself may fall faster, as parameters / s in least squares. While s is smaller than "
        "the number of parameters the networks fit the noise, and the curve is flat.",
        f"The excess risk was at most {ratio:.1e} d s^(−1/2)." + _growth(largest),
        "The proof asks that the empirical risk be no larger than that of the best network. It "
        f"was no larger than that of ū in {len(minimal)} of {len(fits)} trainings"
        + (
            f", and at most {max(others):.1%} larger in the others, " + UNFINISHED
            if others
            else "."
        )
        + f" The largest parameter was {max(each.largest for each in fits):.1f}; none was bounded.",
        f"With s = {effort.sizes[-1]:,} the networks beat the best constant in {len(learned)} of "
        f"{len(largest)} trainings.",
    ]


def _growth(fits: list[Fit]) -> str:
    """How the risk grows with d, at one sample size, and that of the best constant."""
    constants = [replace(each, excess=each.constant) for each in fits]
    ours, constant = (exponent(group, lambda each: each.dim) for group in (fits, constants))
    if not ours or not constant:
        return ""
    return (
        f" With s = {fits[0].size:,} it grows as d to the power {ours}, that of the best constant, "
        f"the variance of ū, as d to the power {constant}."
    )
