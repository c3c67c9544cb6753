"""Figures of what a solution answers."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from feynkac.analysis.calibration import Calibration
from feynkac.analysis.error_map import ErrorMap, Profile
from feynkac.analysis.observations import Problem
from feynkac.analysis.posterior import Posterior
from feynkac.analysis.uncertainty import SobolIndices, Uncertainty
from feynkac.plotting.style import BLACK, BLUE, GREY, SKY, VERMILION, panels, styled, symbol

MOST_BARS = 12
MOST_COLUMNS = 3


@styled
def calibration(problem: Problem, found: Calibration) -> Figure:
    """Observed against fitted values, and the residuals."""
    figure, (left, right) = panels(1, 2, panel=(4.6, 4.0))
    fitted = problem.values + found.residuals
    ends = [min(fitted.min(), problem.values.min()), max(fitted.max(), problem.values.max())]
    left.plot(ends, ends, color=GREY, lw=1.2, label="equal")
    left.errorbar(fitted, problem.values, problem.noise, fmt="o", label="observations")
    left.set(xlabel="fitted value", ylabel="observed value", title="Fit")
    left.legend()
    right.axhline(0.0, color=BLACK, lw=0.8)
    right.errorbar(range(1, len(fitted) + 1), found.residuals, problem.noise, fmt="o")
    right.xaxis.set_major_locator(MaxNLocator(integer=True))
    right.set(xlabel="number of the observation", ylabel="fitted − observed", title="Residuals")
    entries = zip(found.labels, found.estimate, found.std, strict=True)
    figure.suptitle(",  ".join(f"{symbol(n)} = {v:.4g} ± {s:.2g}" for n, v, s in entries))
    return figure


@styled
def posterior(found: Posterior, fit: Calibration) -> Figure:
    """Marginals on the diagonal, pairs below it; lines mark the best fit."""
    size = len(found.labels)
    figure, grid = panels(size, size, panel=(2.7, 2.5), sharex="col")
    for place, axes in enumerate(grid):
        i, j = divmod(place, size)
        if j > i:
            axes.axis("off")
            continue
        _draw_samples(axes, found.samples, i, j)
        axes.axvline(fit.estimate[j], color=VERMILION, lw=1.2)
        if i != j:
            axes.axhline(fit.estimate[i], color=VERMILION, lw=1.2)
        if i == size - 1:
            axes.set_xlabel(symbol(found.labels[j]))
        if j == 0 and i > 0:
            axes.set_ylabel(symbol(found.labels[i]))
    figure.suptitle(f"Posterior from {len(found.samples):,} samples; red lines: best fit")
    return figure


def _draw_samples(axes: Axes, samples: np.ndarray, i: int, j: int) -> None:
    """One variable's histogram, or that of a pair."""
    axes.grid(False)
    if i != j:
        axes.hist2d(samples[:, j], samples[:, i], 50, cmap="Blues")
        return
    axes.hist(samples[:, j], 50, density=True, color=SKY)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)


@styled
def uncertainty(found: Uncertainty) -> Figure:
    """The density of u, its mean and quantiles."""
    figure, (axes,) = panels(panel=(6.0, 4.0))
    edges, heights = found.density
    axes.stairs(heights, edges, fill=True, color=SKY)
    axes.axvline(found.mean.value, color=BLACK, label=f"mean {found.mean.value:.4g}")
    places = [figure.value for figure in found.quantiles.values()]
    for place in places:
        axes.axvline(place, color=GREY, ls="--", lw=1.0)
    above = axes.secondary_xaxis("top")
    above.set_xticks(places, [f"{100 * q:g} %" for q in found.quantiles], fontsize=9, rotation=60)
    above.set_xlabel("quantile")
    axes.set(xlabel="u", ylabel="density")
    axes.grid(False)
    axes.legend()
    return figure


@styled
def sobol_indices(found: SobolIndices) -> Figure:
    """Bars of first-order and total indices, the largest on top."""
    names = sorted(found.total, key=lambda name: -found.total[name].value)[:MOST_BARS]
    figure, (axes,) = panels(panel=(6.5, 1.5 + 0.42 * len(names)))
    place = np.arange(len(names))
    for shift, label, colour, shares in (
        (-0.2, "alone", SKY, found.first),
        (0.2, "with interactions", BLUE, found.total),
    ):
        values, errors = ([getattr(shares[n], k) for n in names] for k in ("value", "se"))
        axes.barh(place + shift, values, 0.38, color=colour, label=label)
        axes.errorbar(values, place + shift, xerr=errors, fmt="none", color=BLACK, lw=1.0)
    axes.set_yticks(place, [symbol(name) for name in names])
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    axes.axvline(0.0, color=BLACK, lw=0.8)
    axes.set(xlabel="share of the variance of u", title="Sobol' indices")
    if more := len(found.total) - len(names):
        axes.annotate(f"and {more} smaller ones", (0.98, 0.04), None, "axes fraction", ha="right")
    axes.legend(loc="center right")
    return figure


@styled
def error_map(found: ErrorMap) -> Figure:
    """Mean error along each scalar variable, with its standard error."""
    columns = min(MOST_COLUMNS, len(found.profiles))
    if len(found.profiles) == MOST_COLUMNS + 1:
        columns = 2  # two rows of two, not three and one
    figure, grid = panels(-(-len(found.profiles) // columns), columns, sharey=True)
    for axes, (name, profile) in zip(grid, found.profiles.items(), strict=False):
        _draw_profile(axes, profile)
        axes.axhline(found.mean.value, color=VERMILION, lw=1.2, label="mean over the domain")
        axes.axhline(found.noise, ls="--", lw=1.2, color=GREY, label="noise of one estimate")
        axes.set(xlabel=symbol(name))
    for axes in grid[len(found.profiles) :]:
        axes.axis("off")
    for axes in grid[::columns]:
        axes.set(ylabel="mean |Φ − u| / (1 + |u|)", ylim=(0.0, None))
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    mean = found.mean
    figure.suptitle(f"L1 = {mean.value:.2g} ± {mean.se:.1g} at {found.inputs} certified inputs")
    return figure


def _draw_profile(axes: Axes, profile: Profile) -> None:
    """A bar per bin, as wide as the bin."""
    edges = np.array(profile.edges)
    axes.stairs(np.nan_to_num(profile.mean), edges, fill=True, color=SKY, label="mean of a bin")
    axes.errorbar((edges[:-1] + edges[1:]) / 2, profile.mean, profile.se, fmt="none", color=BLACK)
    axes.margins(x=0.0)
    axes.grid(False, axis="x")
