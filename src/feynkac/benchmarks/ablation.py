"""What each ingredient of the fast method is worth: its error without it, at equal wall clock."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from feynkac.analysis.metrics import Yardstick
from feynkac.analysis.rounding import figure
from feynkac.benchmarks.bench import Effort, yardstick_for
from feynkac.families.family import Family, jumps
from feynkac.networks.smooth import Smooth
from feynkac.runs.run import Run
from feynkac.sampling.noise.noise import Independent
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.solver import execute, plan_run
from feynkac.training.loop import Progress
from feynkac.training.optimisers.gauss_newton import GaussNewton
from feynkac.training.optimisers.muon import Muon
from feynkac.training.optimisers.optimiser import AdamW
from feynkac.training.schedules import StepDecay
from feynkac.training.settings import Training

Change = Callable[[Family, Run], Run | None]
"""The run without an ingredient; None if the family's default has not got it."""


def _values_alone(family: Family, run: Run) -> Run | None:
    fitted = run.training.slopes and not jumps(family)
    return _retrained(run, slopes=False) if fitted else None


def _plain_time(_family: Family, run: Run) -> Run | None:
    network = run.architecture
    if not isinstance(network, Smooth) or not network.root_time:
        return None
    return replace(run, architecture=replace(network, root_time=False))


def _unaligned(_family: Family, run: Run) -> Run | None:
    noise = run.noise
    if not isinstance(noise, Sobol) or not noise.aligned:
        return None
    return replace(run, noise=replace(noise, aligned=False))


def _independent_paths(_family: Family, run: Run) -> Run | None:
    plain = isinstance(run.noise, Independent)
    return None if plain else replace(run, noise=Independent())


def _fewest_paths(_family: Family, run: Run) -> Run | None:
    return _retrained(replace(run, noise=Independent()), paths=1, balance=False)


def _unbalanced(_family: Family, run: Run) -> Run | None:
    return _retrained(run, balance=False) if run.training.balance else None


def _muon(_family: Family, run: Run) -> Run | None:
    second_order = isinstance(run.training.optimiser, GaussNewton)
    return _retrained(run, optimiser=Muon()) if second_order else None


def _adamw(_family: Family, run: Run) -> Run | None:
    return _retrained(run, optimiser=AdamW())


def _constant_rate(_family: Family, run: Run) -> Run | None:
    return _retrained(run, schedule=StepDecay(patience=10**9))


def _no_products(_family: Family, run: Run) -> Run | None:
    network = run.architecture
    if not isinstance(network, Smooth) or not network.products:
        return None
    return replace(run, architecture=replace(network, products=0))


def _half_width(_family: Family, run: Run) -> Run | None:
    network = run.architecture
    if not isinstance(network, Smooth) or network.width < 2:
        return None
    return replace(run, architecture=replace(network, width=network.width // 2))


def _one_layer(_family: Family, run: Run) -> Run | None:
    network = run.architecture
    if not isinstance(network, Smooth) or network.depth == 1:
        return None
    return replace(run, architecture=replace(network, depth=1))


def _euler_maruyama(family: Family, run: Run) -> Run | None:
    scheme = EulerMaruyama(steps=25)
    if isinstance(run.scheme, Exact) or run.scheme == scheme:
        return None
    planned = plan_run(family, run.method, None, scheme, {"steps": 1})  # chooses its own noise
    return replace(planned, training=run.training)


def _retrained(run: Run, **changes: Any) -> Run:
    training: Training = replace(run.training, **changes)
    return replace(run, training=training)


INGREDIENTS: dict[str, Change] = {
    "values alone, no slopes": _values_alone,
    "t instead of √t": _plain_time,
    "Sobol points not aligned": _unaligned,
    "independent paths": _independent_paths,
    "one independent path per input": _fewest_paths,
    "paths not balanced with the network": _unbalanced,
    "Muon instead of Gauss–Newton": _muon,
    "AdamW on values alone, independent paths": _adamw,
    "constant learning rate": _constant_rate,
    "no products of inputs": _no_products,
    "half the width": _half_width,
    "one hidden layer": _one_layer,
    "Euler–Maruyama with 25 steps": _euler_maruyama,
}
"""What is put in place of each ingredient."""


@dataclass(frozen=True)
class Variant:
    """The fast method with one change."""

    name: str
    l1: float
    l1_se: float
    factor: float
    """L1 relative to the default's."""
    steps: int
    seconds: float
    """Wall clock."""


@dataclass(frozen=True)
class Ablation:
    """All variants for one family, the default first."""

    family: str
    budget: float
    seed: int
    variants: tuple[Variant, ...]

    def record(self) -> dict[str, Any]:
        """As JSON-ready data."""
        return asdict(self)

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Columns and rows."""
        columns = ("", "L1 ± s.e.", "of the default", "steps", "s")
        rows: list[tuple[str, ...]] = [
            (
                v.name,
                figure(v.l1, v.l1_se),
                f"× {v.factor:.1f}",
                str(v.steps),
                f"{v.seconds:.1f}",
            )
            for v in self.variants
        ]
        return columns, rows


def run_ablation(
    family: Family,
    budget: float | str = "20s",
    seed: int = 0,
    effort: Effort = Effort(paths=2**11),  # noqa: B008  (frozen)
    report: Callable[[Progress], None] | None = None,
    announce: Callable[[str], None] = lambda _text: None,
) -> Ablation:
    """Train the default and each variant for `budget` and measure all with one yardstick."""
    lengths = {"budget": budget, "seed": seed, "evaluations": 1}
    default = plan_run(family, "fast", None, None, lengths)
    announce(f"{family.name()}: reference")
    yardstick = yardstick_for(family, default, effort)
    execute(_retrained(default, steps=2, budget=None, balance=False), family)  # imports, compiles
    variants: list[Variant] = []
    for name, run in variant_runs(family, default).items():
        announce(f"{family.name()}: {name}")
        best = variants[0].l1 if variants else None
        variants.append(_measure(name, run, family, yardstick, best, report))
    return Ablation(family.name(), default.training.budget or 0.0, seed, tuple(variants))


def variant_runs(family: Family, default: Run) -> dict[str, Run]:
    """The default and all variants that differ from it, by name."""
    changed = {name: change(family, default) for name, change in INGREDIENTS.items()}
    return {"default": default} | {name: run for name, run in changed.items() if run is not None}


def _measure(
    name: str,
    run: Run,
    family: Family,
    yardstick: Yardstick,
    default_l1: float | None,
    report: Callable[[Progress], None] | None,
) -> Variant:
    start = time.perf_counter()
    solution = execute(run, family, report=report)
    seconds = time.perf_counter() - start
    errors = yardstick.measure(solution.network)
    return Variant(
        name=name,
        l1=errors.l1,
        l1_se=errors.l1_se,
        factor=errors.l1 / (default_l1 or errors.l1),
        steps=solution.manifest.steps,
        seconds=seconds,
    )


def to_markdown(ablations: Sequence[Ablation]) -> str:
    """One table: a line a variant, a column a family; empty where it does not apply."""
    names = dict.fromkeys(v.name for a in ablations for v in a.variants)
    lines = [
        ["", *(f"{a.family}, {a.budget:g} s" for a in ablations)],
        ["---"] * (len(ablations) + 1),
    ]
    lines += [[name, *(_markdown_cell(a, name) for a in ablations)] for name in names]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _markdown_cell(ablation: Ablation, name: str) -> str:
    found = [v for v in ablation.variants if v.name == name]
    return f"{found[0].l1:.5f} (× {found[0].factor:.1f})" if found else "–"
