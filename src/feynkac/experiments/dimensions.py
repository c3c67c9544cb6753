r"""No curse: what it costs to reach a given error as the dimension grows (paper, Figure 9).

    cost(d) = parameters · steps until L1 ≤ target,   fitted by  cost ∝ inputs^slope

on the heat equation with paraboloid initial condition, which has 1 + d + d² inputs.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import linear_regression
from typing import Any

import torch
from torch import Tensor

from feynkac.families.models.heat_paraboloid import HeatParaboloid
from feynkac.networks.network import Network, make_network
from feynkac.sampling.noise import make_generator
from feynkac.sampling.reference import closed_form_values
from feynkac.solver import plan_run
from feynkac.training.fitting import make_objective
from feynkac.training.loop import update
from feynkac.training.run import Run
from feynkac.training.state import State

DIMS = (*range(1, 16), 20, 30)


@dataclass(frozen=True)
class Point:
    """One dimension; `steps` and `cost` are None if the target was not reached."""

    dim: int
    inputs: int
    parameters: int
    steps: int | None
    seconds: float

    @property
    def cost(self) -> int | None:
        """Parameters × steps."""
        return None if self.steps is None else self.parameters * self.steps


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
    family: HeatParaboloid, target: float, seed: int, steps: int, every: int = 5, inputs: int = 4096
) -> Point:
    """The first of every `every` steps, out of `steps`, at which L1 on fresh inputs ≤ target."""
    run = plan_run(family, "fast", None, None, {"steps": steps, "seed": seed, "device": "cpu"})
    state = _start(run, family)
    objective = make_objective(run, family, state.network)
    points = family.domain.sample(inputs, make_generator(seed, "dimensions"))
    truth = closed_form_values(family, points)
    assert truth is not None
    met = False
    while state.step < steps and not met:
        update(state, objective, family.domain, run.training, steps)
        due = state.step % every == 0 or state.step == steps
        met = due and _l1(state.network, points, truth.value) <= target
    return Point(
        dim=family.dim,
        inputs=family.domain.dim,
        parameters=state.network.parameter_count,
        steps=state.step if met else None,
        seconds=state.seconds,
    )


def _start(run: Run, family: HeatParaboloid) -> State:
    seed = run.training.seed
    network = make_network(run.architecture, family.domain, make_generator(seed, "weights"))
    optimiser = run.training.optimiser.build(network)
    return State(network, optimiser, make_generator(seed, "training"))


@torch.no_grad()
def _l1(network: Network, points: Tensor, truth: Tensor) -> float:
    """Eq. (9)."""
    error = (network(points).double() - truth).abs() / (1.0 + truth.abs())
    return float(error.mean())
