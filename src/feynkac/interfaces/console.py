"""What people see: a progress line while training, tables afterwards.

On a terminal the progress is one live line; in a pipe it becomes one plain line an evaluation.
Progress goes to standard error, so that standard output stays free for results.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as LiveProgress
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from feynkac.training.loop import Progress


@contextmanager
def training_display() -> Iterator["Callable[[Progress], None]"]:
    """A function to give to `solve(report=…)`."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _plain_line
        return
    with LiveProgress(
        TextColumn("step {task.completed:>6.0f}/{task.total:.0f}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[status]}"),
        TimeRemainingColumn(compact=True),
        console=console,
        transient=True,
    ) as live:
        task = live.add_task("training", total=1, status="compiling and timing the first steps")
        last = ""

        def show(progress: "Progress") -> None:
            nonlocal last
            if progress.record:
                last = _error_text(progress.record)
            speed = progress.step / max(progress.seconds, 1e-9)
            status = f"loss {progress.loss:.4g}  {last}  {speed:.1f} steps/s"
            live.update(task, completed=progress.step, total=progress.steps, status=status)

        yield show


@contextmanager
def fraction_display(label: str) -> Iterator["Callable[[float], None]"]:
    """A function that shows how much of a long computation is done."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _fraction: None
        return
    with LiveProgress(console=console, transient=True) as live:
        task = live.add_task(label, total=1.0)
        yield lambda fraction: live.update(task, completed=fraction)


def _plain_line(progress: "Progress") -> None:
    if progress.record:
        left = progress.seconds / progress.step * (progress.steps - progress.step)
        sys.stderr.write(
            f"step {progress.step}/{progress.steps}  loss {progress.loss:.4g}  "
            f"{_error_text(progress.record)}  {progress.step / progress.seconds:.1f} steps/s  "
            f"{left:.0f} s left\n"
        )


def _error_text(record: Mapping[str, float | int | None]) -> str:
    return f"L1 {decimals(record['l1'])} ± {decimals(record['l1_se'])}"


def decimals(value: float | None) -> str:
    """Six decimals, or a dash for what could not be measured."""
    return "–" if value is None else f"{value:.6f}"


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on standard output."""
    table = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*row)
    width = None if sys.stdout.isatty() else 120
    Console(width=width).print(table)
