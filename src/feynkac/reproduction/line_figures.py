r"""Figures 3–8: price and derivatives of Black–Scholes along a line  (paper, Sections 3.1, A.3).

    |∂Φ − ∂ū| / (1 + |∂ū|)   or ∂Φ beside ∂ū,   mean ± standard deviation over the seeds,

at σ = 0.35, K = 11, along x at t = 0.5 or along t at x = 9.5. The paper shows price and Vega;
Delta, Theta and Gamma are added. A ReLU network has no Gamma: it is zero almost everywhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from feynkac.benchmarks.demo_figure import closed_value
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.plotting.style import BLACK, BLUE, VERMILION, panels, styled, symbol
from feynkac.reproduction.error_tables import short_spread, times
from feynkac.reproduction.result import FULL, Result
from feynkac.reproduction.settings import METHOD_NAMES, METHODS, Settings
from feynkac.reproduction.trainings import train_black_scholes
from feynkac.solution import Solution

POINTS = 101
QUANTITIES = ("price", "delta", "vega", "theta", "gamma")
COLOURS = {"paper": BLUE, "fast": VERMILION}
FLAT = "gamma"
"""What a ReLU network does not have."""


@dataclass(frozen=True)
class View:
    """What a figure of the paper shows."""

    name: str
    along: Literal["x", "t"]
    quantity: Literal["price", "vega"]
    error: bool
    """The error, or the values themselves beside the closed form's."""

    @property
    def title(self) -> str:
        """For a reader."""
        number, of = self.name.removeprefix("figure-"), "error of the " if self.error else ""
        return f"Figure {number}: {of}{self.quantity} along {self.along}, Black–Scholes"

    @property
    def panels(self) -> tuple[str, ...]:
        """The paper's quantity first."""
        return (self.quantity, "delta", "theta", "gamma")


@dataclass(frozen=True)
class Curves:
    """A quantity along the line, by seed.  Shape: found `(seeds, points)`, truth `(points,)`."""

    found: Tensor
    truth: Tensor

    @property
    def errors(self) -> Tensor:
        """Relative to 1 + |truth|.  Shape: `(seeds, points)`."""
        return (self.found - self.truth).abs() / (1.0 + self.truth.abs())


AllCurves = Mapping[str, Mapping[str, Curves]]
"""By method and quantity."""

VIEWS = (
    View("figure-3", "x", "price", error=True),
    View("figure-4", "x", "vega", error=True),
    View("figure-5", "t", "price", error=False),
    View("figure-6", "t", "vega", error=False),
    View("figure-7", "t", "price", error=True),
    View("figure-8", "t", "vega", error=True),
)


def run_view(view: View, settings: Settings) -> Result:
    """Find or train the solutions of Table 1, and evaluate them along the line."""
    settings.announce(f"{view.name}: the trainings of table-1")
    trained = {method: train_black_scholes(settings, method) for method in METHODS}
    line = make_line(view.along)
    curves = {method: evaluate(each.solutions, line) for method, each in trained.items()}
    lengths = {
        "scales": {method: each.scale for method, each in trained.items()},
        "seeds": {method: each.seeds for method, each in trained.items()},
    }
    return present_view(view, _data(view, line, curves) | lengths)


def present_view(view: View, data: Mapping[str, Any]) -> Result:
    """The page of given numbers."""
    line = make_line(view.along)
    curves = {method: _read_curves(data, method) for method in METHODS}
    scales = data.get("scales") or dict.fromkeys(METHODS, data["scale"])
    return Result(
        name=view.name,
        title=view.title,
        columns=("mean error along the line", *(METHOD_NAMES[method] for method in curves)),
        rows=[(name, *(_cell(m, name, curves[m][name]) for m in curves)) for name in QUANTITIES],
        scale=_scale(scales),
        notes=(*_notes(view, curves), *_comparison(view, curves, scales)),
        data=dict(data),
        figure=draw(view, line, curves),
    )


def _read_curves(data: Mapping[str, Any], method: str) -> dict[str, Curves]:
    """What `_data` wrote down."""
    return {
        name: Curves(
            found=torch.tensor(data[method][name]["found"], dtype=torch.float64),
            truth=torch.tensor(data["closed form"][name], dtype=torch.float64),
        )
        for name in QUANTITIES
    }


def make_line(along: str) -> dict[str, Any]:
    """The paper's inputs, one of them running through its whole interval.

    Example:
        >>> line = make_line("t")
        >>> line["x"], line["t"].shape
        (9.5, torch.Size([101]))
    """
    box = BlackScholes().domain.measures[along]
    running = torch.linspace(box.low[0], box.high[0], POINTS, dtype=torch.float64)
    return {"x": 9.5, "t": 0.5, "sigma": 0.35, "strike": 11.0} | {along: running}


def evaluate(solutions: Sequence[Solution], line: Mapping[str, Any]) -> dict[str, Curves]:
    """Every quantity of all solutions, and of the closed form."""
    family = BlackScholes()
    inputs = family.domain.join(line)
    found = [{"price": solution(**line), **solution.greeks(**line)} for solution in solutions]
    return {
        name: Curves(
            found=torch.stack([each[name] for each in found]).cpu().double(),
            truth=closed_value(family, name, inputs),
        )
        for name in QUANTITIES
    }


def _cell(method: str, name: str, curves: Curves) -> str:
    if method == "paper" and name == FLAT:
        return "– (ReLU)"
    return short_spread(curves.errors.mean(-1).tolist())


def _scale(scales: Mapping[str, str]) -> str:
    if all(scale == FULL for scale in scales.values()):
        return FULL
    parts = (
        f"{METHOD_NAMES[method]}: {scale.removesuffix('.')}" for method, scale in scales.items()
    )
    return "; ".join(parts) + "."


def _notes(view: View, curves: AllCurves) -> tuple[str, ...]:
    shown = "The error |Φ − ū| / (1 + |ū|)" if view.error else "The network's values"
    band = "above it its standard deviation" if view.error else "its standard deviation"
    fixed = "t = 0.5" if view.along == "x" else "x = 9.5"
    paper, fast = (len(curves[method][view.quantity].found) for method in METHODS)
    return (
        f"{shown} along {view.along} at {fixed}, σ = 0.35, K = 11: the line is the mean over the "
        f"seeds ({paper} of the paper's method, {fast} of the fast one), the band {band}. "
        "The reference is the closed form; all derivatives are by automatic differentiation.",
        f"The paper shows the {view.quantity}; delta, theta and gamma are shown beside it. A ReLU "
        "network's gamma is zero almost everywhere, so that of the paper's method is left out.",
    )


def _comparison(view: View, curves: AllCurves, scales: Mapping[str, str]) -> tuple[str, ...]:
    """Of both methods, where the paper's has its full scale."""
    if scales["paper"] != FULL:
        return ()
    paper, fast = (curves[method][view.quantity].errors.mean().item() for method in METHODS)
    return (
        f"Along this line the mean error of the fast method's {view.quantity} is "
        f"{times(paper / fast)} that of the paper's method as trained here.",
    )


def _data(view: View, line: Mapping[str, Any], curves: AllCurves) -> dict[str, Any]:
    by_method: dict[str, Any] = {
        method: {
            name: {"found": each.found.tolist(), "error": each.errors.mean(-1).tolist()}
            for name, each in quantities.items()
        }
        for method, quantities in curves.items()
    }
    truth = {name: each.truth.tolist() for name, each in curves["fast"].items()}
    return {view.along: line[view.along].tolist(), "closed form": truth, **by_method}


@styled
def draw(view: View, line: Mapping[str, Any], curves: AllCurves) -> Figure:
    """A panel a quantity, both methods in each."""
    figure, grid = panels(2, 2, panel=(4.5, 3.25))
    for axes, name in zip(grid, view.panels, strict=True):
        shown = {m: each[name] for m, each in curves.items() if m == "fast" or name != FLAT}
        _draw_panel(axes, view, line[view.along], shown)
        title = name if name != FLAT else f"{name} (ReLU networks have none)"
        axes.set(title=title, xlabel=symbol(view.along))
        axes.set_ylabel("error" if view.error else "value")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.suptitle(view.title)
    return figure


def _draw_panel(axes: Axes, view: View, at: Tensor, curves: Mapping[str, Curves]) -> None:
    if not view.error:
        axes.plot(at, curves["fast"].truth, color=BLACK, lw=5, alpha=0.25, label="closed form")
    for method, each in curves.items():
        values = each.errors if view.error else each.found
        mean, deviation = values.mean(0), values.std(0, correction=int(len(values) > 1))
        colour = COLOURS[method]
        axes.plot(at, mean, color=colour, lw=1.5, label=METHOD_NAMES[method])
        low = mean if view.error else mean - deviation
        axes.fill_between(at, low, mean + deviation, color=colour, alpha=0.2, lw=0)
    if view.error:
        smallest = min(float(each.errors.mean(0).quantile(0.05)) for each in curves.values())
        axes.set_yscale("log", nonpositive="mask")
        axes.set_ylim(bottom=smallest / 3)
