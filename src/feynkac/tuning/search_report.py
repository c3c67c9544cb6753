"""The results of a search: a table, JSON, CSV, and the smallest error so far against time."""

import csv
import io
import itertools
import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from feynkac.files import write_atomically
from feynkac.methods.preset import write_preset
from feynkac.parts import record_part
from feynkac.training.state import Record
from feynkac.tuning.trials import Trials
from feynkac.tuning.verdict import Verdict

MEASURED = ("l1", "l1_se", "seconds", "step")


@dataclass(frozen=True)
class Row:
    """A trial and its errors."""

    number: int
    status: str
    values: dict[str, Any]
    history: list[Record]

    @property
    def last(self) -> Record:
        """The last measurement; empty if there is none."""
        return self.history[-1] if self.history else {}

    @property
    def l1(self) -> float:
        """The last error; infinite if there is none."""
        value = self.last.get("l1")
        return math.inf if value is None else value

    def record(self) -> dict[str, Any]:
        """As JSON-ready data."""
        measured = {name: self.last.get(name) for name in MEASURED}
        return {"trial": self.number, "status": self.status, **self.values, **measured}

    def cells(self) -> tuple[str, ...]:
        """As text."""
        error = f"{self.l1:.2e} ± {self.last['l1_se'] or math.nan:.0e}" if self.last else "–"
        seconds = f"{self.last['seconds']:.1f}" if self.last else "–"
        name = "default" if self.number == 0 else str(self.number)
        return (name, *map(_text, self.values.values()), self.status, seconds, error)


def read_rows(trials: Trials) -> list[Row]:
    """All trials in their present state."""
    return [Row(t.number, t.status, t.values, trials.history(t.number)) for t in trials.read()]


def columns(rows: Sequence[Row]) -> tuple[str, ...]:
    """The titles of the columns."""
    names = rows[0].values if rows else ()
    return ("trial", *(name.replace("_", " ") for name in names), "status", "seconds", "L1")


def best_so_far(rows: Sequence[Row]) -> tuple[list[float], list[float]]:
    """Seconds of training, trial after trial, and the smallest error measured by then."""
    times, errors, before = [0.0], [math.inf], 0.0
    for row in rows:
        for record in row.history:
            if (l1 := record["l1"]) is not None:
                times.append(before + (record["seconds"] or 0.0))
                errors.append(min(errors[-1], l1))
        before += row.last.get("seconds") or 0.0
    return times[1:], errors[1:]


def write_results(trials: Trials, verdict: Verdict) -> dict[str, Any]:
    """Write `results.json`, `results.csv` and `preset.json`; returns the content of the first.

    The preset is the default unless a trial beat it.
    """
    method = trials.trial(verdict.trial if verdict.beat else 0).method
    rows = [row.record() for row in read_rows(trials)]
    search = trials.search()
    result = {
        "family": search.family,
        "method": search.method,
        "budget": search.budget,
        "seed": search.seed,
        "space": search.space,
        "threads": 1,
        "trials": rows,
        "verdict": verdict.record() | {"sentence": verdict.sentence(search.budget)},
        "preset": record_part(method),
        "folder": str(trials.folder),
    }
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(trials.folder / "results.json", json.dumps(result, indent=1).encode())
    write_atomically(trials.folder / "results.csv", text.getvalue().encode())
    write_preset(method, trials.folder / "preset.json")
    return result


def write_tensorboard(trials: Trials) -> None:
    """Write the folder `tensorboard`: the curves of every trial, its values and its last error."""
    from tensorboardX import SummaryWriter

    folder = trials.folder / "tensorboard"
    shutil.rmtree(folder, ignore_errors=True)
    for row in (row for row in read_rows(trials) if math.isfinite(row.l1)):
        with SummaryWriter(str(folder / f"{row.number:03}")) as log:
            for record, name in itertools.product(row.history, ("l1", "loss")):
                log.add_scalar(name, record[name], record["step"])
            log.add_hparams({k: _text(v) for k, v in row.values.items()}, {"last/l1": row.l1}, ".")


def _text(value: Any) -> str:
    if value is None:
        return "auto"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
