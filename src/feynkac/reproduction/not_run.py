r"""What of the paper is not run here at full scale, and how long that would take.

    seconds = trainings · steps · seconds of one step at the paper's batch size on this machine

Steps are timed, never extrapolated from smaller batches. Figure 9's networks of other sizes are
taken in proportion to their parameters.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from feynkac.benchmarks.bench import project_paper, time_paper_step
from feynkac.benchmarks.store import name_of
from feynkac.families.family import Family
from feynkac.networks.architecture import Architecture
from feynkac.reproduction.ablations import BLACK_SCHOLES, PARABOLOID
from feynkac.reproduction.figure_9 import count_parameters
from feynkac.reproduction.published import ABLATION_STEPS, FIGURE_9_STEPS, TABLES
from feynkac.reproduction.result import FULL, Result
from feynkac.reproduction.scaling import paper_run
from feynkac.reproduction.settings import Settings
from feynkac.reproduction.trainings import SEEDS

NAME = "not-run"
TITLE = "What is not run"
DAY, HOUR = 86_400.0, 3600.0


@dataclass(frozen=True)
class Full:
    """What full scale of a result is, by the paper's method."""

    name: str
    title: str
    trainings: str
    scale: str | None
    """Of its page here; None if there is none."""
    seconds: float | None
    """Projected; None if the steps were not timed."""


def run(settings: Settings) -> Result:
    """Time the steps, and say of each result whether its page is at full scale."""
    found = list(project_all(settings.pages, lambda *which: step_seconds(settings, *which)))
    return present({"results": [asdict(full) for full in found]})


def present(data: Mapping[str, Any]) -> Result:
    """The page of given numbers."""
    found = [Full(**each) for each in data["results"]]
    known = [full.seconds for full in found if full.seconds is not None]
    whole = f" All of it one after the other: {duration(sum(known))}." if known else ""
    return Result(
        name=NAME,
        title=TITLE,
        columns=("result", "at full scale", "its page here", "projected on this machine"),
        rows=[(f.title, f.trainings, _state(f.scale), duration(f.seconds)) for f in found],
        notes=(
            "The time is that of the paper's method: trainings × steps × the seconds of one "
            "compiled step with the paper's batch size, timed on this machine, evaluations left "
            "out. Figure 9 has the authors' own numbers of steps; its networks are timed in d = 10 "
            f"and taken in proportion to their parameters.{whole}",
            "The search of Table 6, of which the paper prints the ranges alone, is not run either; "
            "`feynkac tune --method paper` runs one. Theorems say on their pages how far they go.",
        ),
        scale="",
        data=dict(data),
        seeds=(),
    )


def project_all(
    pages: Path, step: Callable[[Family, Architecture | None], float | None]
) -> Iterator[Full]:
    """Tables 1–4, 7, 8 and Figure 9; `step` gives the seconds of one step, if they are known."""
    count = len(SEEDS)
    for table in TABLES:
        each = step(table.family, None)
        seconds = None if each is None else count * project_paper(table.family, each)
        text = f"{count} trainings of {table.lines[-1].step:,} steps"
        yield Full(table.name, table.title, text, read_scale(pages, table.name), seconds)
    for study in (BLACK_SCHOLES, PARABOLOID):
        all_steps = [step(study.family, variant.architecture) for variant in study.variants]
        text = f"{count * len(all_steps)} trainings of {ABLATION_STEPS:,} steps"
        timed = [seconds for seconds in all_steps if seconds is not None]
        total = count * ABLATION_STEPS * sum(timed) if len(timed) == len(all_steps) else None
        yield Full(study.name, study.title, text, read_scale(pages, study.name), total)
    yield _project_figure_9(pages, step(TABLES[2].family, None))


def _project_figure_9(pages: Path, ten: float | None) -> Full:
    """From the seconds of a step in d = 10."""
    steps = {dim: sum(FIGURE_9_STEPS[dim]) for dim in FIGURE_9_STEPS}
    weighed = sum(count_parameters(dim) * steps[dim] for dim in steps) / count_parameters(10)
    low, high = (mean(FIGURE_9_STEPS[dim]) for dim in (min(steps), max(steps)))
    text = f"{len(SEEDS) * len(steps)} trainings of {low:,.0f} to {high:,.0f} steps"
    seconds = None if ten is None else ten * weighed
    title = "Figure 9: cost to reach an L1 error of 0.01"
    return Full("figure-9", title, text, read_scale(pages, "figure-9"), seconds)


def step_seconds(settings: Settings, family: Family, architecture: Architecture | None) -> float:
    """Of one step of the paper's method at its batch size, timed once."""
    run = paper_run(settings, family, 0, None, architecture)

    def compute() -> float:
        settings.announce(f"{NAME}: timing a step of {family.name()}")
        return time_paper_step(family, architecture=architecture)

    return settings.store.once(f"seconds of a step, {name_of(run)}", compute)


def read_scale(folder: Path, name: str) -> str | None:
    """The scale of a result as its page has it; None if there is none."""
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    scale: str = json.loads(path.read_text())["scale"]
    return scale


def _state(scale: str | None) -> str:
    if scale is None:
        return "not made"
    return "full scale" if scale == FULL else f"scaled: {scale}"


def duration(seconds: float | None) -> str:
    """For a reader.

    Example:
        >>> duration(5_400), duration(1e6), duration(90)
        ('1.5 hours', '12 days', '2 minutes')
    """
    if seconds is None:
        return "not timed yet"
    if seconds >= 2 * DAY:
        return f"{seconds / DAY:,.0f} days"
    return f"{seconds / HOUR:.2g} hours" if seconds >= HOUR else f"{seconds / 60:.0f} minutes"
