r"""Tables 7 and 8: feed-forward and multilevel networks (χ = 0, 1) with and without normalisation.

    best L1 = min over the evaluations of a run,    mean ± standard deviation over the seeds

Every variant takes the same number of steps, all other settings are those of Table 5. By their
records the authors took 30,000 steps with 15 evaluations.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean, stdev
from typing import Any

from matplotlib.figure import Figure

from feynkac.methods.paper import column
from feynkac.plotting.style import GREY, VERMILION, panels, styled
from feynkac.reproduction.ablations import Study, Variant
from feynkac.reproduction.error_tables import spread
from feynkac.reproduction.published import (
    ABLATION_EVALUATIONS,
    ABLATION_STEPS,
    AUTHORS,
    NETWORK_NOTE,
)
from feynkac.reproduction.result import FULL, Result
from feynkac.reproduction.scaling import (
    affordable_steps,
    describe_lengths,
    describe_scale,
    paper_run,
)
from feynkac.reproduction.settings import Settings
from feynkac.runs.run import Run


@dataclass(frozen=True)
class Outcome:
    """What a variant came to, by seed."""

    l1: list[float]
    """Best of each run."""
    seconds: list[float]
    """Of each training."""
    parameters: int

    @property
    def deviation(self) -> float:
        """Of the best errors; 0 for a single seed."""
        return stdev(self.l1) if len(self.l1) > 1 else 0.0


def run_study(study: Study, settings: Settings) -> Result:
    """Train each variant with each seed, and set the paper's figures beside what was found."""
    runs = plan(study, settings)
    outcomes = {variant: _train(study, variant, runs[variant], settings) for variant in runs}
    return present_study(study, _data(runs[study.variants[0]][0], outcomes, settings))


def present_study(study: Study, data: Mapping[str, Any]) -> Result:
    """The page of given numbers."""
    outcomes = {
        variant: Outcome(numbers["best_l1"], numbers["seconds"], numbers["parameters"])
        for variant in study.variants
        if (numbers := data["variants"].get(variant.name))
    }
    return Result(
        name=study.name,
        title=study.title,
        columns=(
            "network",
            "the paper: best L1",
            "here: best L1",
            "the paper: s on V100",
            "here: s",
            "the paper: parameters",
            "here: parameters",
        ),
        rows=[_cells(variant, outcome) for variant, outcome in outcomes.items()],
        scale=_scale(study, data),
        notes=_notes(study, data, outcomes),
        data=dict(data),
        figure=draw(study, outcomes),
        seeds=tuple(data["seeds"]),
    )


def plan(study: Study, settings: Settings) -> dict[Variant, list[Run]]:
    """The runs by variant and seed, all with the same number of steps.

    They are the paper's if those were asked for, or all of them are finished.
    """
    whole = _runs(study, replace(settings, full=True), evaluations=ABLATION_EVALUATIONS)
    finished = all(settings.store.has(run) for runs in whole.values() for run in runs)
    if finished or (settings.full and "paper" in settings.methods):
        return whole
    settings.announce(f"{study.name}: timing a few steps")
    scaled = replace(settings, full=False)
    steps = affordable_steps(
        scaled,
        study.family,
        settings.budget / len(study.variants),
        study.batch_divisor,
        study.slowest.architecture,
        study.evaluations,
        runs=len(settings.seeds),
        whole=ABLATION_STEPS,
    )
    return _runs(study, scaled, steps, study.batch_divisor, study.evaluations)


def _runs(
    study: Study,
    settings: Settings,
    steps: int | None = None,
    batch_divisor: int = 1,
    evaluations: int | None = None,
) -> dict[Variant, list[Run]]:
    def run(variant: Variant, seed: int) -> Run:
        lengths = (batch_divisor, evaluations, ABLATION_STEPS)
        return paper_run(settings, study.family, seed, steps, variant.architecture, *lengths)

    return {variant: [run(variant, seed) for seed in settings.seeds] for variant in study.variants}


def _train(study: Study, variant: Variant, runs: Sequence[Run], settings: Settings) -> Outcome:
    manifests = []
    for run in runs:
        if not settings.store.has(run):
            settings.announce(f"{study.name}: {variant.name}, seed {run.training.seed}")
        full = describe_scale(run, study.family, ABLATION_STEPS) == FULL
        found = settings.store.solve(run, study.family, settings.report, variant.name, full)
        manifests.append(found.manifest)
    return Outcome(
        l1=[min(float(r["l1"]) for r in m.history if r["l1"] is not None) for m in manifests],
        seconds=[manifest.seconds for manifest in manifests],
        parameters=manifests[0].parameters,
    )


def _cells(variant: Variant, outcome: Outcome) -> tuple[str, ...]:
    return (
        variant.name,
        "{:.4f} ± {:.4f}".format(*variant.l1),
        spread(outcome.l1),
        "{:.0f} ± {:.0f}".format(*variant.seconds),
        spread(outcome.seconds, 1),
        f"{variant.parameters:,}",
        f"{outcome.parameters:,}",
    )


def _scale(study: Study, data: Mapping[str, Any]) -> str:
    scale = describe_lengths(data["batch_size"], data["steps"], study.family, ABLATION_STEPS)
    if scale == FULL or study.evaluations is None:
        return scale
    return f"{scale} The error is measured once, at the end of a run."


def _notes(
    study: Study, data: Mapping[str, Any], outcomes: Mapping[Variant, Outcome]
) -> tuple[str, ...]:
    same, pairs = count_same_order(
        [variant.l1[0] for variant in outcomes], [mean(o.l1) for o in outcomes.values()]
    )
    best = min(outcomes, key=lambda variant: mean(outcomes[variant].l1))
    published = min(outcomes, key=lambda variant: variant.l1)
    samples = column(study.family).batch_size * ABLATION_STEPS
    fraction = data["batch_size"] * data["steps"] / samples
    return (
        "The best error of a run over its evaluations, and the seconds of its steps; mean ± "
        "standard deviation over the seeds. The paper's columns are what it prints. By the "
        f"records in {AUTHORS} each of its trainings took {ABLATION_STEPS:,} steps with "
        f"{ABLATION_EVALUATIONS} evaluations, where Table 5 has "
        f"{column(study.family).steps:,} steps.",
        NETWORK_NOTE,
        f"Every variant took {data['steps']:,} steps and saw {fraction:.2g} times as many "
        "samples as the authors'.",
        f"{same} of {pairs} pairs of variants are in the paper's order; {_unclear(outcomes)} pairs "
        "differ here by less than the standard deviation over the seeds. The best is "
        f"{best.name} here and {published.name} in the paper.",
    )


def _unclear(outcomes: Mapping[Variant, Outcome]) -> int:
    """Pairs whose difference is within the larger of their deviations."""
    return sum(
        abs(mean(a.l1) - mean(b.l1)) < max(a.deviation, b.deviation)
        for a, b in itertools.combinations(outcomes.values(), 2)
    )


def count_same_order(ours: Sequence[float], theirs: Sequence[float]) -> tuple[int, int]:
    """Pairs in the same order, and all pairs that differ in `ours`.

    Example:
        >>> count_same_order([1.0, 2.0, 2.0], [3.0, 5.0, 1.0])
        (1, 2)
    """
    pairs = [
        (b - a) * (d - c) > 0
        for (a, c), (b, d) in itertools.combinations(zip(ours, theirs, strict=True), 2)
        if a != b
    ]
    return sum(pairs), len(pairs)


def _data(run: Run, outcomes: dict[Variant, Outcome], settings: Settings) -> dict[str, Any]:
    variants = {
        variant.name: {
            "best_l1": outcome.l1,
            "seconds": outcome.seconds,
            "parameters": outcome.parameters,
            "published_l1": variant.l1,
            "published_seconds": variant.seconds,
        }
        for variant, outcome in outcomes.items()
    }
    lengths = {"steps": run.training.steps, "batch_size": run.method.batch_size}
    return {"seeds": settings.seeds, **lengths, "variants": variants}


@styled
def draw(study: Study, outcomes: dict[Variant, Outcome]) -> Figure:
    """Best errors of all variants: every seed here, the paper's mean."""
    figure, (axes,) = panels(panel=(7.5, 1.6 + 0.35 * len(outcomes)))
    places = range(len(outcomes))
    published = [variant.l1[0] for variant in outcomes]
    axes.plot(published, places, "s", color=GREY, label="the paper, mean over seeds")
    for place, outcome in zip(places, outcomes.values(), strict=True):
        label = "here, each seed" if place == 0 else None
        axes.plot(outcome.l1, [place] * len(outcome.l1), "o", color=VERMILION, label=label)
    axes.set_yticks(places, [variant.name for variant in outcomes])
    axes.margins(y=0.15)
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel="best L1, Eq. (9)", title=study.title)
    figure.legend(loc="outside lower center", ncols=2)
    return figure
