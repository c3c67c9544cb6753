r"""Figure 9: what a small error costs as the dimension grows (paper, Section A.4).

    cost(d) = parameters · mean over the seeds of the steps until L1 ≤ 10⁻²,    d² + d + 1 inputs

on the heat equation with paraboloid initial condition. No curse of dimensionality means that the
cost is a power of the number of inputs: a line in log-log. The steps until a looser error
come from the same trainings. The authors' own steps are in their repository.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import mean
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from feynkac.benchmarks.dimensions import Point, loglog_slope, reach
from feynkac.families.models.heat_paraboloid import HeatParaboloid
from feynkac.files import make_folder
from feynkac.methods.paper import column
from feynkac.plotting.style import BLUE, GREY, VERMILION, panels, styled
from feynkac.reproduction.error_tables import spread
from feynkac.reproduction.published import AUTHORS, FIGURE_9_STEPS, NETWORK_NOTE
from feynkac.reproduction.result import FULL, Result
from feynkac.reproduction.settings import Settings

NAME = "figure-9"
TARGET, LOOSE = 0.01, 0.03
OWNERS = {"authors": "the authors'", "paper": "the paper's, here", "fast": "ours"}
COLOURS = {"authors": GREY, "paper": BLUE, "fast": VERMILION}
FIRST = {"authors": 1, "paper": 1, "fast": 3}
"""Where a slope begins: below d = 3 ours has another optimiser and a smaller network."""


@dataclass(frozen=True)
class Plan:
    """How one method is trained."""

    dims: tuple[int, ...]
    every: int
    """Steps between two measurements of the error."""
    target: float = TARGET
    """The error at which a training ends."""
    training: dict[str, Any] = field(default_factory=dict)
    """What differs from the method's own settings."""


FULL_PLANS = {
    "paper": Plan(tuple(range(1, 16)), every=250),
    "fast": Plan((*range(1, 16), 20, 30, 50), every=5),
}
SCALED_PLANS = {
    "paper": Plan(tuple(range(1, 16)), every=25, target=LOOSE, training={"batch_size": 2**10}),
    "fast": FULL_PLANS["fast"],
}


def run(settings: Settings) -> Result:
    """Train until the error is reached, at each dimension and for each seed; fit the slopes."""
    whole = {method: at_full_scale(method, settings) for method in FULL_PLANS}
    found = {method: train_all(method, settings) for method in whole}
    scale = _scale(settings, [method for method in whole if not whole[method]])
    records = {method: _record(found[method]) for method in found}
    return present({"scale": scale, "seeds": settings.seeds, **records})


def present(data: Mapping[str, Any]) -> Result:
    """The page of given numbers, the authors' beside them."""
    found = {method: _read(data[method]["points"]) for method in FULL_PLANS if method in data}
    shown = {"authors": authors_study(), **found}
    return Result(
        name=NAME,
        title="Figure 9: cost to reach an L1 error of 0.01, heat equation with paraboloid",
        columns=_columns(),
        rows=[_row(method, points) for method in shown for points in shown[method]],
        scale=data["scale"],
        notes=(*_notes(found), *_comparison(shown), NETWORK_NOTE),
        data=dict(data) | {"authors": _record(shown["authors"])},
        figure=draw(shown),
        seeds=tuple(data["seeds"]) if "seeds" in data else None,
    )


def _read(records: Sequence[Mapping[str, Any]]) -> list[list[Point]]:
    """What `_record` wrote down, by dimension."""
    points = [Point(**record) for record in records]
    return [list(group) for _, group in itertools.groupby(points, key=lambda point: point.dim)]


def authors_study() -> list[list[Point]]:
    """The authors' trainings by dimension, as their repository records them."""
    return [
        [
            Point(dim, _inputs(dim), count_parameters(dim), steps, math.nan, ((steps, TARGET),))
            for steps in FIGURE_9_STEPS[dim]
        ]
        for dim in FIGURE_9_STEPS
    ]


def _inputs(dim: int) -> int:
    return dim * dim + dim + 1


def count_parameters(dim: int) -> int:
    """Of the paper's network for `dim` dimensions.

    Example:
        >>> count_parameters(1), count_parameters(10)
        (2140, 2380732)
    """
    with torch.device("meta"):
        network = column(HeatParaboloid(dim=dim)).architecture.build(_inputs(dim))
    return sum(parameter.numel() for parameter in network.parameters())


def at_full_scale(method: str, settings: Settings) -> bool:
    """Whether that was asked for, or has been done for the paper's dimensions."""
    return _asked(method, settings) or len(_done(method, settings)) >= len(FULL_PLANS["paper"].dims)


def _asked(method: str, settings: Settings) -> bool:
    return settings.full and method in settings.methods


def _done(method: str, settings: Settings) -> list[int]:
    """The dimensions that were trained at full scale with all seeds."""
    plan, full = FULL_PLANS[method], replace(settings, full=True)
    return [
        dim
        for dim in plan.dims
        if all(settings.store.knows(_key(method, dim, seed, plan, full)) for seed in settings.seeds)
    ]


def most_steps(method: str, dim: int) -> int:
    """After which a training ends: the paper's number, or for ours one that grows with d.

    Example:
        >>> most_steps("fast", 10), most_steps("fast", 50)
        (400, 1500)
    """
    return column(HeatParaboloid()).steps if method == "paper" else max(400, 30 * dim)


def train_all(method: str, settings: Settings) -> list[list[Point]]:
    """For each dimension the points of all seeds; scaled down, as far as the time goes."""
    whole = at_full_scale(method, settings)
    plan = (FULL_PLANS if whole else SCALED_PLANS)[method]
    dims = _done(method, settings) if whole and not _asked(method, settings) else plan.dims
    left = math.inf if whole else settings.budget / len(FULL_PLANS)
    settings = replace(settings, full=whole)
    study: list[list[Point]] = []
    for dim in dims:
        study.append([])
        for number, seed in enumerate(settings.seeds):
            limit = left / (len(settings.seeds) - number)
            study[-1].append(train(method, dim, seed, plan, limit, settings))
            left -= study[-1][-1].seconds
        if left <= 0.0:
            break
    return study


def train(method: str, dim: int, seed: int, plan: Plan, limit: float, settings: Settings) -> Point:
    """One training, for at most `limit` seconds, or what the store has of it."""
    checkpoint = settings.store.folder / f"{_cell(method, dim, seed)}.safetensors"

    def compute() -> dict[str, Any]:
        settings.announce(f"{OWNERS[method]}: d = {dim}, seed {seed}")
        make_folder(settings.store.folder)
        point = reach(
            HeatParaboloid(dim=dim),
            plan.target,
            seed,
            most_steps(method, dim),
            plan.every,
            method=method,
            limit=limit,
            checkpoint=checkpoint if settings.full else None,
            report=settings.report,
            **plan.training,
        )
        return asdict(point)

    key = _key(method, dim, seed, plan, settings)
    return Point(**settings.store.once(key, compute, keep=settings.full))


def _cell(method: str, dim: int, seed: int) -> str:
    return f"{NAME}-{method}-d{dim}-seed{seed}"


def _key(method: str, dim: int, seed: int, plan: Plan, settings: Settings) -> str:
    effort = FULL if settings.full else f"{settings.budget:g} {settings.seeds}"
    return f"{_cell(method, dim, seed)} {effort} {plan.every} {plan.target} {plan.training}"


def steps_to(points: Sequence[Point], target: float) -> list[int] | None:
    """Steps of each seed until `target`; None if one of them did not reach it."""
    steps = [step for point in points if (step := point.first(target)) is not None]
    return steps if len(steps) == len(points) else None


def costs(study: Sequence[Sequence[Point]], target: float) -> list[tuple[int, float]]:
    """Number of inputs and parameters × mean steps, where all seeds reached `target`."""
    return [
        (points[0].inputs, points[0].parameters * mean(steps))
        for points in study
        if (steps := steps_to(points, target))
    ]


def slope(study: Sequence[Sequence[Point]], target: float, least_dim: int = 1) -> float | None:
    """The exponent of the number of inputs in the cost, over dimensions from `least_dim` on."""
    pairs = costs([points for points in study if points[0].dim >= least_dim], target)
    return loglog_slope([inputs for inputs, _ in pairs], [cost for _, cost in pairs])


@styled
def draw(found: dict[str, list[list[Point]]]) -> Figure:
    """Cost against inputs, and the same log-log, which the paper has as an inset."""
    figure, grid = panels(1, 2, panel=(5.2, 4.4))
    for axes, scale in zip(grid, ("linear", "log"), strict=True):
        axes.set(xscale=scale, yscale=scale, xlabel="inputs d² + d + 1")
        axes.xaxis.set_minor_formatter(NullFormatter())
        for method, target in itertools.product(found, (TARGET, LOOSE)):
            if costs(found[method], target) and (method, target) != ("authors", LOOSE):
                _draw_line(axes, method, target, found[method])
    grid[0].set(ylabel="parameters × mean steps")
    if grid[0].lines:
        lines = grid[0].get_legend_handles_labels()
        figure.legend(*lines, loc="outside lower center", ncols=2)
    return figure


def _draw_line(axes: Axes, method: str, target: float, study: list[list[Point]]) -> None:
    exponent = slope(study, target, FIRST[method])
    fitted = "" if exponent is None else f": slope {exponent:.2f} from d = {FIRST[method]}"
    axes.plot(
        *zip(*costs(study, target), strict=True),
        "o-" if target == TARGET else "o:",
        color=COLOURS[method],
        fillstyle="full" if target == TARGET else "none",
        ms=4,
        label=f"{OWNERS[method]}, L1 ≤ {target:g}{fitted}",
    )


def _columns() -> tuple[str, ...]:
    steps = (f"steps to {TARGET:g}", "parameters × steps", f"steps to {LOOSE:g}")
    return ("method", "d", "inputs", "parameters", *steps, "last L1", "s")


def _row(method: str, points: list[Point]) -> tuple[str, ...]:
    one, steps = points[0], steps_to(points, TARGET)
    return (
        OWNERS[method],
        str(one.dim),
        str(one.inputs),
        str(one.parameters),
        _steps_text(steps),
        f"{one.parameters * mean(steps):.2e}" if steps else "–",
        *(_measured(points) if method != "authors" else ("–",) * 3),
    )


def _measured(points: list[Point]) -> tuple[str, str, str]:
    """What the authors' records are not asked for."""
    return (
        _steps_text(steps_to(points, LOOSE)),
        spread([p.curve[-1][1] for p in points], 4) if all(p.curve for p in points) else "–",
        spread([p.seconds for p in points], 1),
    )


def _steps_text(steps: list[int] | None) -> str:
    return "not reached" if steps is None else spread(steps, 0)


def _scale(settings: Settings, scaled: list[str]) -> str:
    if not scaled:
        return FULL
    seconds = f"{settings.budget / len(FULL_PLANS):.0f} s"
    parts = [f"{seconds} for {OWNERS[method]}, for as many dimensions as fit" for method in scaled]
    if "paper" in scaled:
        plan, full = SCALED_PLANS["paper"], FULL_PLANS["paper"]
        batch, whole = plan.training["batch_size"], column(HeatParaboloid()).batch_size
        parts.append(f"the paper's method with batches of {batch:,} in place of {whole:,}")
        parts.append(f"until L1 ≤ {plan.target:g} in place of {full.target:g}")
        parts.append(f"measured every {plan.every} steps in place of {full.every}")
    return ", ".join(parts) + "."


def _notes(found: dict[str, list[list[Point]]]) -> list[str]:
    notes = [
        "A training counts as many steps as it took until L1, measured on 4,096 fresh inputs, was "
        "at most the target; the mean is over the seeds, and left out if one of them did not get "
        "there.",
        f"The paper gives no numbers, only the figure. The authors' steps are from {AUTHORS}: four "
        "seeds at batches of 131,072, the error measured every 250 steps.",
    ]
    for method, target in itertools.product(found, (TARGET, LOOSE)):
        if (exponent := slope(found[method], target, FIRST[method])) is not None:
            power = f"grows as inputs^{exponent:.2f} from d = {FIRST[method]} on"
            notes.append(f"{OWNERS[method].capitalize()}: the cost of L1 ≤ {target:g} {power}.")
    if "fast" in found and (exponent := slope(found["fast"], TARGET)) is not None:
        power = f"from d = 1 on it would be inputs^{exponent:.2f}"
        notes.append(f"In d = 1, 2 ours uses Gauss–Newton and a smaller network; {power}.")
    return notes + [_end(method, found[method]) for method in found]


def _comparison(shown: Mapping[str, list[list[Point]]]) -> list[str]:
    """The authors' slope, and their cost beside ours at the paper's dimension."""
    theirs, exponent = shown["authors"], slope(shown["authors"], TARGET)
    power = (
        f"The authors': the cost of L1 ≤ {TARGET:g} grows as inputs^{exponent:.2f} from d = 1 on."
    )
    ours = dict(costs(shown.get("fast", []), TARGET)).get(_inputs(10))
    if ours is None:
        return [power]
    ratio = dict(costs(theirs, TARGET))[_inputs(10)] / ours
    steps = steps_to(next(points for points in theirs if points[0].dim == 10), TARGET) or [0]
    return [
        power,
        f"In d = 10 the authors took {mean(steps):,.0f} steps, and parameters × steps are "
        f"{ratio:,.0f} times ours; a step of theirs has one path per input, one of ours many.",
    ]


def _end(method: str, study: list[list[Point]]) -> str:
    """The last dimension, and whether both errors were reached up to there."""
    last = study[-1][0].dim
    missed = {
        target: [str(points[0].dim) for points in study if steps_to(points, target) is None]
        for target in (TARGET, LOOSE)
    }
    texts = [f"{target:g} in d = {', '.join(dims)}" for target, dims in missed.items() if dims]
    text = f"not all seeds reached {' and '.join(texts)}" if texts else "all seeds reached both"
    return f"{OWNERS[method].capitalize()}, trained in d = {study[0][0].dim} … {last}: {text}."


def _record(study: list[list[Point]]) -> dict[str, Any]:
    return {
        "points": [_plain(point) for points in study for point in points],
        "slopes": {f"{target:g}": slope(study, target) for target in (TARGET, LOOSE)},
        "slopes_from_3": {f"{target:g}": slope(study, target, 3) for target in (TARGET, LOOSE)},
    }


def _plain(point: Point) -> dict[str, Any]:
    """JSON knows no NaN; the authors' seconds are not ours."""
    return asdict(point) | ({"seconds": None} if math.isnan(point.seconds) else {})
