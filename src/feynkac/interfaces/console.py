"""Output for people: a progress line during training, tables afterwards.

On a terminal, progress is one live line; in a pipe, one plain line per evaluation. Progress goes to
standard error, results to standard output.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as LiveProgress
from rich.table import Table

from feynkac.analysis.rounding import error_text, figure, number

if TYPE_CHECKING:
    from collections.abc import Callable

    from feynkac.training.loop import Progress


@contextmanager
def training_display() -> Iterator["Callable[[Progress], None]"]:
    """A function to give to `solve(report=…)`."""
    with runs_display([""]) as show:
        yield lambda progress: show(0, progress)


@contextmanager
def runs_display(names: Sequence[str]) -> Iterator["Callable[[int, Progress], None]"]:
    """One line per run; the function shows the progress of a run by its index."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda run, progress: _plain_line(names[run], progress)
        return
    with LiveProgress(
        TextColumn("{task.description}step {task.completed:>6.0f}/{task.total:.0f}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[status]}"),
        TimeRemainingColumn(compact=True),
        console=console,
        transient=True,
    ) as live:
        waiting = "waiting" if len(names) > 1 else "compiling and timing the first steps"
        tasks = [live.add_task(_before(name), total=1, status=waiting) for name in names]
        errors = [""] * len(names)

        def show(run: int, progress: "Progress") -> None:
            if progress.record:
                errors[run] = _error_text(progress.record)
            speed = progress.step / max(progress.seconds, 1e-9)
            status = f"loss {progress.loss:.4g}  {errors[run]}  {speed:.1f} steps/s"
            live.update(tasks[run], completed=progress.step, total=progress.steps, status=status)

        yield show


def _before(name: str) -> str:
    return f"{name}  " if name else ""


@contextmanager
def fraction_display(label: str) -> Iterator["Callable[[float], None]"]:
    """A function that shows the completed fraction of a long computation."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _fraction: None
        return
    with LiveProgress(console=console, transient=True) as live:
        task = live.add_task(label, total=1.0)
        yield lambda fraction: live.update(task, completed=fraction)


def _plain_line(name: str, progress: "Progress") -> None:
    if progress.record:
        left = progress.seconds / progress.step * (progress.steps - progress.step)
        sys.stderr.write(
            f"{_before(name)}step {progress.step}/{progress.steps}  loss {progress.loss:.4g}  "
            f"{_error_text(progress.record)}  {progress.step / progress.seconds:.1f} steps/s  "
            f"{left:.0f} s left\n"
        )


def _error_text(record: Mapping[str, float | int | None]) -> str:
    return f"L1 {_l1_text(record)}"


def _l1_text(record: Mapping[str, float | int | None]) -> str:
    """Records of older runs have no interval."""
    ends = (record.get("l1_low"), record.get("l1_high"))
    return error_text(record["l1"], record["l1_se"], *ends)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on standard output."""
    table = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*row)
    width = None if sys.stdout.isatty() else 120
    Console(width=width).print(table)


def error_rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    """Names and values of what `solve` and `error` found."""
    shown = {
        "L1 error, Eq. (9)": _l1_text(result),
        **_interval(result),
        **_in_units(result),
        "L2 error": number(result["l2"]),
        "largest error seen": number(result["max"]),
        "L1 of predicting the mean": number(result["mean_baseline"]),
        "L1 of a linear fit": number(result["linear_baseline"]),
        "mean s.e. of the reference": number(result["reference_se"]),
        "inputs": str(result["inputs"]),
    }
    if "steps" in result:
        shown |= {
            "steps": str(result["steps"]),
            "seconds": f"{result['seconds']:.1f}",
            "parameters": str(result["parameters"]),
        }
    if bias := result.get("discretisation"):
        shown["estimated error of the scheme"] = figure(bias["l1"], bias["se"])
    return list(shown.items())


def print_errors(title: str, result: dict[str, Any]) -> None:
    """What `solve` and `error` found, as a table."""
    print_table(title, ("", "value"), error_rows(result))
    for sentence in result.get("warnings", ()):
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"warning: {sentence}")


def _in_units(result: dict[str, Any]) -> dict[str, str]:
    """Records of older runs have no such errors."""
    if result.get("absolute") is None or result.get("relative") is None:
        return {}
    return {
        "mean error in units of u": number(result["absolute"]),
        "the same, per deviation of u": number(result["relative"]),
    }


def _interval(result: dict[str, Any]) -> dict[str, str]:
    if result.get("l1_low") is None or result.get("l1_high") is None:
        return {}
    return {"its 95 % interval": f"{number(result['l1_low'])} … {number(result['l1_high'])}"}
