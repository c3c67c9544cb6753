"""What a reproduction has computed so far: trainings and numbers in a folder, found again by name.

A run that was stopped goes on where it was: finished trainings are loaded, unfinished ones
continued, numbers read.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from feynkac.families.family import Family
from feynkac.files import make_folder, sha256, write_atomically
from feynkac.solution import Solution
from feynkac.solver import execute
from feynkac.storage import MANIFEST
from feynkac.training.loop import Progress
from feynkac.training.run import Run

T = TypeVar("T")


@dataclass(frozen=True)
class Store:
    """A folder of runs and numbers."""

    folder: Path

    def once(self, key: str, compute: Callable[[], T]) -> T:
        """`compute()`, whose result is JSON data, or what an earlier call with `key` gave."""
        path = self._path(key)
        if path.exists():
            found: T = json.loads(path.read_bytes())["value"]
            return found
        value = compute()
        make_folder(path.parent)
        write_atomically(path, json.dumps({"key": key, "value": value}).encode())
        return value

    def knows(self, key: str) -> bool:
        """Whether `once` has a result for `key`."""
        return self._path(key).exists()

    def _path(self, key: str) -> Path:
        return self.folder / "numbers" / f"{sha256(key.encode())[:16]}.json"

    def solve(
        self, run: Run, family: Family, report: Callable[[Progress], None] | None = None
    ) -> Solution:
        """Carry `run` out, continue it, or load it."""
        return execute(run, family, self.folder / run.folder_name, report)

    def has(self, run: Run) -> bool:
        """Whether `run` is finished."""
        return (self.folder / run.folder_name / MANIFEST).exists()
