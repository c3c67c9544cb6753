r"""No curse: the cost to reach a given error as the dimension grows (paper, Figure 9).

    cost(d) = parameters · steps until L1 ≤ target,   fitted by  cost ∝ inputs^slope

on the heat equation with paraboloid initial condition, which has 1 + d + d² inputs.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import linear_regression
from typing import Any

import torch

from feynkac.families.models.heat_paraboloid import HeatParaboloid
from feynkac.methods import Method
from feynkac.preparation import make_run
from feynkac.runs.run import Run
from feynkac.sampling.generators import make_generator
from feynkac.sampling.reference import closed_form_values
from feynkac.training.checkpoint import load_checkpoint, save_checkpoint
from feynkac.training.loop import Progress, update
from feynkac.training.pace import Pace
from feynkac.training.settings import resolve_device
from feynkac.training.state import State, begin

DIMS = (*range(1, 16), 20, 30)


@dataclass(frozen=True)
class Point:
    """One dimension; `steps` and `cost` are None if the target was not reached."""

    dim: int
    inputs: int
    parameters: int
    steps: int | None
    seconds: float
    """Wall clock, including measurements."""
    curve: Sequence[tuple[int, float]] = ()
    """Pairs of a step and the L1 error measured after it."""

    @property
    def cost(self) -> int | None:
        """Parameters × steps."""
        return None if self.steps is None else self.parameters * self.steps

    def first(self, target: float) -> int | None:
        """The first measured step with L1 ≤ target, also for a looser target.

        Example:
            >>> Point(1, 3, 2140, None, 0.5, [(10, 0.4), (20, 0.1)]).first(0.2)
            20
        """
        return next((step for step, l1 in self.curve if l1 <= target), None)


@dataclass(frozen=True)
class Study:
    """All dimensions and the slopes in the number of inputs, log-log."""

    target: float
    seed: int
    points: tuple[Point, ...]

    @property
    def reached(self) -> list[Point]:
        """The points that met the target."""
        return [point for point in self.points if point.steps is not None]

    @property
    def steps_slope(self) -> float | None:
        """Of the number of steps."""
        return loglog_slope([p.inputs for p in self.reached], [p.steps or 0 for p in self.reached])

    @property
    def cost_slope(self) -> float | None:
        """Of parameters × steps."""
        return loglog_slope([p.inputs for p in self.reached], [p.cost or 0 for p in self.reached])

    def record(self) -> dict[str, Any]:
        """As JSON-ready data."""
        points = [asdict(point) | {"cost": point.cost} for point in self.points]
        slopes = {"steps_slope": self.steps_slope, "cost_slope": self.cost_slope}
        return {"target": self.target, "seed": self.seed, "points": points, **slopes}

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Columns and rows."""
        columns = ("d", "inputs", "parameters", "steps", "parameters × steps", "s")
        rows = [
            (
                str(p.dim),
                str(p.inputs),
                str(p.parameters),
                str(p.steps or "–"),
                "–" if p.cost is None else f"{p.cost:.2e}",
                f"{p.seconds:.1f}",
            )
            for p in self.points
        ]
        slopes = (_slope_text(self.steps_slope), _slope_text(self.cost_slope))
        return columns, [*rows, ("slope", "", "", *slopes, "")]


def _slope_text(slope: float | None) -> str:
    return "–" if slope is None else f"{slope:.2f}"


def loglog_slope(x: Sequence[float], y: Sequence[float]) -> float | None:
    """The least-squares exponent a of  y ∝ x^a; None for fewer than two different x.

    Example:
        >>> round(loglog_slope([1, 2, 4], [3, 12, 48]), 12)
        2.0
    """
    if len(set(x)) < 2:
        return None
    return linear_regression([math.log(v) for v in x], [math.log(v) for v in y]).slope


def run_dimensions(
    dims: Sequence[int] = DIMS,
    target: float = 1e-2,
    seed: int = 0,
    steps: int = 400,
    announce: Callable[[str], None] = lambda _text: None,
) -> Study:
    """Train at each dimension until the target is met, or for `steps` steps."""
    points = []
    for dim in dims:
        points.append(reach(HeatParaboloid(dim=dim), target, seed, steps))
        announce(f"d = {dim}: {points[-1].steps or f'not within {steps}'} steps")
    return Study(target, seed, tuple(points))


def reach(
    family: HeatParaboloid,
    target: float,
    seed: int,
    steps: int,
    every: int = 5,
    inputs: int = 4096,
    method: Method | str = "fast",
    limit: float = math.inf,
    checkpoint: Path | None = None,
    report: Callable[[Progress], None] | None = None,
    **settings: Any,
) -> Point:
    """Train until L1 on fresh inputs ≤ target, measured every `every` steps, at most `steps`.

    Args:
        family: what to solve.
        target: of Eq. (9).
        seed: of the weights, the paths and the inputs to measure on.
        steps: maximal number.
        every: steps between two measurements.
        inputs: to measure on.
        method: how.
        limit: seconds after which to stop.
        checkpoint: a file to resume from, written with each measurement and removed at the end.
        report: called after every step.
        settings: further fields of the method and of `Training`.
    """
    start = time.perf_counter()
    run = make_run(family, method, {"steps": steps, "seed": seed, **settings})
    state = _start(run, family, checkpoint)
    objective = run.method.objective(family, state.network, run.training)
    state.seconds += time.perf_counter() - start
    met = False
    while state.step < steps and not met and state.seconds < limit:
        loss = update(state, objective, family.domain, run.method.rate, Pace.of(steps))
        if due := state.step % every == 0 or state.step == steps:
            met = _measure(state, family, seed, inputs) <= target
            if checkpoint:
                save_checkpoint(state, checkpoint, run.identity)
        if report:
            record = state.history[-1] if due else None
            report(Progress(state.step, steps, loss, state.seconds, record))
    if checkpoint:
        checkpoint.unlink(missing_ok=True)
    return _point(state, family, met)


def _start(run: Run, family: HeatParaboloid, checkpoint: Path | None) -> State:
    method, device = run.method, resolve_device(run.training.device)
    state = begin(method.architecture, method.optimiser, family, run.training, device)
    if checkpoint and checkpoint.exists():
        load_checkpoint(state, checkpoint, run.identity)
    return state


@torch.no_grad()
def _measure(state: State, family: HeatParaboloid, seed: int, inputs: int) -> float:
    """Eq. (9) on the same inputs each time, added to the history of the state."""
    start = time.perf_counter()
    generator = make_generator(seed, "dimensions", device=str(state.generator.device))
    points = family.domain.sample(inputs, generator)
    truth = closed_form_values(family, points)
    assert truth is not None
    state.network.eval()
    error = (state.network(points).double() - truth.value).abs() / (1.0 + truth.value.abs())
    state.network.train()
    l1, l1_se = float(error.mean()), float(error.std()) / math.sqrt(len(error))
    state.seconds += time.perf_counter() - start
    state.history.append({"step": state.step, "l1": l1, "l1_se": l1_se})
    return l1


def _point(state: State, family: HeatParaboloid, met: bool) -> Point:
    curve = [(int(r["step"] or 0), float(r["l1"] or 0.0)) for r in state.history]
    return Point(
        dim=family.dim,
        inputs=family.domain.dim,
        parameters=state.network.parameter_count,
        steps=state.step if met else None,
        seconds=state.seconds,
        curve=curve,
    )
