r"""The benchmark: the fast method in a hundredth of the paper's time, beside the paper's method.

    ratio = (seconds of one of the paper's steps on this machine · its steps) / seconds of `fast`

Errors are those of Eq. (9) on fresh inputs, the same for all seeds. Seconds are wall clock around
`solve`, including pilots and the last evaluation.
"""

import itertools
import math
import platform
import re
import resource
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import torch
from torch import Tensor

from feynkac.analysis.metrics import Yardstick, make_yardstick
from feynkac.analysis.partials import greek_value
from feynkac.analysis.rounding import figure
from feynkac.benchmarks.bench_table import PAPER, REMEASURED, Bench, Row
from feynkac.benchmarks.store import Store
from feynkac.errors import InputError
from feynkac.families.capabilities import ClosedForm, NamedGreeks
from feynkac.families.family import Family
from feynkac.families.models.basket_put import BasketPut
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.families.models.heat_gaussian import HeatGaussian
from feynkac.families.models.heat_paraboloid import HeatParaboloid
from feynkac.methods import Fast, Paper
from feynkac.networks.architecture import Architecture
from feynkac.runs.run import Run
from feynkac.sampling.discretisation import estimate_bias, refined
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.path import weak_order
from feynkac.sampling.reference_size import REPLICATES
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.scheme import Scheme
from feynkac.solution import Solution
from feynkac.solver import solve
from feynkac.training.loop import Progress

Report = Callable[[Progress], None]
Announce = Callable[[str], None]


@dataclass(frozen=True)
class Entry:
    """The training of one row, and the published figures."""

    name: str
    family: Family
    published_l1: float
    gpu_seconds: float
    """Of the paper's training."""
    source: str = PAPER
    """Source of `published_l1`."""
    scheme: Scheme | None = None
    """Scheme of training and reference; None: the method's own, against the true PDE."""

    @property
    def budget(self) -> float:
        """A hundredth of the paper's seconds."""
        return self.gpu_seconds / 100

    def asked(self, seed: int, share: float = 1.0) -> dict[str, Any]:
        """What `solve` is asked for, in this share of the budget."""
        lengths = {"budget": share * self.budget, "seed": seed, "evaluations": 1}
        return {"method": Fast().with_fields({"scheme": self.scheme}), **lengths}


ENTRIES = (
    Entry("black-scholes", BlackScholes(), 0.0011, 2827.0),
    Entry("basket-put", BasketPut(), 0.0384, 6024.0, REMEASURED),
    Entry("basket-put (EM-25)", BasketPut(), 0.0039, 6024.0, scheme=EulerMaruyama(steps=25)),
    Entry("heat-paraboloid", HeatParaboloid(), 0.0056, 13328.0),
    Entry("heat-gaussian", HeatGaussian(), 0.0019, 14454.0),
)


@dataclass(frozen=True)
class Thoroughness:
    """Effort of a benchmark; the defaults are those of the published table."""

    budget_scale: float = 1.0
    """Factor of every budget."""
    inputs: int = 2**16
    """To measure on, with a closed form."""
    simulated_inputs: int = 256
    """To measure on, with a simulated reference."""
    paths: int = 2**14
    """Of a simulated reference, per input and replicate."""
    refinements: int = 1
    """How often a reference for the true PDE doubles the steps of the training."""
    greek_inputs: int = 20_000
    """To measure the Greeks on."""
    paper_batch_size: int | None = None
    """In place of the paper's own."""


def choose_entries(names: Sequence[str]) -> tuple[Entry, ...]:
    """The entries of the named families or rows; all of them for no name.

    Example:
        >>> [entry.name for entry in choose_entries(["basket-put"])]
        ['basket-put', 'basket-put (EM-25)']
    """
    known = dict.fromkeys(entry.family.name() for entry in ENTRIES)
    rows = {entry.name for entry in ENTRIES}
    if unknown := [name for name in names if name not in known.keys() | rows]:
        raise InputError(f"no benchmark for {unknown[0]!r}; there are: {', '.join(known)}.")
    return tuple(e for e in ENTRIES if not names or {e.name, e.family.name()} & set(names))


def run_bench(
    entries: Sequence[Entry] = ENTRIES,
    seeds: int = 1,
    effort: Thoroughness = Thoroughness(),  # noqa: B008  (frozen)
    report: Report | None = None,
    announce: Announce = lambda _text: None,
    store: Store | None = None,
) -> Bench:
    """Train each entry for seeds 0 … seeds − 1, measure it, and time the paper's steps.

    Trainings that `store` holds are reused.
    """
    timings: dict[str, float] = {}
    rows = []
    for entry in entries:
        family = entry.family.name()
        if family not in timings:
            announce(f"{family}: timing the paper's method")
            timings[family] = time_paper_step(entry.family, effort.paper_batch_size)
        rows.append(run_entry(entry, seeds, timings[family], effort, report, announce, store))
        announce(f"{entry.name}: L1 {figure(rows[-1].l1, rows[-1].l1_se)}")
    versions = {name: version(name) for name in ("feynkac", "torch")}
    versions["python"] = platform.python_version()
    return Bench(tuple(rows), seeds, torch.get_num_threads(), versions)


def run_entry(
    entry: Entry,
    seeds: int,
    paper_step: float,
    effort: Thoroughness,
    report: Report | None,
    announce: Announce,
    store: Store | None = None,
) -> Row:
    """One line of the table."""
    reset_peak_memory()
    solutions = []
    for seed in range(seeds):
        announce(f"{entry.name}: training, seed {seed}")
        asked = entry.asked(seed, effort.budget_scale)
        if store is not None:
            solutions.append(store.train(entry.family, report, entry.name, **asked))
        else:
            solutions.append(solve(entry.family, report=report, **asked))
    seconds, memory = [solution.manifest.seconds for solution in solutions], peak_memory()
    announce(f"{entry.name}: measuring")
    run = solutions[0].manifest.run
    yardstick = yardstick_for(entry.family, run, effort, biased=entry.scheme is None)
    return _row(entry, yardstick, solutions, seconds, memory, paper_step, effort)


def _row(
    entry: Entry,
    yardstick: Yardstick,
    solutions: list[Solution],
    seconds: list[float],
    memory: float,
    paper_step: float,
    effort: Thoroughness,
) -> Row:
    errors = [yardstick.measure(solution.network) for solution in solutions]
    bias, bias_se = yardstick.mean_bias()
    projected = project_paper(entry.family, paper_step)
    return Row(
        name=entry.name,
        l1=mean(e.l1 for e in errors),
        l1_se=combined_error([e.l1 for e in errors], [e.l1_se for e in errors]),
        l1_low=mean(e.l1_low for e in errors),
        l1_high=mean(e.l1_high for e in errors),
        l1_by_seed=[e.l1 for e in errors],
        inputs=len(yardstick.points),
        reference_se=errors[0].reference_se,
        reference_bias=bias,
        reference_bias_se=bias_se,
        seconds=mean(seconds),
        seconds_by_seed=seconds,
        memory_mb=memory,
        published_l1=entry.published_l1,
        source=entry.source,
        gpu_seconds=entry.gpu_seconds,
        paper_step_seconds=paper_step,
        projected_seconds=projected,
        ratio=projected / mean(seconds),
        greeks=mean_by_name([greek_errors(s, effort.greek_inputs) for s in solutions]),
    )


def yardstick_for(family: Family, run: Run, effort: Thoroughness, biased: bool = True) -> Yardstick:
    """The closed form, or a simulation as in `run`; `biased` if it stands for the true PDE.

    For the true PDE, the steps are refined, and `bias` estimates their remaining error.
    """
    generator = make_generator(0, "bench")
    if isinstance(family, ClosedForm):
        return make_yardstick(family, run.method.scheme, generator, effort.inputs)
    scheme: Scheme = run.method.scheme
    for _ in range(effort.refinements if biased and weak_order(family, scheme) is not None else 0):
        scheme = refined(scheme)
    count, paths = effort.simulated_inputs, REPLICATES * effort.paths
    plain = make_yardstick(family, scheme, generator, count, paths)
    if not biased:
        return plain
    bias = estimate_bias(family, scheme, Sobol(), plain.points, effort.paths, generator)
    return replace(plain, bias=bias)


def combined_error(values: Sequence[float], errors: Sequence[float]) -> float:
    """Standard error of the mean of `values` between seeds, and of each over the inputs.

    The inputs are the same for all seeds, so their part does not fall with more seeds.

    Example:
        >>> combined_error([1.0, 7.0], [4.0, 4.0])
        5.0
    """
    between = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return math.hypot(between, mean(errors))


def mean_by_name(records: Sequence[dict[str, float]]) -> dict[str, float]:
    """The mean of each name.

    Example:
        >>> mean_by_name([{"delta": 1.0}, {"delta": 2.0}])
        {'delta': 1.5}
    """
    return {name: mean(record[name] for record in records) for name in records[0]}


def greek_errors(solution: Solution, inputs: int) -> dict[str, float]:
    """E[ |∂Φ − ∂u| / (1 + |∂u|) ] for each named derivative of a family with a closed form."""
    family = solution.family
    if not (isinstance(family, NamedGreeks) and isinstance(family, ClosedForm)):
        return {}
    domain, closed = solution.family.domain, family.closed_form
    points = domain.sample(inputs, make_generator(0, "bench greeks"))

    def u(flat: Tensor) -> Tensor:
        return closed(*domain.split(flat))

    def error(name: str) -> float:
        greek = family.greeks[name]
        truth = greek_value(u, domain, greek, points.double())
        found = greek_value(solution.network, domain, greek, points).double()
        return ((found - truth).abs() / (1.0 + truth.abs())).mean().item()

    return {name: error(name) for name in family.greeks}


def time_paper_step(
    family: Family,
    batch_size: int | None = None,
    repeats: int = 1,
    architecture: Architecture | None = None,
) -> float:
    """Seconds of a step of the paper's method: the median of `repeats` after one to warm up.

    The batch is the paper's own unless given, because the time of a step is not proportional to it.
    Such a step is compiled, as in a full reproduction. On the larger problems it takes a minute, so
    the default is one.
    """
    ticks: list[float] = []
    solve(
        family,
        Paper().with_fields({"batch_size": batch_size, "architecture": architecture}),
        steps=repeats + 1,
        report=lambda progress: ticks.append(progress.seconds),
        compile=batch_size is None,
        evaluations=1,
    )
    return median(after - before for before, after in itertools.pairwise(ticks))


def project_paper(family: Family, step: float) -> float:
    """Seconds of the paper's whole training, from those of one step.

    Example:
        >>> project_paper(BlackScholes(), 0.25)
        6000.0
    """
    return step * Paper().length(family)


def reset_peak_memory() -> None:
    """Reset the high-water mark of this process, if the system can."""
    with suppress(OSError):  # Linux only, see proc(5)
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> float:
    """High-water mark of this process's resident memory in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # what `reset_peak_memory` resets; getrusage also remembers older peaks
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        if found:
            return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
