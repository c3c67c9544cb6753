r"""Theorem 4: how many samples empirical risk minimisers need (paper, Section 4; Theorem A.5).

    R̂(Φ) = (1/s) Σ (Φ(Λ_i) − Y_i)²,     Φ̂ ∈ argmin R̂,     ‖Φ̂ − ū‖²_{L²(P_Λ)} ≤ ε

with high probability for s ≥ (d/ε)² polylog(d/ε) samples, drawn once. The networks have O(d)
neurons a layer and their output is clipped to [0, 1], where the heat flow of a Gaussian takes its
values. Measured is the s(d, ε) that it takes (`sample_complexity.py`). The proof needs
R̂(Φ̂) ≤ R̂(Φ*) only, Φ* the best of the networks; so near to the minimum a training got where
R̂(Φ̂) ≤ R̂(ū), up to the distance of Φ* from ū.
"""

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import asdict
from statistics import mean
from typing import Any, NamedTuple

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from feynkac.benchmarks.dimensions import loglog_slope
from feynkac.plotting.style import BLACK, PALETTE, panels, styled
from feynkac.reproduction.empirical_risk import FACTOR, HIDDEN, Fit, fit
from feynkac.reproduction.result import FULL, Result
from feynkac.reproduction.sample_complexity import (
    LEARNED,
    exponent,
    growth,
    needs,
    over_seeds,
    parameters,
    typical,
)
from feynkac.reproduction.settings import Settings

NAME = "theorem-4"
TOLERANCES = (1e-5, 3e-5, 1e-4)
"""ε, small against the variance of ū."""
BOUND = 2.0
"""The exponent of d in the theorem's number of samples, up to logarithms."""

UNFINISHED = "whose excess risk contains what the optimiser left."
MOST_LABELS = 6  # in the legend
SAFETY = 0.85  # of the time, as steps may get slower


class Scope(NamedTuple):
    """What is trained."""

    dims: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: int


FULL_SCOPE = Scope(tuple(range(1, 21)), tuple(2**k for k in range(8, 19)), 10_000)
SCALED_SCOPE = Scope((1, 2, 5, 10, 20), tuple(2**k for k in range(8, 17, 2)), 5_000)


def run(settings: Settings) -> Result:
    """Minimise the empirical risk for each dimension, sample size and seed; fit the exponents."""
    scope = choose_scope(settings)
    fits = [
        each
        for dim, seed in itertools.product(scope.dims, settings.seeds)
        for each in _stored(settings, dim, seed, scope)
    ]
    by_dim = {dim: [each for each in fits if each.dim == dim] for dim in scope.dims}
    shown = scope.sizes[-1::-2][::-1]
    return Result(
        name=NAME,
        title="Theorem 4: the number of samples for an excess risk ε, heat equation with Gaussian",
        columns=(
            *("d", "parameters", "E V(Y given Λ)", "best constant"),
            *(f"s = {s:,}" for s in shown),
            "exponent of s",
            *(f"s for ε = {eps:g}" for eps in TOLERANCES),
        ),
        rows=[
            *(_row(by_dim[dim], shown) for dim in scope.dims),
            _last_row(fits, len(shown)),
        ],
        scale=FULL if settings.full else _scale(scope),
        notes=tuple(_notes(fits, scope)),
        data=_data(fits, by_dim) | {"steps": scope.steps},
        figure=draw(fits),
    )


def _data(fits: list[Fit], by_dim: dict[int, list[Fit]]) -> dict[str, Any]:
    slopes = {dim: exponent(group) for dim, group in by_dim.items()}
    growths = {eps: growth(fits, eps) for eps in TOLERANCES}
    return {
        "fits": [asdict(each) for each in fits],
        "exponents of s": [{"dim": dim, **s._asdict()} for dim, s in slopes.items() if s],
        "exponents of d": [
            {"eps": eps, "dims": dims, **slope._asdict()}
            for eps, (slope, dims) in growths.items()
            if slope
        ],
    }


def choose_scope(settings: Settings) -> Scope:
    """The full one, or the scaled one with as many steps as fit the budget."""
    if settings.full:
        return FULL_SCOPE

    def compute() -> int:
        settings.announce("timing a step")
        start = time.perf_counter()
        setup, step = map(sum, zip(*map(_time, SCALED_SCOPE.dims), strict=True))
        left = settings.budget - (time.perf_counter() - start)
        steps = SAFETY * (left / len(settings.seeds) - setup) / step
        return max(1, min(SCALED_SCOPE.steps, int(steps)))

    key = f"{NAME} steps {settings.budget:g} {settings.seeds} {SCALED_SCOPE}"
    return SCALED_SCOPE._replace(steps=settings.store.once(key, compute))


def _time(dim: int, steps: int = 50) -> tuple[float, float]:
    """Seconds of a training besides its steps, and of one step; the first call warms up."""
    clock = []
    for number in (1, 1, 1 + steps):
        clock.append(time.perf_counter())
        fit(dim, SCALED_SCOPE.sizes, 0, number)
    _, setup, total = (b - a for a, b in itertools.pairwise([*clock, time.perf_counter()]))
    return setup, max(1e-4, (total - setup) / steps)


def _stored(settings: Settings, dim: int, seed: int, scope: Scope) -> list[Fit]:
    def compute() -> list[dict[str, Any]]:
        settings.announce(f"d = {dim}, seed {seed}")
        return [asdict(each) for each in fit(dim, scope.sizes, seed, scope.steps)]

    key = f"{NAME} d={dim} seed={seed} {scope.sizes} {scope.steps} {FACTOR} {HIDDEN}"
    return [Fit(**each) for each in settings.store.once(key, compute)]


@styled
def draw(fits: list[Fit]) -> Figure:
    """Excess risk against s, a line a dimension; s(d, ε) against d."""
    figure, (left, right) = panels(1, 2, panel=(5.2, 4.4))
    _draw_risks(left, fits)
    _draw_needs(right, fits)
    return figure


def _draw_needs(axes: Axes, fits: list[Fit]) -> None:
    """Every seed a point, the dimensions of the fit joined."""
    axes.set(xlabel="d", ylabel="samples s(d, ε)", xscale="log", yscale="log")
    dims, sizes = _values(fits)
    for number, eps in enumerate(TOLERANCES):
        slope, fitted = growth(fits, eps)
        found, colour = needs(fits, eps), PALETTE[number]
        points = [(d, n.size) for d in fitted for n in found[d].values()]
        label = f"ε = {eps:g}" + (f": exponent of d {slope}" if slope else "")
        axes.plot(*zip(*points, strict=True), "o", ms=4, color=colour) if points else None
        middle = [typical(found[dim]).size for dim in fitted]
        axes.plot(fitted, middle, color=colour, label=label)
    top = [4.0 * sizes[0] * (dim / dims[0]) ** BOUND for dim in dims]
    axes.plot(dims, top, "k--", label="slope 2: Theorem 4 up to logarithms")
    ticks = [dim for dim in dims if dim in (1, 2, 5, 10, 20)]
    axes.set_xticks(ticks, [f"{tick}" for tick in ticks])
    axes.minorticks_off()
    axes.legend(fontsize=9)


def _draw_risks(axes: Axes, fits: list[Fit]) -> None:
    dims, sizes = _values(fits)
    colours = colormaps["viridis"].resampled(len(dims) + 1)
    for number, dim in enumerate(dims):
        groups = [_excesses(fits, dim, size) for size in sizes]
        middle = [mean(g) for g in groups]
        spread = [over_seeds(g).error or 0.0 for g in groups]
        label = f"d = {dim}" if dim in dims[:: -(-len(dims) // MOST_LABELS)] else None
        axes.errorbar(sizes, middle, spread, marker="o", ms=3, color=colours(number), label=label)
    top = 4.0 * max(each.excess for each in fits)
    bound = [top * (size / sizes[0]) ** -0.5 for size in sizes]
    axes.plot(sizes, bound, "--", color=BLACK, label="slope −1/2: Theorem 4")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.03 * min(each.excess for each in fits))  # room for the legend
    axes.set(xlabel="samples s", ylabel=r"excess risk $\|\hat\Phi - \bar u\|^2$")
    axes.legend(fontsize="small", ncols=2, loc="lower left")


def _values(fits: list[Fit]) -> tuple[list[int], list[int]]:
    """The dimensions and the sample sizes."""
    return sorted({each.dim for each in fits}), sorted({each.size for each in fits})


def _excesses(fits: Sequence[Fit], dim: int, size: int) -> list[float]:
    return [each.excess for each in fits if (each.dim, each.size) == (dim, size)]


def noise(fits: Sequence[Fit]) -> float:
    """E V(Y | Λ): the empirical risk of ū, on the largest samples."""
    largest = max(each.size for each in fits)
    return mean(each.truth for each in fits if each.size == largest)


def _row(fits: list[Fit], shown: Sequence[int]) -> tuple[str, ...]:
    (dim,), _ = _values(fits)
    constant = mean(each.constant for each in fits)
    return (
        *(str(dim), f"{parameters(dim):,}", f"{noise(fits):.2g}", f"{constant:.2g}"),
        *(_with_error(_excesses(fits, dim, size)) for size in shown),
        str(exponent(fits) or "–"),
        *(_need(fits, eps, constant) for eps in TOLERANCES),
    )


def _with_error(values: Sequence[float]) -> str:
    found = over_seeds(values)
    return f"{found.value:.2g}" + ("" if found.error is None else f" ± {found.error:.1g}")


def _need(fits: list[Fit], eps: float, constant: float) -> str:
    (by_seed,) = needs(fits, eps).values()
    return str(typical(by_seed)) if eps <= LEARNED * constant else "–"


def _last_row(fits: list[Fit], count: int) -> tuple[str, ...]:
    slopes = [growth(fits, eps)[0] for eps in TOLERANCES]
    sizes = [loglog_slope(*_by_dim(fits, of)) for of in (parameters, None)]
    cells = [f"{size:.2f}" if size is not None else "–" for size in sizes]
    return ("exponent of d", *cells, *[""] * (count + 2), *(str(s or "–") for s in slopes))


def _by_dim(fits: list[Fit], of: Any) -> tuple[list[int], list[float]]:
    """A number for each d: `of` it, or the variance of the labels."""
    dims, _ = _values(fits)
    return dims, [of(d) if of else noise([e for e in fits if e.dim == d]) for d in dims]


def _scale(scope: Scope) -> str:
    sizes = f"s up to {scope.sizes[-1]:,} in place of {FULL_SCOPE.sizes[-1]:,}"
    dims = f"d = {', '.join(map(str, scope.dims))} in place of all up to {FULL_SCOPE.dims[-1]}"
    return f"{dims}, {sizes}, {scope.steps:,} steps in place of {FULL_SCOPE.steps:,}."


def _notes(fits: list[Fit], scope: Scope) -> list[str]:
    seeds = len({each.seed for each in fits})
    return [
        f"Networks with {HIDDEN} hidden layers of {FACTOR}(d + 2) ReLU neurons, clipped to [0, 1], "
        f"and {scope.steps:,} steps of AdamW on the first s of a sample drawn once a seed. The "
        "excess risk ‖Φ̂ − ū‖² is measured against the closed form on fresh inputs. s for ε is the "
        "least s from which on the excess risk is at most ε, interpolated between the sizes tried; "
        f"– where ε is above {LEARNED:g} of the best constant's risk. All errors are standard "
        f"errors over {seeds} seeds: samples of one seed are nested, so exponents are fitted for "
        "each seed by itself.",
        _about_theorem(fits),
        _about_growth(fits),
        _about_minimum(fits),
    ]


def _about_theorem(fits: list[Fit]) -> str:
    ratios = [
        each.size / (dim / eps) ** 2
        for eps in TOLERANCES
        for dim in growth(fits, eps)[1]
        for each in needs(fits, eps)[dim].values()
    ]
    kept = f"at most {max(ratios):.0e} (d/ε)²" if ratios else "not reached"
    slopes = [exponent([e for e in fits if e.dim == dim]) for dim in _values(fits)[0]]
    values = [slope.value for slope in slopes if slope]
    range_ = f"{max(values):.2f} to {min(values):.2f}" if values else "–"
    return (
        "**The theorem** says that s ~ (d/ε)² polylog(d/ε) samples are enough, with a constant and "
        "a polynomial it does not give. It is an upper bound; it does not say that so many are "
        f"needed. Here s was {kept}. Where s is at least the number of parameters, the excess risk "
        f"falls as s to the power {range_}; the bound's exponent is −0.5."
    )


def _about_growth(fits: list[Fit]) -> str:
    found = [(eps, *growth(fits, eps)) for eps in TOLERANCES]
    parts = [f"{s} (ε = {e:g}, d = {d[0]} to {d[-1]})" for e, s, d in found if s]
    faster = any(s.value - 2 * (s.error or 0.0) > BOUND for _, s, _ in found if s)
    verdict = "**not shown** for these d" if faster else "kept for these d"
    dims, _ = _values(fits)
    constants = [_ratio(fits, dim) for dim in (dims[0], dims[-1])]
    least = [
        each.excess * each.size / (parameters(dim) * noise([e for e in fits if e.dim == dim]))
        for dim in dims
        for each in fits
        if each.dim == dim and each.size >= parameters(dim)
    ]
    times = f"{min(least):.1f} to {max(least):.1f} times" if least else "of the order of"
    return (
        f"**Growth with d.** At a fixed ε, s grows as d to the power {'; '.join(parts) or '–'}. "
        f"The bound's exponent 2 is {verdict}. The excess risk is {times} E V(Y given Λ) · "
        "parameters / s, the order of least squares, and both factors grow with d (last row). The "
        "variance of a label in [0, 1] is at most 1/4, so its growth must end; the exponent of the "
        "number of parameters tends to 2. The smallest constant C in ‖Φ̂ − ū‖² ≤ C d s^(−1/2) is "
        f"{constants[0]:.1e} at d = {dims[0]} and {constants[1]:.1e} at d = {dims[-1]}"
        + (": a bound linear in d is not shown." if constants[1] > constants[0] else ".")
    )


def _ratio(fits: list[Fit], dim: int) -> float:
    return max(e.excess * math.sqrt(e.size) / dim for e in fits if e.dim == dim)


def _about_minimum(fits: list[Fit]) -> str:
    minimal = [each for each in fits if each.risk <= each.truth]
    others = [each.risk / each.truth - 1.0 for each in fits if each.risk > each.truth]
    rest = f", and at most {max(others):.1%} larger in the others, {UNFINISHED}" if others else "."
    largest = max(each.largest for each in fits)
    return (
        "**Minimisers.** The proof asks that the empirical risk be no larger than that of the best "
        f"network. It was no larger than that of ū in {len(minimal)} of {len(fits)} trainings{rest}"
        f" The theorem's parameters are bounded by a constant; the largest here is {largest:.1f}. "
        "Its networks are deeper, O(polylog(d/ε)) layers in place of "
        f"{HIDDEN}."
    )
