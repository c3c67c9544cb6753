r"""The catalogue's benchmark: every model trained with the defaults in the same time.

Errors are those of Eq. (9) on fresh inputs, against the closed form if there is one, otherwise
against paths with twice the steps. Each row says whether it met its target.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import mean
from typing import Any

import torch

from feynkac.analysis.rounding import error_text, figure
from feynkac.benchmarks.bench import (
    Announce,
    Report,
    Thoroughness,
    combined_error,
    yardstick_for,
)
from feynkac.benchmarks.bench_table import reference_text
from feynkac.errors import InputError
from feynkac.families.capabilities import ClosedForm
from feynkac.families.family import Family
from feynkac.families.models.bachelier import Bachelier
from feynkac.families.models.barrier import Barrier
from feynkac.families.models.black_scholes_merton import BlackScholesMerton
from feynkac.families.models.cev import Cev
from feynkac.families.models.channel import Channel
from feynkac.families.models.cir import Cir
from feynkac.families.models.digital import Digital
from feynkac.families.models.double_well import DoubleWell
from feynkac.families.models.geometric_basket import GeometricBasket
from feynkac.families.models.heston import Heston
from feynkac.families.models.multi_asset import MultiAsset
from feynkac.families.models.ornstein_uhlenbeck import OrnsteinUhlenbeck
from feynkac.families.models.rainbow import Rainbow
from feynkac.families.models.sabr import Sabr
from feynkac.families.models.spread import Spread
from feynkac.families.models.vasicek import Vasicek
from feynkac.families.payoff import Payoff
from feynkac.solution import Solution
from feynkac.solver import solve

BUDGET = 57.0  # seconds per training: a minute, minus a margin for the speed of the machine
EFFORT = Thoroughness(paths=2**11)


@dataclass(frozen=True)
class Model:
    """The training of one row, and its target error."""

    name: str
    family: Family
    target: float = 0.001


MODELS = (
    Model("ornstein-uhlenbeck", OrnsteinUhlenbeck()),
    Model("bachelier", Bachelier()),
    Model("black-scholes-merton, call", BlackScholesMerton()),
    Model("black-scholes-merton, put", BlackScholesMerton(Payoff("put"))),
    Model("digital", Digital(), 0.005),
    Model("barrier, down and out", Barrier(), 0.005),
    Model("barrier, up and out", Barrier("up"), 0.005),
    Model("cev", Cev()),
    Model("heston", Heston()),
    Model("sabr", Sabr()),
    Model("multi-asset, basket call", MultiAsset()),
    Model("multi-asset, basket put", MultiAsset(10, Payoff("put"))),
    Model("rainbow, best of", Rainbow()),
    Model("rainbow, worst of", Rainbow(payoff=Payoff("put", on="min"))),
    Model("spread", Spread()),
    Model("geometric-basket, 50 assets", GeometricBasket(), 0.002),
    Model("vasicek", Vasicek()),
    Model("cir", Cir()),
    Model("channel", Channel(), 0.005),
    Model("double-well", DoubleWell()),
)


@dataclass(frozen=True)
class SuiteRow:
    """One row of the table; means are over the seeds."""

    name: str
    family: str
    inputs: int
    """Of the network."""
    l1: float
    l1_se: float
    l1_low: float
    l1_high: float
    l1_by_seed: list[float]
    measured_on: int
    """Number of inputs."""
    reference: str
    reference_se: float
    reference_bias: float
    reference_bias_se: float
    seconds: float
    seconds_by_seed: list[float]
    scheme: str
    steps: int
    """Of the scheme."""
    target: float

    @property
    def met(self) -> bool:
        """Whether the error is at most the target."""
        return self.l1 <= self.target


@dataclass(frozen=True)
class Suite:
    """The whole table, with the versions that made it."""

    rows: tuple[SuiteRow, ...]
    seeds: int
    budget: float
    threads: int
    versions: dict[str, str]

    def record(self) -> dict[str, Any]:
        """As JSON-ready data."""
        return asdict(self) | {"rows": [asdict(row) | {"met": row.met} for row in self.rows]}

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Columns and rows."""
        columns = ("", "inputs", "L1 ± s.e.", "target", "reference", "scheme", "s")
        return columns, [_cells(row) for row in self.rows]


def _cells(row: SuiteRow) -> tuple[str, ...]:
    simulated = f"± {reference_text(row.reference_se, row.l1)} ± {row.reference_bias:.1e}"
    return (
        row.name,
        str(row.inputs),
        error_text(row.l1, row.l1_se, row.l1_low, row.l1_high),
        f"{row.target} {'met' if row.met else 'missed'}",
        row.reference if row.reference == CLOSED else simulated,
        f"{row.scheme}:{row.steps}",
        f"{row.seconds:.0f}",
    )


CLOSED, SIMULATED = "closed form", "simulated"


def choose_models(names: Sequence[str]) -> tuple[Model, ...]:
    """The rows of the named families; all of them for no name.

    Example:
        >>> [model.name for model in choose_models(["barrier"])]
        ['barrier, down and out', 'barrier, up and out']
    """
    known = dict.fromkeys(model.family.name() for model in MODELS)
    rows = {model.name for model in MODELS}
    if unknown := [name for name in names if name not in known.keys() | rows]:
        raise InputError(f"{unknown[0]!r} is not in the suite; there are: {', '.join(known)}.")
    return tuple(m for m in MODELS if not names or {m.name, m.family.name()} & set(names))


def run_suite(
    models: Sequence[Model] = MODELS,
    seeds: int = 1,
    budget: float = BUDGET,
    effort: Thoroughness = EFFORT,
    report: Report | None = None,
    announce: Announce = lambda _text: None,
) -> Suite:
    """Train each model for seeds 0 … seeds − 1 and measure it."""
    rows: list[SuiteRow] = []
    versions: dict[str, str] = {}
    for model in models:
        row, versions = run_model(model, seeds, budget, effort, report, announce)
        rows.append(row)
        announce(f"{row.name}: L1 {figure(row.l1, row.l1_se)}, target {row.target}")
    return Suite(tuple(rows), seeds, budget, torch.get_num_threads(), versions)


def run_model(
    model: Model,
    seeds: int,
    budget: float,
    effort: Thoroughness,
    report: Report | None,
    announce: Announce,
) -> tuple[SuiteRow, dict[str, str]]:
    """One row of the table, and the versions that made it."""
    solutions: list[Solution] = []
    seconds = []
    for seed in range(seeds):
        announce(f"{model.name}: training, seed {seed}")
        start = time.perf_counter()
        solutions.append(
            solve(model.family, budget=budget, seed=seed, report=report, evaluations=1)
        )
        seconds.append(time.perf_counter() - start)
    run = solutions[0].manifest.run
    yardstick = yardstick_for(model.family, run, effort)
    errors = [yardstick.measure(solution.network) for solution in solutions]
    bias, bias_se = yardstick.mean_bias()
    row = SuiteRow(
        name=model.name,
        family=model.family.name(),
        inputs=model.family.domain.dim,
        l1=mean(e.l1 for e in errors),
        l1_se=combined_error([e.l1 for e in errors], [e.l1_se for e in errors]),
        l1_low=mean(e.l1_low for e in errors),
        l1_high=mean(e.l1_high for e in errors),
        l1_by_seed=[e.l1 for e in errors],
        measured_on=len(yardstick.points),
        reference=CLOSED if isinstance(model.family, ClosedForm) else SIMULATED,
        reference_se=errors[0].reference_se,
        reference_bias=bias,
        reference_bias_se=bias_se,
        seconds=mean(seconds),
        seconds_by_seed=seconds,
        scheme=run.method.scheme.kind,
        steps=run.method.scheme.steps,
        target=model.target,
    )
    return row, solutions[0].manifest.versions
