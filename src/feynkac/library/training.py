"""Trains the library's solutions, one after the other, and resumes where it was stopped.

Runs are kept in a folder of their own (`runs/library`). A finished one is measured and put on the
shelf; what was finished before is only put there again.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from feynkac.files import read_regular, seal, unseal, write_atomically
from feynkac.library.entries import Entry
from feynkac.library.record import make_record
from feynkac.library.shelf import RECORD, Shelf
from feynkac.runs.folder import RunFolder
from feynkac.runs.run import asked_for
from feynkac.solution import Solution
from feynkac.solver import solve
from feynkac.training.loop import Progress

Report = Callable[[Progress], bool | None]


def train_library(
    entries: Sequence[Entry],
    runs: Path,
    shelf: Shelf,
    report: Report | None = None,
    announce: Callable[[str], None] = lambda _text: None,
    retrain: bool = False,
) -> list[dict[str, Any]]:
    """Train, measure and shelve each entry; returns their records.

    Args:
        entries: what to train.
        runs: folder in which the trainings are kept.
        shelf: where the solutions go.
        report: sees the `Progress` of every step.
        announce: told what is being done.
        retrain: start over, whatever `runs` holds.
    """
    records = []
    for number, entry in enumerate(entries, 1):
        announce(f"{entry.name} ({number} of {len(entries)}): {entry.steps} steps")
        folder = runs / entry.name
        again = retrain or _differs(entry, folder)
        solution = _trained(entry, folder, report, again)
        record = None if again else _kept_record(folder)
        if record is None:
            announce(f"{entry.name}: measuring")
            record = make_record(entry, solution)
            write_atomically(folder / RECORD, seal(record))
        shelf.put(entry.name, folder, record)
        records.append(record)
    return records


def _trained(entry: Entry, folder: Path, report: Report | None, again: bool) -> Solution:
    if again:
        (folder / RECORD).unlink(missing_ok=True)
    return solve(
        entry.family,
        entry.method,
        steps=entry.steps,
        seed=entry.seed,
        out=folder,
        report=report,
        retrain=again,
    )


def _differs(entry: Entry, folder: Path) -> bool:
    """Whether the folder holds a run that the entry did not ask for."""
    files = RunFolder(folder)
    asked = asked_for(entry.family, entry.method, {"steps": entry.steps, "seed": entry.seed})
    return (files.begun or files.finished) and files.run_asked_for(asked) is None


def _kept_record(folder: Path) -> dict[str, Any] | None:
    try:
        return unseal(read_regular(folder / RECORD))
    except (OSError, ValueError):
        return None
