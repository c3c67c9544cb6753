"""Figures of what a solution answers."""

import numpy as np
from matplotlib.figure import Figure

from feynkac.analysis.calibration import Calibration
from feynkac.analysis.error_map import ErrorMap
from feynkac.analysis.observations import Problem
from feynkac.analysis.posterior import Posterior
from feynkac.analysis.sweep import Sweep
from feynkac.analysis.uncertainty import SobolIndices, Uncertainty

MOST_BARS = 20


def sweep(found: Sweep) -> Figure:
    """Value and Greeks along one variable as curves, along two as maps."""
    surfaces, axes_of = found.values, found.over
    names = list(axes_of)
    columns = min(4, len(surfaces))
    rows = -(-len(surfaces) // columns)
    figure = Figure(figsize=(3.6 * columns, 3.2 * rows), layout="constrained")
    grid = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes, (name, values) in zip(grid, surfaces.items(), strict=False):
        if len(names) == 1:
            axes.plot(axes_of[names[0]], values)
            axes.set(xlabel=names[0], title=name)
        else:
            grid_of = [axis.numpy() for axis in axes_of.values()]
            image = axes.pcolormesh(*grid_of, values.numpy().T, shading="gouraud")
            figure.colorbar(image, ax=axes)
            axes.set(xlabel=names[0], ylabel=names[1], title=name)
    for axes in grid[len(surfaces) :]:
        axes.axis("off")
    fixed = ", ".join(f"{n} = {v}" for n, v in found.at.items() if np.ndim(v) == 0)
    figure.suptitle(fixed)
    return figure


def calibration(problem: Problem, found: Calibration) -> Figure:
    """Observed against fitted values, and the residuals."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    fitted = problem.values + found.residuals
    left.errorbar(fitted, problem.values, problem.noise, fmt="o", ms=3)
    ends = [min(fitted.min(), problem.values.min()), max(fitted.max(), problem.values.max())]
    left.plot(ends, ends, color="grey", lw=0.8)
    left.set(xlabel="fitted", ylabel="observed")
    right.axhline(0.0, color="grey", lw=0.8)
    right.errorbar(range(1, len(fitted) + 1), found.residuals, problem.noise, fmt="o", ms=3)
    right.set(xlabel="observation", ylabel="fitted − observed")
    entries = zip(found.labels, found.estimate, found.std, strict=True)
    figure.suptitle(", ".join(f"{n} = {v:.4g} ± {s:.2g}" for n, v, s in entries))
    return figure


def posterior(found: Posterior, fit: Calibration) -> Figure:
    """Marginals on the diagonal, pairs below it; lines mark the best fit."""
    size = len(found.labels)
    figure = Figure(figsize=(2.4 * size + 1, 2.4 * size + 0.6), layout="constrained")
    grid = figure.subplots(size, size, squeeze=False)
    for i in range(size):
        for j in range(size):
            axes = grid[i, j]
            if j > i:
                axes.axis("off")
                continue
            x = found.samples[:, j]
            axes.axvline(fit.estimate[j], color="tab:red", lw=0.8)
            if i == j:
                axes.hist(x, 50, density=True, color="tab:blue", alpha=0.7)
                axes.set_yticks([])
            else:
                y = found.samples[:, i]
                axes.hist2d(x, y, 50, cmap="Blues")
                axes.axhline(fit.estimate[i], color="tab:red", lw=0.8)
            axes.set(
                xlabel=found.labels[j] if i == size - 1 else "",
                ylabel=found.labels[i] if j == 0 and i > 0 else "",
            )
    figure.suptitle(f"posterior, {len(found.samples)} samples; red: best fit")
    return figure


def uncertainty(found: Uncertainty) -> Figure:
    """The density of u, its mean and quantiles."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    edges, heights = found.density
    axes.stairs(heights, edges, fill=True, alpha=0.6)
    axes.axvline(found.mean.value, color="black", label=f"mean {found.mean.value:.4g}")
    places = [figure.value for figure in found.quantiles.values()]
    for place in places:
        axes.axvline(place, color="grey", ls=":", lw=0.8)
    above = axes.secondary_xaxis("top")
    above.set_xticks(places, [f"{q:g}" for q in found.quantiles], fontsize=7, rotation=90)
    above.set_xlabel("quantile", fontsize=8)
    axes.set(xlabel="u", ylabel="density")
    axes.legend()
    return figure


def sobol_indices(found: SobolIndices) -> Figure:
    """Bars of first-order and total indices, the largest first."""
    names = sorted(found.total, key=lambda name: -found.total[name].value)[:MOST_BARS]
    figure = Figure(figsize=(max(6, 0.55 * len(names)), 4), layout="constrained")
    axes = figure.subplots()
    place = np.arange(len(names))
    for shift, label, shares in (
        (-0.2, "alone", found.first),
        (0.2, "with interactions", found.total),
    ):
        values, errors = ([getattr(shares[n], k) for n in names] for k in ("value", "se"))
        axes.bar(place + shift, values, 0.4, yerr=errors, label=label, error_kw={"lw": 0.8})
    axes.set_xticks(place, names, rotation=60, ha="right", rotation_mode="anchor", fontsize=8)
    more = len(found.total) - len(names)
    axes.set(ylabel="share of the variance", xlabel=f"and {more} smaller ones" if more else "")
    figure.legend(loc="outside upper right", ncols=2)
    return figure


def error_map(found: ErrorMap) -> Figure:
    """Mean error along each scalar variable, with its standard error."""
    figure = Figure(figsize=(3.4 * len(found.profiles), 3.2), layout="constrained")
    grid = figure.subplots(1, len(found.profiles), squeeze=False, sharey=True)[0]
    for axes, (name, profile) in zip(grid, found.profiles.items(), strict=True):
        middles = [(a + b) / 2 for a, b in zip(profile.edges, profile.edges[1:], strict=False)]
        axes.errorbar(middles, profile.mean, profile.se, fmt="o-", ms=3)
        axes.axhline(found.noise, ls=":", color="grey", label="noise of the estimates")
        axes.set(xlabel=name)
    grid[0].set(ylabel="mean |network − u| / (1 + |u|)")
    grid[0].legend(fontsize=7)
    mean = found.mean
    figure.suptitle(f"L1 {mean.value:.2e} ± {mean.se:.1e}, {found.inputs} certified inputs")
    return figure
