r"""The trainings behind Tables 1–4 and Figures 3–8, at full scale or scaled down.

The paper's method is trained at the paper's scale where that was asked for or is found in the
store, else with fewer steps and smaller batches. The fast method has a hundredth of the paper's
time, or its share of the budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from feynkac.benchmarks.bench import Entry, Thoroughness, yardstick_for
from feynkac.methods.fast.choose_scheme import choose_scheme
from feynkac.reproduction.published import TABLES, ErrorTable
from feynkac.reproduction.result import FULL
from feynkac.reproduction.scaling import affordable_steps, describe_scale, paper_run
from feynkac.reproduction.settings import METHOD_NAMES, Settings
from feynkac.runs.artifact import WEIGHTS
from feynkac.runs.run import Run
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.solution import Solution

SEEDS = (0, 1, 2, 3)
"""The paper's."""
SCALED_EFFORT = Thoroughness(paths=2**11)


@dataclass(frozen=True)
class Trained:
    """Solutions by seed, and at what scale they were trained."""

    seeds: tuple[int, ...]
    solutions: list[Solution]
    scale: str

    @property
    def seconds(self) -> list[float]:
        """Of each training."""
        return [solution.manifest.seconds for solution in self.solutions]


def train_black_scholes(settings: Settings, method: str) -> Trained:
    """The trainings of Table 1 by one method."""
    table = TABLES[0]
    if method == "paper":
        return train_paper(table, settings)
    return train_fast(table.entries[0], table, settings)


def train_paper(table: ErrorTable, settings: Settings) -> Trained:
    """By the paper's method."""
    family, full = table.family, replace(settings, full=True)
    whole = [paper_run(full, family, seed) for seed in _seeds(settings)]
    if wanted := _at_full_scale(whole, settings, "paper"):
        return _carry_out(table, wanted, FULL, settings)
    scaled, seconds = replace(settings, full=False), settings.budget / (1 + len(table.entries))
    size: dict[str, Any] = {"batch_divisor": table.batch_divisor, "evaluations": table.evaluations}
    steps = affordable_steps(scaled, family, seconds, runs=len(settings.seeds), **size)
    runs = [paper_run(scaled, family, seed, steps, **size) for seed in settings.seeds]
    return _carry_out(table, runs, describe_scale(runs[0], family), settings)


def train_fast(entry: Entry, table: ErrorTable, settings: Settings) -> Trained:
    """By the fast method, in a hundredth of the paper's time or the budget's share of it."""
    store, wanted = settings.store, settings.full and "fast" in settings.methods
    seeds = [
        seed
        for seed in _seeds(settings)
        if (seed in settings.seeds if wanted else store.trained(entry.family, **entry.asked(seed)))
    ]
    if seeds:
        return _train_asked(entry, table, seeds, FULL, settings)
    budget = min(entry.budget, settings.budget / (1 + len(table.entries)) / len(settings.seeds))
    scale = f"{budget:.0f} s in place of {entry.budget:.0f} s"
    return _train_asked(entry, table, settings.seeds, scale, settings, budget / entry.budget)


def _train_asked(
    entry: Entry,
    table: ErrorTable,
    seeds: Sequence[int],
    scale: str,
    settings: Settings,
    share: float = 1.0,
) -> Trained:
    solutions, several = [], len(table.entries) > 1
    what = entry.name if several else METHOD_NAMES["fast"]
    for seed in seeds:
        asked = entry.asked(seed, share)
        if not settings.store.trained(entry.family, **asked):
            settings.announce(f"{table.name}: fast method, seed {seed}")
        solutions.append(
            settings.store.train(entry.family, settings.report, what, scale == FULL, **asked)
        )
    return Trained(tuple(seeds), solutions, scale)


def _seeds(settings: Settings) -> list[int]:
    return [*dict.fromkeys((*SEEDS, *settings.seeds))]


def _at_full_scale(runs: Sequence[Run], settings: Settings, method: str) -> list[Run]:
    """Those to carry out, or else those that were carried out before."""
    if settings.full and method in settings.methods:
        return [run for run in runs if run.training.seed in settings.seeds]
    return [run for run in runs if settings.store.has(run)]


def _carry_out(table: ErrorTable, runs: Sequence[Run], scale: str, settings: Settings) -> Trained:
    solutions = []
    for run in runs:
        if not settings.store.has(run):
            settings.announce(f"{table.name}: {run.method.kind} method, seed {run.training.seed}")
        method = METHOD_NAMES[run.method.kind]
        what = f"{method} ({describe_scheme(run)})" if len(table.entries) > 1 else method
        found = settings.store.solve(run, table.family, settings.report, what, scale == FULL)
        solutions.append(found)
    return Trained(tuple(run.training.seed for run in runs), solutions, scale)


def describe_scheme(run: Run) -> str:
    """For a reader."""
    scheme = run.method.scheme
    return f"{scheme.kind}, {scheme.steps} steps"


def measure(trained: Trained, entry: Entry, settings: Settings) -> list[float]:
    """L1 of each solution on the same inputs, as `feynkac bench` measures it."""
    effort = Thoroughness() if settings.full else SCALED_EFFORT
    runs = [solution.manifest.run for solution in trained.solutions]

    def compute() -> list[float]:
        settings.announce(f"{entry.name}: measuring")
        scheme = runs[0].method.scheme if entry.scheme is None else entry.scheme
        true = replace(runs[0].method, scheme=_true_scheme(entry, scheme))
        against = replace(runs[0], method=true)
        yardstick = yardstick_for(entry.family, against, effort, biased=entry.scheme is None)
        return [yardstick.measure(solution.network).l1 for solution in trained.solutions]

    weights = ", ".join(solution.manifest.files[WEIGHTS][:8] for solution in trained.solutions)
    method = runs[0].method.kind
    key = f"L1 of {entry.name}, {method} method, seeds {trained.seeds}, weights {weights}"
    return settings.store.once(f"{key}, {effort}", compute)


def _true_scheme(entry: Entry, scheme: Any) -> Any:
    """Against the true PDE a coarse scheme of the training would not do."""
    if entry.scheme is None and isinstance(scheme, EulerMaruyama):
        return choose_scheme(entry.family)
    return scheme
