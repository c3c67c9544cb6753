r"""Tables 1–4: the error of Eq. (9) against steps and seconds.

Means ± standard deviations over the seeds; the paper's figures beside ours, the fast method below.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from statistics import mean, stdev
from typing import Any

from matplotlib.figure import Figure

from feynkac.experiments.bench import PAPER, Entry
from feynkac.experiments.reproduction.published import ErrorTable
from feynkac.experiments.reproduction.result import FULL, Result
from feynkac.experiments.reproduction.settings import Settings
from feynkac.experiments.reproduction.trainings import Trained, measure, train_fast, train_paper
from feynkac.families.family import ClosedForm
from feynkac.networks.network import make_network
from feynkac.sampling.noise import make_generator
from feynkac.training.paper import paper_setup


def run_table(table: ErrorTable, settings: Settings) -> Result:
    """Train what is missing, measure, and set the paper's figures beside it."""
    paper = train_paper(table, settings)
    lines = measured_lines(table, paper)
    rows = _paper_rows(table, lines)
    data: dict[str, Any] = {
        "scale": paper.scale,
        "seeds": paper.seeds,
        "lines": [asdict(line) for line in lines.values()],
        "published": [asdict(line) for line in table.lines],
    }
    curves = {"the paper's method, here": _curve(data["lines"])}
    for entry in table.entries:
        fast = train_fast(entry, table, settings)
        errors = measure(fast, entry, settings)
        row, numbers = _fast_row(entry, fast, errors)
        rows.append(row)
        data[entry.name] = numbers
        curves[row[0]] = [(mean(fast.seconds), mean(errors))]
    if not isinstance(table.family, ClosedForm):
        errors = measure(paper, table.entries[0], settings)
        rows.append(("the paper's method, true PDE", "", "", spread(errors), ""))
        data["paper's method, true PDE"] = errors
    return Result(
        name=table.name,
        title=table.title,
        columns=("step", "the paper: L1", "the paper: s on V100", "here: L1", "here: s"),
        rows=rows,
        scale=paper.scale,
        notes=_notes(table, paper, data),
        data=data,
        figure=draw(table, curves),
        seeds=paper.seeds,
    )


def _initial_errors(table: ErrorTable, trained: Trained) -> list[float]:
    """L1 before the first step; on few inputs where the reference is simulated."""
    inputs = 4096 if isinstance(table.family, ClosedForm) else None
    errors = []
    for seed, solution in zip(trained.seeds, trained.solutions, strict=True):
        run = solution.manifest.run
        weights = make_generator(seed, "weights")
        untrained = make_network(run.architecture, table.family.domain, weights).eval()
        errors.append(replace(solution, network=untrained).error(inputs).l1)
    return errors


@dataclass(frozen=True)
class Line:
    """What was measured at one step, seed by seed."""

    step: int
    seconds: list[float]
    l1: list[float]


def measured_lines(table: ErrorTable, trained: Trained) -> dict[int, Line]:
    """By the number of the paper's line that has the same fraction of the run behind it."""
    steps = trained.solutions[0].manifest.steps
    initial = _initial_errors(table, trained)
    found = {0: Line(0, [0.0] * len(initial), initial)}
    histories = [solution.manifest.history for solution in trained.solutions]
    for records in zip(*histories, strict=True):
        step = int(records[0]["step"] or 0)
        seconds = [float(record["seconds"] or 0.0) for record in records]
        errors = [float(record["l1"] or 0.0) for record in records]
        found[round(step / steps * (len(table.lines) - 1))] = Line(step, seconds, errors)
    return found


def _paper_rows(table: ErrorTable, found: dict[int, Line]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for number, published in enumerate(table.lines):
        line = found.get(number)
        here = "" if line is None or line.step == published.step else f" (here {line.step:,})"
        rows.append(
            (
                f"{published.step:,}{here}",
                _pair(*published.l1, 4),
                _pair(*published.seconds, 0),
                spread(line.l1) if line else "",
                spread(line.seconds, 0) if line else "",
            )
        )
    return rows


def _fast_row(
    entry: Entry, fast: Trained, errors: list[float]
) -> tuple[tuple[str, ...], dict[str, Any]]:
    against = "" if isinstance(entry.family, ClosedForm) else ", true PDE"
    name = f"fast{against if entry.scheme is None else ', EM-25'}"
    label = name if fast.scale == FULL else f"{name} (scaled: {fast.scale})"
    numbers = {
        "l1": errors,
        "seconds": fast.seconds,
        "seeds": fast.seeds,
        "scale": fast.scale,
        "published_l1": entry.published_l1,
        "published_source": entry.source,
    }
    published = f"{entry.published_l1}" + ("" if entry.source == PAPER else "*")
    seconds = f"{entry.gpu_seconds:.0f}"
    return (label, published, seconds, spread(errors, 6), spread(fast.seconds, 0)), numbers


def _notes(table: ErrorTable, paper: Trained, data: dict[str, Any]) -> tuple[str, ...]:
    closed = isinstance(table.family, ClosedForm)
    notes = [
        "The paper's columns are what it prints: means ± standard deviations over four seeds, on "
        "V100 GPUs. Seconds here are those of training, evaluations left out.",
        "Errors are measured on fresh inputs against the closed form."
        if closed
        else "Errors by step are measured against simulations with the same 25 Euler–Maruyama "
        "steps, as in the paper. Against the true PDE (Ninomiya–Victoir or log-ODE steps) these "
        "steps themselves are wrong; * marks the authors' weights, re-measured so.",
    ]
    if paper.scale != FULL:
        hours = _projected_seconds(table, paper) / 3600
        notes.append(
            f"At full scale the paper's method would take about {hours:.1f} hours a seed on this "
            "machine, projected from the time of these steps and proportional to the batch."
        )
    fast = data[table.entries[0].name]
    ratio = mean(data["lines"][-1]["l1"]) / mean(fast["l1"])
    notes.append(
        f"The fast method's error is {ratio:.3g} times smaller than that of the paper's method as "
        "trained here."
    )
    return tuple(notes)


def _projected_seconds(table: ErrorTable, paper: Trained) -> float:
    run = paper.solutions[0].manifest
    setup = paper_setup(table.family)
    growth = setup.batch_size / run.run.training.batch_size
    return mean(paper.seconds) / run.steps * growth * setup.steps


def spread(values: Sequence[float], digits: int = 4) -> str:
    """Mean ± standard deviation; the mean alone of one value.

    Example:
        >>> spread([1.0, 3.0], 2)
        '2.00 ± 1.41'
    """
    return _pair(mean(values), stdev(values) if len(values) > 1 else None, digits)


def _pair(value: float, deviation: float | None, digits: int) -> str:
    tail = "" if deviation is None else f" ± {deviation:.{digits}f}"
    return f"{value:.{digits}f}{tail}"


def _curve(lines: list[dict[str, Any]]) -> list[tuple[float, float]]:
    return [(mean(line["seconds"]), mean(line["l1"])) for line in lines[1:]]


def draw(table: ErrorTable, curves: dict[str, list[tuple[float, float]]]) -> Figure:
    """L1 against seconds, log-log: the paper's figures, its method here, the fast method."""
    figure = Figure(figsize=(6.5, 4.2), layout="constrained")
    axes = figure.subplots()
    published = table.lines[1:]
    axes.errorbar(
        [line.seconds[0] for line in published],
        [line.l1[0] for line in published],
        [line.l1[1] for line in published],
        fmt="s-",
        color="grey",
        label="the paper, V100 GPUs",
    )
    for label, points in curves.items():
        axes.plot(*zip(*points, strict=True), "o-", label=label)
    axes.set(xscale="log", yscale="log", xlabel="seconds", ylabel="L1, Eq. (9)", title=table.title)
    axes.legend()
    return figure
