"""Output for people: phases while something runs (`display.py`), tables afterwards.

Progress goes to standard error, results to standard output.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from feynkac.analysis.rounding import error_text, figure, number
from feynkac.display import duration, screen
from feynkac.interfaces.glossary import explained
from feynkac.interfaces.wording import in_shell
from feynkac.phases import Listener, listening

if TYPE_CHECKING:
    from collections.abc import Callable

    from feynkac.analysis.shape import ShapeReport
    from feynkac.training.loop import Progress

SENTENCE = 40  # characters of a cell that is more than a number


@contextmanager
def training_display() -> Iterator["Callable[[Progress], None]"]:
    """Shows the phases of what is computed inside; the function is for runs elsewhere."""
    with screen([""]) as (line,), listening(line):
        yield reporter(line)


def reporter(line: Listener) -> "Callable[[Progress], None]":
    """A function to give to `solve(report=…)` that shows its steps on a line."""
    from feynkac.execution import training_phase

    measured = None

    def report(progress: "Progress") -> None:
        nonlocal measured
        measured = progress.record or measured
        line(training_phase(progress, measured))

    return report


def _l1_text(record: Mapping[str, float | int | None]) -> str:
    """Records of older runs have no interval."""
    ends = (record.get("l1_low"), record.get("l1_high"))
    return error_text(record["l1"], record["l1_se"], *ends)


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    words: Sequence[str] = (),
    cut: bool = False,
) -> None:
    """A table on standard output; below it, what its `words` mean.

    With `cut`, a row is one line, and what does not fit is cut off in the last column.
    """
    table = Table()
    for i, column in enumerate(columns):
        table.add_column(
            column,
            justify="left" if i == 0 or cut or _is_prose(row[i] for row in rows) else "right",
            no_wrap=cut or i == 0,
            overflow="ellipsis" if cut else "fold",
        )
    width = None if sys.stdout.isatty() else 120
    console = Console(width=width, highlight=False, markup=False)  # [x] is what it is, no style
    if cut:
        others = sum(max(len(row[i]) for row in rows) for i in range(len(columns) - 1))
        table.columns[-1].max_width = max(10, console.width - others - 3 * len(columns) - 1)
    for row in rows:
        table.add_row(*row)
    console.print(title, style="italic")  # a table's own title wraps at its width
    console.print(table)
    for line in explained(words):
        console.print(line, style="dim")


def _is_prose(cells: Iterable[str]) -> bool:
    """Whether a column holds sentences, which are read from the left."""
    return max(map(len, cells), default=0) > SENTENCE


def error_rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    """Names and values of what `solve` and `error` found."""
    shown = {
        "L1 error, Eq. (9)": _l1_text(result),
        **_interval(result),
        **_in_units(result),
        **_in_volatility(result),
        "L2 error": number(result["l2"]),
        "largest error seen": number(result["max"]),
        "L1 of predicting the mean": number(result["mean_baseline"]),
        "L1 of a linear fit": number(result["linear_baseline"]),
        "mean s.e. of the reference": number(result["reference_se"]),
        "inputs": str(result["inputs"]),
    }
    if "steps" in result:
        training = result.get("training_seconds")
        shown |= {
            "training steps": str(result["steps"]),
            "time, all in all": duration(result["seconds"]),
            "of it for training": "–" if training is None else duration(training),
            **_loading(result),
            "parameters of the network": str(result["parameters"]),
        }
    if bias := result.get("discretisation"):
        shown["estimated error of the scheme"] = figure(bias["l1"], bias["se"])
    return list(shown.items())


def print_errors(title: str, result: dict[str, Any]) -> None:
    """What `solve` and `error` found, as a table."""
    bias = result.get("discretisation")
    words = ["L1 error", "L2 error", "reference", "inputs", *["scheme"] * bool(bias)]
    print_table(title, ("", "value"), error_rows(result), words)
    for sentence in result.get("warnings", ()):
        console = Console(stderr=True, highlight=False, soft_wrap=True)
        console.print(f"warning: {in_shell(sentence)}", markup=False)


def _loading(result: dict[str, Any]) -> dict[str, str]:
    """It comes before the clock of the run."""
    taken = result.get("import_seconds")
    return {} if taken is None else {"before it, loading PyTorch": duration(taken)}


def _in_units(result: dict[str, Any]) -> dict[str, str]:
    """Records of older runs have no such errors."""
    if result.get("absolute") is None or result.get("relative") is None:
        return {}
    return {
        "mean error in units of u": number(result["absolute"]),
        "the same, per deviation of u": number(result["relative"]),
    }


def _in_volatility(result: dict[str, Any]) -> dict[str, str]:
    """For prices of calls and puts."""
    if result.get("volatility_median_bp") is None:
        return {}
    return {
        "median error of implied volatility": f"{number(result['volatility_median_bp'])} bp",
        "its 99 % quantile": f"{number(result['volatility_99_bp'])} bp",
        "inputs where it counts": f"{result['volatility_share']:.1%}",
    }


def print_shape(report: "ShapeReport") -> None:
    """The arbitrage report of a solution, as a table and a sentence."""
    rows = [
        (
            f"u {row.sentence}",
            f"{row.share:.2%}",
            number(row.mean) if row.share else "–",
            number(row.largest) if row.share else "–",
            _place(row.worst),
        )
        for row in report.rows
    ]
    columns = ("shape", "violated at", "mean size", "largest", "where")
    title = f"arbitrage report, {max((row.inputs for row in report.rows), default=0)} inputs"
    print_table(title, columns, rows)
    Console(highlight=False, soft_wrap=True, markup=False).print(report.summary)


def _place(worst: dict[str, Any] | None) -> str:
    """An input in a few words; long ones are in the JSON."""
    if worst is None:
        return ""
    short = {name: v for name, v in worst.items() if not isinstance(v, list) or _is_short(v)}
    return ", ".join(f"{name}={_few_digits(value)}" for name, value in short.items())


def _is_short(values: list[Any]) -> bool:
    return len(values) <= 3 and not any(isinstance(value, list) for value in values)


def _few_digits(value: Any) -> str:
    many = isinstance(value, list)
    return f"[{', '.join(f'{v:.3g}' for v in value)}]" if many else f"{value:.3g}"


def _interval(result: dict[str, Any]) -> dict[str, str]:
    if result.get("l1_low") is None or result.get("l1_high") is None:
        return {}
    return {"its 95 % interval": f"{number(result['l1_low'])} … {number(result['l1_high'])}"}
