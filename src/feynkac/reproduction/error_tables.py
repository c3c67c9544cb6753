r"""Tables 1–4: the error of Eq. (9) against steps and seconds.

Means ± standard deviations over the seeds; the paper's figures beside ours, the fast method below.
Ratios compare like with like: errors against the same reference, of trainings at full scale.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import mean, stdev
from typing import Any

from matplotlib.figure import Figure

from feynkac.benchmarks.bench import Entry
from feynkac.benchmarks.bench_table import PAPER
from feynkac.families.capabilities import ClosedForm
from feynkac.networks.network import make_network
from feynkac.plotting.style import GREY, panels, styled
from feynkac.reproduction.published import AUTHORS, NETWORK_NOTE, ErrorTable
from feynkac.reproduction.result import FULL, Result
from feynkac.reproduction.settings import Settings
from feynkac.reproduction.trainings import Trained, measure, train_fast, train_paper
from feynkac.sampling.generators import make_generator

TRUE_PDE = "paper's method, true PDE"
NOT_RUN = "What full scale would take on this machine is on [what is not run](not-run.md)."


def run_table(table: ErrorTable, settings: Settings) -> Result:
    """Train what is missing, measure, and set the paper's figures beside it."""
    return present_table(table, collect(table, settings))


def collect(table: ErrorTable, settings: Settings) -> dict[str, Any]:
    """All numbers of the table, as JSON-ready data."""
    paper = train_paper(table, settings)
    data: dict[str, Any] = {
        "scale": paper.scale,
        "seeds": paper.seeds,
        "lines": [asdict(line) for line in measured_lines(table, paper)],
        "published": [asdict(line) for line in table.lines],
    }
    for entry in table.entries:
        fast = train_fast(entry, table, settings)
        data[entry.name] = {
            "l1": measure(fast, entry, settings),
            "seconds": fast.seconds,
            "seeds": fast.seeds,
            "scale": fast.scale,
            "published_l1": entry.published_l1,
            "published_source": entry.source,
        }
    if not isinstance(table.family, ClosedForm):
        data[TRUE_PDE] = measure(paper, table.entries[0], settings)
    return data


def present_table(table: ErrorTable, data: Mapping[str, Any]) -> Result:
    """The page of given numbers."""
    rows = _paper_rows(table, data["lines"])
    curves = {"the paper's method, here": _curve(data["lines"])}
    for entry in table.entries:
        rows.append(_fast_row(entry, data[entry.name]))
        seconds, l1 = (mean(data[entry.name][key]) for key in ("seconds", "l1"))
        curves[rows[-1][0]] = [(seconds, l1)]
    if TRUE_PDE in data:
        rows.append((f"the {TRUE_PDE}", "", "", spread(data[TRUE_PDE]), ""))
    return Result(
        name=table.name,
        title=table.title,
        columns=("step", "the paper: L1", "the paper: s on V100", "here: L1", "here: s"),
        rows=rows,
        scale=data["scale"],
        notes=(*_notes(table, data), *(_comparison(entry, data) for entry in table.entries)),
        data=dict(data),
        figure=draw(table, curves),
        seeds=tuple(data["seeds"]),
    )


def _initial_errors(table: ErrorTable, trained: Trained) -> list[float]:
    """L1 before the first step; on few inputs where the reference is simulated."""
    inputs = 4096 if isinstance(table.family, ClosedForm) else None
    errors = []
    for seed, solution in zip(trained.seeds, trained.solutions, strict=True):
        run = solution.manifest.run
        weights = make_generator(seed, "weights")
        untrained = make_network(run.method.architecture, table.family.domain, weights).eval()
        errors.append(replace(solution, network=untrained).error(inputs).l1)
    return errors


@dataclass(frozen=True)
class Line:
    """What was measured at one step, seed by seed."""

    step: int
    seconds: list[float]
    l1: list[float]


def measured_lines(table: ErrorTable, trained: Trained) -> list[Line]:
    """One before the first step, then one per evaluation."""
    initial = _initial_errors(table, trained)
    found = [Line(0, [0.0] * len(initial), initial)]
    histories = [solution.manifest.history for solution in trained.solutions]
    for records in zip(*histories, strict=True):
        step = int(records[0]["step"] or 0)
        seconds = [float(record["seconds"] or 0.0) for record in records]
        errors = [float(record["l1"] or 0.0) for record in records]
        found.append(Line(step, seconds, errors))
    return found


def _paper_rows(table: ErrorTable, lines: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    last = lines[-1]["step"]  # a line stands where the same fraction of the run is done
    places = {round(line["step"] / last * (len(table.lines) - 1)): line for line in lines}
    rows: list[tuple[str, ...]] = []
    for number, published in enumerate(table.lines):
        line = places.get(number)
        here = "" if line is None or line["step"] == published.step else f" (here {line['step']:,})"
        rows.append(
            (
                f"{published.step:,}{here}",
                _pair(*published.l1, 4),
                _pair(*published.seconds, 0),
                short_spread(line["l1"]) if line else "",
                spread(line["seconds"], 0) if line else "",
            )
        )
    return rows


def _fast_row(entry: Entry, numbers: Mapping[str, Any]) -> tuple[str, ...]:
    name = _fast_name(entry)
    label = name if numbers["scale"] == FULL else f"{name} (scaled: {numbers['scale']})"
    published = f"{entry.published_l1}" + ("" if entry.source == PAPER else "*")
    l1, seconds = short_spread(numbers["l1"]), spread(numbers["seconds"], 0)
    return (label, published, f"{entry.gpu_seconds:.0f}", l1, seconds)


def _fast_name(entry: Entry) -> str:
    if isinstance(entry.family, ClosedForm):
        return "fast"
    return "fast, true PDE" if entry.scheme is None else "fast, EM-25"


def _notes(table: ErrorTable, data: Mapping[str, Any]) -> list[str]:
    shown = table.lines[-1].step
    longer = (
        f" By the records in {AUTHORS} they trained for {table.trained_steps:,} steps, of which "
        f"the table shows {shown:,}."
    )
    notes = [
        "The paper's columns are what it prints: means ± standard deviations over four seeds, on "
        f"V100 GPUs.{longer if table.trained_steps != shown else ''} Seconds here are those of "
        "training, evaluations left out.",
        NETWORK_NOTE,
        "Errors are measured on fresh inputs against the closed form."
        if isinstance(table.family, ClosedForm)
        else "Errors by step are measured against simulations with the same 25 Euler–Maruyama "
        "steps, as in the paper. Against the true PDE (Ninomiya–Victoir or log-ODE steps) these "
        "steps themselves are wrong; * marks [the authors' weights](authors-weights.md), "
        "re-measured so.",
    ]
    notes.append(f"Seeds here: {_seeds(table, data)}. The paper's are 0, 1, 2, 3.")
    return notes if data["scale"] == FULL else [*notes, NOT_RUN]


def _seeds(table: ErrorTable, data: Mapping[str, Any]) -> str:
    """Of every training on the page."""
    fast = {_fast_name(entry): data[entry.name]["seeds"] for entry in table.entries}
    found = {"the paper's method": data["seeds"], **fast}
    return "; ".join(f"{name} {', '.join(map(str, seeds))}" for name, seeds in found.items())


def _comparison(entry: Entry, data: Mapping[str, Any]) -> str:
    """Errors against the same reference; the paper's method of here only at full scale."""
    found, scale = mean(data[entry.name]["l1"]), data[entry.name]["scale"]
    against = _reference(entry)
    whose = "the paper's" if entry.source == PAPER else "the authors' weights'"
    parts = [f"{times(entry.published_l1 / found)} {whose} {entry.published_l1:g}"]
    if data["scale"] == FULL:
        own = mean(data[TRUE_PDE] if against == "the true PDE" else data["lines"][-1]["l1"])
        parts.append(f"{times(own / found)} the paper's method's as trained here, {own:.2g}")
    scaled = "" if scale == FULL else f" ({scale})"
    return f"Against {against} the fast method's error{scaled} is {', and '.join(parts)}."


def _reference(entry: Entry) -> str:
    if isinstance(entry.family, ClosedForm):
        return "the closed form"
    return "the true PDE" if entry.scheme is None else "the same 25 Euler–Maruyama steps"


def times(ratio: float) -> str:
    """A ratio of another error to ours, for a reader.

    Example:
        >>> times(1234.5), times(0.5), times(21.06)
        ('1,234 times smaller than', '2 times larger than', '21.1 times smaller than')
    """
    larger, factor = ("smaller", ratio) if ratio >= 1.0 else ("larger", 1.0 / ratio)
    number = f"{factor:,.0f}" if factor >= 100 else f"{factor:.3g}"
    return f"{number} times {larger} than"


def spread(values: Sequence[float], digits: int = 4) -> str:
    """Mean ± standard deviation; the mean alone of one value.

    Example:
        >>> spread([1.0, 3.0], 2)
        '2.00 ± 1.41'
    """
    return _pair(mean(values), stdev(values) if len(values) > 1 else None, digits)


def short_spread(values: Sequence[float]) -> str:
    """The same in few digits, for small numbers.

    Example:
        >>> short_spread([1.0e-5, 1.1e-5])
        '1.1e-05 ± 7e-07'
    """
    tail = f" ± {stdev(values):.1g}" if len(values) > 1 else ""
    return f"{mean(values):.2g}{tail}"


def _pair(value: float, deviation: float | None, digits: int) -> str:
    tail = "" if deviation is None else f" ± {deviation:.{digits}f}"
    return f"{value:.{digits}f}{tail}"


def _curve(lines: Sequence[Mapping[str, Any]]) -> list[tuple[float, float]]:
    return [(mean(line["seconds"]), mean(line["l1"])) for line in lines[1:]]


@styled
def draw(table: ErrorTable, curves: dict[str, list[tuple[float, float]]]) -> Figure:
    """L1 against seconds, log-log: the paper's figures, its method here, the fast method."""
    figure, (axes,) = panels(panel=(6.5, 4.2))
    published = table.lines[1:]
    axes.errorbar(
        [line.seconds[0] for line in published],
        [line.l1[0] for line in published],
        [line.l1[1] for line in published],
        fmt="s-",
        color=GREY,
        label="the paper, V100 GPUs",
    )
    for label, points in curves.items():
        axes.plot(*zip(*points, strict=True), "o-", label=label)
    axes.set(xscale="log", yscale="log", xlabel="seconds", ylabel="L1, Eq. (9)", title=table.title)
    axes.legend()
    return figure
