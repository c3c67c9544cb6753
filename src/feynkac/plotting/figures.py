"""Figures (extra `plot`). Each function draws one file and returns its path."""

import io
import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure

from feynkac.analysis.partials import greek_value
from feynkac.benchmarks.dimensions import Study
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.files import write_atomically
from feynkac.solution import Solution
from feynkac.tuning.search_report import Row, best_so_far


def draw_error_curve(history: Sequence[Mapping[str, float | int | None]], path: Path) -> Path:
    """L1 error with its standard error against seconds, and the trivial baselines."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    seconds, l1, l1_se = (_column(history, name) for name in ("seconds", "l1", "l1_se"))
    axes.errorbar(seconds, l1, l1_se, marker="o", ms=3)
    for name in ("mean_baseline", "linear_baseline"):
        if (level := history[-1][name]) is not None:
            axes.axhline(level, ls=":", color="grey")
            label = name.replace("_", " ")
            axes.annotate(label, (seconds[0], level), va="bottom", color="grey")
    axes.set(yscale="log", xlabel="seconds", ylabel="L1 error, Eq. (9)")
    return write_figure(figure, path)


def draw_price_and_greeks(solution: Solution, path: Path) -> Path:
    """Price and Greeks of a Black–Scholes solution along x and t against the closed form.

    The points are the paper's: t = 0.5 or x = 9.5, σ = 0.35, K = 11.
    """
    family = solution.family
    assert isinstance(family, BlackScholes)
    names = ["price", *family.greeks]
    figure = Figure(figsize=(16, 6), layout="constrained")
    grid = figure.subplots(2, len(names))
    fixed = {"sigma": 0.35, "strike": 11.0}
    lines: tuple[dict[str, Any], ...] = (
        {"x": torch.linspace(9.0, 10.0, 101), "t": 0.5, **fixed},
        {"x": 9.5, "t": torch.linspace(0.0, 1.0, 101), **fixed},
    )
    for row, at, variable in zip(grid, lines, ("x", "t"), strict=True):
        inputs = family.domain.join(at)
        computed = {"price": solution(**at), **solution.greeks(**at)}
        for axes, name in zip(row, names, strict=True):
            axes.plot(
                at[variable], closed_value(family, name, inputs), color="black", label="closed form"
            )
            axes.plot(at[variable], computed[name], "--", color="tab:red", label="network")
            axes.set(xlabel=variable, title=name)
    grid[0, 0].legend()
    figure.suptitle(
        "Black–Scholes put at σ = 0.35, K = 11: one network, its derivatives by autodiff"
    )
    return write_figure(figure, path)


def draw_scaling(study: Study, path: Path) -> Path:
    """Steps and cost against the number of inputs, log-log, with their slopes (Figure 9)."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    inputs = [point.inputs for point in study.reached]
    panels = (
        ("steps", [point.steps for point in study.reached], study.steps_slope),
        ("parameters × steps", [point.cost for point in study.reached], study.cost_slope),
    )
    for axes, (label, values, slope) in zip(figure.subplots(1, 2), panels, strict=True):
        axes.loglog(inputs, values, "o-", ms=4)
        title = "" if slope is None else f"slope {slope:.2f}"
        axes.set(
            xlabel="inputs 1 + d + d²", ylabel=f"{label} to L1 = {study.target:g}", title=title
        )
    return write_figure(figure, path)


def draw_search(rows: Sequence[Row], path: Path) -> Path:
    """The smallest error so far against seconds of training, each trial's last, the default's."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    times, errors = best_so_far(rows)
    axes.step(times, errors, where="post", label="best so far")
    ends = itertools.accumulate(row.last.get("seconds") or 0.0 for row in rows)
    for row, end in zip(rows, ends, strict=True):
        style = "full" if row.status == "finished" else "none"
        axes.plot(end, row.l1, "o", ms=4, color="tab:red", fillstyle=style)
        axes.annotate(str(row.number), (end, row.l1), va="bottom", color="grey", fontsize=8)
    axes.plot([], [], "o", ms=4, color="tab:red", label="a trial (hollow: stopped early)")
    if rows and math.isfinite(rows[0].l1):
        axes.axhline(rows[0].l1, ls=":", color="grey", label="default")
    axes.set(yscale="log", xlabel="seconds of training, trial after trial", ylabel="L1, Eq. (9)")
    axes.legend()
    return write_figure(figure, path)


def _column(history: Sequence[Mapping[str, float | int | None]], name: str) -> list[float]:
    return [math.nan if (value := record[name]) is None else value for record in history]


def closed_value(family: BlackScholes, name: str, inputs: torch.Tensor) -> torch.Tensor:
    """The closed form's price, or one of its Greeks by name.  Shape: `(…, dim)` → `(…,)`."""

    def u(flat: torch.Tensor) -> torch.Tensor:
        return family.closed_form(*family.domain.split(flat))

    if name == "price":
        return u(inputs).squeeze(-1)
    return greek_value(u, family.domain, family.greeks[name], inputs)


def write_figure(figure: Any, path: Path) -> Path:
    """Save `figure` atomically."""
    content = io.BytesIO()
    figure.savefig(content, dpi=130)
    write_atomically(path, content.getvalue())
    return path
