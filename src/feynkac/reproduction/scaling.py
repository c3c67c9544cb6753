r"""The paper's training, whole or scaled down  (paper, Table 5).

    samples = batch size · steps,    the learning rate falls every  4000 · steps / (paper's steps)

A scaled run has fewer inputs per step and fewer steps; its schedule keeps its shape.
"""

import itertools
import time
from dataclasses import dataclass, replace
from statistics import median

from feynkac.benchmarks.store import name_of
from feynkac.execution import execute
from feynkac.families.family import Family
from feynkac.methods import Paper
from feynkac.methods.paper import column as table_5
from feynkac.networks.architecture import Architecture
from feynkac.preparation import make_run
from feynkac.reproduction.result import FULL
from feynkac.reproduction.settings import Settings
from feynkac.runs.run import Run

TRIAL_STEPS = 8
LEAST_STEPS = 100


def paper_run(
    settings: Settings,
    family: Family,
    seed: int,
    steps: int | None = None,
    architecture: Architecture | None = None,
    batch_divisor: int = 1,
    evaluations: int | None = None,
    whole: int | None = None,
) -> Run:
    """The paper's training of `family`; a full reproduction compiles it.

    Args:
        settings: whether it is a full one.
        family: what to solve.
        seed: of the training.
        steps: by default the paper's.
        architecture: by default the paper's.
        batch_divisor: of the paper's batch size.
        evaluations: by default one every 4000 of the paper's steps.
        whole: steps at full scale, if not those of Table 5.

    Example:
        >>> from pathlib import Path
        >>> from feynkac.benchmarks.store import Store
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> run = paper_run(Settings(Store(Path())), BlackScholes(), seed=0, steps=1200)
        >>> run.method.schedule.patience, run.training.evaluations
        (200, 6)
    """
    column = table_5(family)
    length = whole or column.steps
    chosen = steps or length
    patience = max(1, round(column.schedule.patience * chosen / length))
    method = Paper(
        batch_size=column.batch_size // batch_divisor,
        schedule=replace(column.schedule, patience=patience),
    ).with_fields({"architecture": architecture})
    training = {
        "steps": chosen,
        "seed": seed,
        "compile": settings.full,
        "evaluations": evaluations or column.steps // column.schedule.patience,
    }
    return make_run(family, method, training)


@dataclass(frozen=True)
class Cost:
    """Seconds of a run:  reference + evaluations · evaluation + steps · step."""

    reference: float
    """A simulated one is made once, for the first evaluation."""
    evaluation: float
    step: float
    trial: float
    """What it took to find the others."""

    def steps_within(self, seconds: float, evaluations: int) -> float:
        """How many steps fit."""
        return (seconds - self.reference - evaluations * self.evaluation) / self.step


def measure_cost(run: Run, family: Family) -> Cost:
    """Time a few steps of `run`, after one to warm up, with its evaluations, two at most."""
    evaluations = min(2, run.training.evaluations)
    training = replace(run.training, steps=TRIAL_STEPS, evaluations=evaluations)
    clock = [time.perf_counter()]
    execute(
        replace(run, training=training),
        family,
        report=lambda _progress: clock.append(time.perf_counter()),
    )
    durations = [after - before for before, after in itertools.pairwise(clock)]
    step = median(durations[1:])
    first, last = durations[TRIAL_STEPS // evaluations - 1], durations[-1]
    trial = clock[-1] - clock[0]
    return Cost(max(0.0, first - last), max(0.0, last - step), step, trial)


def affordable_steps(
    settings: Settings,
    family: Family,
    seconds: float,
    batch_divisor: int,
    architecture: Architecture | None = None,
    evaluations: int | None = None,
    runs: int = 1,
    whole: int | None = None,
) -> int:
    """Steps that each of `runs` equal trainings can take in `seconds` together, timing included.

    Two significant digits, at least 100, at most the paper's.
    """
    run = paper_run(settings, family, 0, None, architecture, batch_divisor, evaluations, whole)
    evaluating = run.training.evaluations

    def compute() -> int:
        cost = measure_cost(run, family)
        steps = cost.steps_within((seconds - cost.trial) / runs, evaluating)
        return min(run.training.steps or 0, round_down(max(LEAST_STEPS, steps)))

    key = f"affordable steps, {seconds:g} s for {runs} runs, {name_of(run)}"
    return settings.store.once(key, compute)


def round_down(number: float) -> int:
    """The largest integer ≤ `number` with two significant digits.

    Example:
        >>> round_down(1987.6), round_down(42.9)
        (1900, 42)
    """
    whole = int(number)
    unit: int = 10 ** max(0, len(str(whole)) - 2)
    return whole // unit * unit


def describe_scale(run: Run, family: Family, whole: int | None = None) -> str:
    """What is smaller in `run` than in the paper, as a sentence; "full" if nothing is.

    Example:
        >>> from pathlib import Path
        >>> from feynkac.benchmarks.store import Store
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> settings, family = Settings(Store(Path())), BlackScholes()
        >>> describe_scale(paper_run(settings, family, 0, 1900, batch_divisor=32), family)
        'batch size 2,048 in place of 65,536 and 1,900 steps in place of 24,000.'
    """
    return describe_lengths(run.method.batch_size, run.training.steps or 0, family, whole)


def describe_lengths(batch_size: int, steps: int, family: Family, whole: int | None = None) -> str:
    """The same of a batch size and a number of steps, of which the paper has `whole`."""
    column = table_5(family)
    pairs = (
        ("batch size {}", batch_size, column.batch_size),
        ("{} steps", steps, whole or column.steps),
    )
    parts = [f"{text.format(f'{a:,}')} in place of {b:,}" for text, a, b in pairs if a != b]
    return f"{' and '.join(parts)}." if parts else FULL
