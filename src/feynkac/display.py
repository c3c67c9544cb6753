"""Phases for people: a live line on a terminal or in a notebook, in a pipe the landmarks.

All of it goes to standard error. A line names the phase, how far it is and its figures; the clock
counts from the start of the whole computation.
"""

import io
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from feynkac.clock import Clock
from feynkac.phases import Listener, Phase, heard, listening

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

BAR = 16  # characters
NOTEBOOK_WIDTH = 110  # characters
INTERVAL = 0.2  # seconds between pictures in a notebook


@contextmanager
def showing(progress: bool | None = None) -> Iterator[None]:
    """Show the phases of what is computed inside, unless somebody listens to them already.

    Args:
        progress: whether to; by default on terminals and in notebooks, not in pipes or tests.
    """
    if heard() or progress is False or (progress is None and not _has_screen()):
        yield
        return
    with screen([""]) as (line,), listening(line):
        yield


def _has_screen() -> bool:
    if "PYTEST_CURRENT_TEST" in os.environ:
        return False
    console = _console()
    return console.is_terminal or console.is_jupyter


def _console() -> "Console":
    from rich.console import Console  # only who shows something waits for it

    return Console(stderr=True)


@contextmanager
def screen(names: Sequence[str]) -> Iterator[list[Listener]]:
    """One line per name; each listener shows what it is told on its line."""
    console, lines = _console(), [Line(name) for name in names]
    if console.is_jupyter:
        with _in_notebook(lines) as redraw:
            yield [line.listener(redraw) for line in lines]
    elif console.is_terminal:
        from rich.live import Live

        with Live(
            get_renderable=lambda: drawn(lines),
            console=console,
            transient=True,
            redirect_stdout=False,
            refresh_per_second=8,
        ) as live:
            yield [line.listener(lambda now: live.refresh() if now else None) for line in lines]
    else:
        yield [line.listener(lambda _: None, sys.stderr.write) for line in lines]


class Line:
    """What is known about one computation: its phase, and since when."""

    def __init__(self, name: str) -> None:
        self.name, self.clock = name, Clock()
        self.phase: Phase | None = None
        self.begun: dict[str, tuple[float, float]] = {}
        self.told = 0.0

    def listener(
        self, redraw: Callable[[bool], None], write: Callable[[str], Any] | None = None
    ) -> Listener:
        """A function that takes phases; it redraws at once if there is a new one."""

        def hear(phase: Phase) -> None:
            if phase == self.phase and phase.landmark:  # told by two ways
                return
            new = self.phase is None or phase.name != self.phase.name
            if new and self.phase is None:
                self.clock = Clock()
            self.phase, self.told = phase, self.clock.spent()
            self.begun.setdefault(phase.name, (self.clock.spent(), phase.fraction or 0.0))
            if write and phase.landmark:
                write(self.text() + "\n")
            redraw(new)

        return hear

    @property
    def over(self) -> bool:
        """Whether the phase is done; unless another one begins, so is everything."""
        return self.phase is not None and self.phase.fraction == 1.0

    @property
    def spent(self) -> float:
        """Seconds since the start, up to the end."""
        return self.told if self.over else self.clock.spent()

    @property
    def left(self) -> float | None:
        """Seconds to the end of the phase, at its present speed."""
        if self.phase is None or not self.phase.fraction or self.over:
            return None
        start, before = self.begun[self.phase.name]
        done = self.phase.fraction - before
        return (self.clock.spent() - start) * (1.0 - self.phase.fraction) / done if done else None

    @property
    def times(self) -> str:
        """How long it has taken, and how long the phase still takes."""
        left = "" if self.left is None else f", {duration(self.left)} left"
        return f"{duration(self.spent)}{left}"

    def text(self) -> str:
        """Everything in one line."""
        phase = self.phase or Phase("waiting")
        parts = (f"{duration(self.spent):>6}", self.name, phase.name, phase.detail)
        left = "" if self.left is None else f"{duration(self.left)} left"
        return "  ".join(part for part in (*parts, left) if part)


def duration(seconds: float) -> str:
    """A time for people.

    Example:
        >>> duration(3.21), duration(75.0), duration(7260.0)
        ('3.2 s', '1:15 min', '2:01 h')
    """
    if seconds < 60.0:
        return f"{seconds:.1f} s"
    whole, unit = (seconds, "min") if seconds < 3600.0 else (seconds / 60.0, "h")
    return f"{int(whole) // 60}:{int(whole) % 60:02d} {unit}"


def drawn(lines: Sequence[Line]) -> "Table":
    """The lines with their bars."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    grid, named = Table.grid(padding=(0, 2, 0, 0), expand=True), any(line.name for line in lines)
    for wide in (*[False] * named, False, False, True, False):
        grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1 if wide else None)
    for line in lines:
        phase = line.phase or Phase("waiting")
        known = phase.fraction is not None
        bar = ProgressBar(
            total=1.0,
            completed=phase.fraction or 0.0,
            width=BAR,
            pulse=not known and line.phase is not None,
            animation_time=time.monotonic(),
        )
        title = [Text(line.name, style="bold")] * named
        grid.add_row(*title, Text(phase.name), bar, Text(phase.detail), line.times)
    return grid


@contextmanager
def _in_notebook(lines: Sequence[Line]) -> Iterator[Callable[[bool], None]]:
    """A picture that is replaced, and gone in the end; it needs no widgets."""
    from IPython.display import display

    handle = display(_picture(lines), raw=True, display_id=True)  # type: ignore[no-untyped-call]
    last = Clock()

    def redraw(now: bool) -> None:
        nonlocal last
        if now or last.spent() > INTERVAL:
            handle.update(_picture(lines), raw=True)
            last = Clock()

    try:
        yield redraw
    finally:
        handle.update({"text/plain": "", "text/html": ""}, raw=True)


def _picture(lines: Sequence[Line]) -> dict[str, str]:
    from rich.console import Console

    console = Console(
        file=io.StringIO(),
        record=True,
        width=NOTEBOOK_WIDTH,
        force_jupyter=False,
        force_terminal=True,
        color_system="truecolor",
    )
    console.print(drawn(lines))
    plain = "\n".join(line.text() for line in lines)
    html = console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")
    return {"text/plain": plain, "text/html": html}
