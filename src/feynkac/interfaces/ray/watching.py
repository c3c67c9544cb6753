"""The progress of a search on standard error, read from its folder.

On a terminal a live table; in a pipe one line per trial that ended.
"""

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.table import Table

from feynkac.tuning.search_report import Row, columns, read_rows
from feynkac.tuning.trials import Trials

PERIOD = 1.0  # seconds between two looks


@contextmanager
def search_display(trials: Trials) -> Iterator[None]:
    """Show the progress of the trials."""
    console = Console(stderr=True)
    if console.is_terminal:
        show = {"refresh_per_second": 1.0 / PERIOD, "transient": True}
        with Live(get_renderable=lambda: _table(read_rows(trials)), console=console, **show):  # type: ignore[arg-type]
            yield
        return
    done = threading.Event()
    told = {row.number for row in read_rows(trials) if row.status != "open"}
    teller = threading.Thread(target=_tell, args=(trials, told, done), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def best_text(rows: Sequence[Row]) -> str:
    """The smallest error so far and its trial."""
    best = min(rows, key=lambda row: row.l1, default=None)
    return f"best so far: trial {best.number}, L1 {best.l1:.2e}" if best and best.last else "…"


def _table(rows: Sequence[Row]) -> Table:
    table = Table(title=best_text(rows), title_justify="left")
    for column in columns(rows):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*row.cells())
    return table


def _tell(trials: Trials, told: set[int], done: threading.Event) -> None:
    ending = False
    while not ending:
        ending = done.wait(PERIOD)
        rows = read_rows(trials)
        for row in rows:
            if row.status != "open" and row.number not in told:
                told.add(row.number)
                name, *_, status, seconds, error = row.cells()
                line = f"trial {name} {status} after {seconds} s, L1 {error}; {best_text(rows)}"
                sys.stderr.write(line + "\n")
