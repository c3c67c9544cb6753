r"""What of the paper is not run here at full scale, and how long that would take.

    seconds = trainings · steps · seconds of one step at the paper's batch size on this machine

Steps are timed, never extrapolated from smaller batches. Figure 9's networks of other sizes are
taken in proportion to their parameters.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from feynkac.experiments.bench import project_paper, time_paper_step
from feynkac.experiments.reproduction.ablations import BLACK_SCHOLES, PARABOLOID
from feynkac.experiments.reproduction.figure_9 import count_parameters
from feynkac.experiments.reproduction.published import ABLATION_STEPS, FIGURE_9_STEPS, TABLES
from feynkac.experiments.reproduction.result import FULL, Result
from feynkac.experiments.reproduction.scaling import paper_run
from feynkac.experiments.reproduction.settings import Settings
from feynkac.experiments.reproduction.store import name_of
from feynkac.experiments.reproduction.trainings import SEEDS
from feynkac.families.family import Family
from feynkac.networks.architecture import Architecture

NAME = "not-run"
TITLE = "What is not run"
DAY, HOUR = 86_400.0, 3600.0


@dataclass(frozen=True)
class Full:
    """What full scale of a result is, by the paper's method."""

    name: str
    title: str
    trainings: str
    seconds: float


def run(settings: Settings) -> Result:
    """Time the steps, and say of each result whether its page is at full scale."""
    found = list(project_all(settings))
    scales = {full.name: read_scale(settings.pages, full.name) for full in found}
    return Result(
        name=NAME,
        title=TITLE,
        columns=("result", "at full scale", "its page here", "projected on this machine"),
        rows=[(f.title, f.trainings, _state(scales[f.name]), duration(f.seconds)) for f in found],
        notes=(
            "The time is that of the paper's method: trainings × steps × the seconds of one "
            "compiled step with the paper's batch size, timed on this machine, evaluations left "
            "out. Figure 9 has the authors' own numbers of steps; its networks are timed in d = 10 "
            "and taken in proportion to their parameters. All of it one after the other would "
            f"take {duration(sum(f.seconds for f in found))}.",
            "The search of Table 6, of which the paper prints the ranges alone, is not run either; "
            "`feynkac tune --method paper` runs one. Theorems say on their pages how far they go.",
        ),
        data={
            f.name: {"seconds": f.seconds, "trainings": f.trainings, "scale": scales[f.name]}
            for f in found
        },
        seeds=(),
    )


def project_all(settings: Settings) -> Iterator[Full]:
    """Tables 1–4, 7, 8 and Figure 9."""
    count = len(SEEDS)
    for table in TABLES:
        seconds = count * project_paper(table.family, step_seconds(table.family, settings))
        steps = table.lines[-1].step
        yield Full(table.name, table.title, f"{count} trainings of {steps:,} steps", seconds)
    for study in (BLACK_SCHOLES, PARABOLOID):
        each = [step_seconds(study.family, settings, v.architecture) for v in study.variants]
        trainings = f"{count * len(each)} trainings of {ABLATION_STEPS:,} steps"
        yield Full(study.name, study.title, trainings, count * ABLATION_STEPS * sum(each))
    ten = step_seconds(TABLES[2].family, settings) / count_parameters(10)
    seconds = sum(ten * count_parameters(d) * sum(steps) for d, steps in FIGURE_9_STEPS.items())
    low, high = (mean(FIGURE_9_STEPS[d]) for d in (min(FIGURE_9_STEPS), max(FIGURE_9_STEPS)))
    trainings = f"{count * len(FIGURE_9_STEPS)} trainings of {low:,.0f} to {high:,.0f} steps"
    yield Full("figure-9", "Figure 9: cost against dimension", trainings, seconds)


def step_seconds(
    family: Family, settings: Settings, architecture: Architecture | None = None
) -> float:
    """Of one step of the paper's method at its batch size, timed once."""
    run = paper_run(settings, family, 0, None, architecture)

    def compute() -> float:
        settings.announce(f"{NAME}: timing a step of {family.name()}")
        return time_paper_step(family, architecture=architecture)

    return settings.store.once(f"seconds of a step, {name_of(run)}", compute)


def read_scale(folder: Path, name: str) -> str | None:
    """The scale of a result as its page has it; None if there is none."""
    path = folder / f"{name}.json"
    return json.loads(path.read_text())["scale"] if path.exists() else None


def _state(scale: str | None) -> str:
    if scale is None:
        return "not made"
    return "full scale" if scale == FULL else f"scaled: {scale}"


def duration(seconds: float) -> str:
    """For a reader.

    Example:
        >>> duration(5_400), duration(1e6), duration(90)
        ('1.5 hours', '12 days', '2 minutes')
    """
    if seconds >= 2 * DAY:
        return f"{seconds / DAY:,.0f} days"
    return f"{seconds / HOUR:.2g} hours" if seconds >= HOUR else f"{seconds / 60:.0f} minutes"
