"""Trackers: where the numbers of a training go, step by step, besides its own folder.

A tracker is any object with the three methods below; none of them returns anything.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from feynkac.errors import InputError
from feynkac.files import make_folder, write_atomically

Settings = Mapping[str, Any]
Figures = Mapping[str, float | None]


class Tracker(Protocol):
    """What follows a training, such as a file or an experiment tracker.

    Example:
        >>> class Losses:
        ...     def start(self, settings, step):
        ...         self.seen = []
        ...     def record(self, step, figures):
        ...         self.seen.append(figures["loss"])
        ...     def finish(self):
        ...         pass
        >>> import feynkac as fk
        >>> losses = Losses()
        >>> solution = fk.solve(fk.BlackScholes(), steps=3, batch_size=64, tracker=losses)
        >>> len(losses.seen)
        3
    """

    def start(self, settings: Settings, step: int) -> None:
        """Training begins after `step` steps: 0, or more if it is resumed."""

    def record(self, step: int, figures: Figures) -> None:
        """A step is done. The names are the same at each; None stands for what was not measured."""

    def finish(self) -> None:
        """Training has ended, also by an error or an interrupt."""


@contextmanager
def tracking(tracker: Tracker | None, settings: Settings, step: int) -> Iterator[None]:
    """Start and finish a tracker, if there is one."""
    if tracker is None:
        yield
        return
    tracker.start(settings, step)
    try:
        yield
    finally:
        tracker.finish()


@dataclass(frozen=True)
class CsvTracker:
    """A CSV file with a row per step; cells of what was not measured are empty.

    A resumed training continues the file after the step of its checkpoint.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import feynkac as fk
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     log = fk.CsvTracker(f"{folder}/log.csv")
        ...     solution = fk.solve(fk.BlackScholes(), steps=3, batch_size=64, tracker=log)
        ...     lines = Path(log.path).read_text().splitlines()
        >>> columns = lines[0].split(",")
        >>> columns[:3], len(lines)
        (['step', 'seconds', 'loss'], 4)
    """

    path: str | Path

    def start(self, settings: Settings, step: int) -> None:
        """Begin the file anew, or cut it after `step`."""
        path = Path(self.path)
        make_folder(path.parent)
        lines = path.read_text().splitlines() if step and path.exists() else []
        kept = lines[:1] + [line for line in lines[1:] if _step(line) <= step]
        write_atomically(path, "".join(f"{line}\n" for line in kept).encode())

    def record(self, step: int, figures: Figures) -> None:
        """Add a row, below the names of the columns."""
        text = io.StringIO()
        try:
            with Path(self.path).open("a", encoding="utf-8") as file:
                writer = csv.writer(text, lineterminator="\n")
                if not file.tell():
                    writer.writerow(["step", *figures])
                writer.writerow([step, *("" if v is None else v for v in figures.values())])
                file.write(text.getvalue())  # whole rows, whatever happens
        except OSError as error:
            raise InputError(f"cannot write {self.path}: {error.strerror or error}.") from error

    def finish(self) -> None:
        """Nothing is open."""


def _step(line: str) -> int:
    first = line.partition(",")[0]
    return int(first) if first.isdecimal() else 0


class TensorBoardTracker:
    """Event files for TensorBoard (extra `tensorboard`): `tensorboard --logdir FOLDER`.

    Example:
        >>> TensorBoardTracker("runs/board").folder
        'runs/board'
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = folder
        self._writer: Any = None

    def start(self, settings: Settings, step: int) -> None:
        """Open an event file; what was written beyond `step` before is replaced."""
        try:
            from torch.utils.tensorboard import SummaryWriter  # needs the extra
        except ModuleNotFoundError as error:
            raise InputError(
                "TensorBoardTracker needs tensorboard; install feynkac[tensorboard]."
            ) from error
        self._writer = SummaryWriter(str(self.folder), purge_step=step + 1 if step else None)
        self._writer.add_text("settings", f"```json\n{json.dumps(settings, indent=1)}\n```", step)

    def record(self, step: int, figures: Figures) -> None:
        """Add a point to each curve that was measured."""
        for name, value in figures.items():
            if value is not None:
                self._writer.add_scalar(name, value, step)

    def finish(self) -> None:
        """Close the file."""
        self._writer.close()
