"""What a server offers: solutions by name, and runs whose training can be followed."""

import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from feynkac.errors import ArtifactError, FeynkacError
from feynkac.interfaces.server.problems import Problem
from feynkac.interfaces.server.served import Served
from feynkac.runs.folder import RunFolder
from feynkac.solution import Solution

Loader = Callable[[Path], Solution]


@dataclass
class Offer:
    """Solutions, and folders of runs; a run that finishes becomes a solution."""

    load: Loader
    solutions: dict[str, Served] = field(default_factory=dict)
    runs: dict[str, RunFolder] = field(default_factory=dict)
    draining: Callable[[], bool] = lambda: False
    faults: dict[str, str] = field(default_factory=dict)
    """Why a run that has finished cannot be loaded."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, folder: Path) -> str:
        """Offer a folder; its name here. A damaged solution is among the `faults`."""
        name = _unused(_slug(folder.resolve().name), self.runs.keys() | self.solutions.keys())
        self.runs[name] = RunFolder(folder)
        self.refresh()
        return name

    def refresh(self) -> None:
        """Take up the solutions of runs that have finished since."""
        with self._lock:
            for name in self.runs.keys() - self.solutions.keys() - self.faults.keys():
                try:
                    self._open(name)
                except FeynkacError as error:
                    self.faults[name] = str(error)

    def _open(self, name: str) -> None:
        if self.runs[name].finished:
            self.solutions[name] = Served(name, self.load(self.runs[name].path), run=name)

    def find(self, name: str) -> Served:
        """The solution of this name."""
        if name not in self.solutions:
            raise Problem(
                404, f"there is no solution {name[:100]!r}; GET /v1/solutions lists them."
            )
        return self.solutions[name]

    def listed_runs(self) -> list[dict[str, Any]]:
        """All runs and how far they are."""
        return [
            {
                "id": name,
                "state": _state(run),
                "solution": self._solution(name),
                "problem": self.faults.get(name),
            }
            for name, run in self.runs.items()
        ]

    def progress(self, name: str, after: int) -> dict[str, Any]:
        """The errors measured in a run, from number `after` on."""
        run = self.runs.get(name)
        if run is None:
            raise Problem(404, f"there is no run {name[:100]!r}; GET /v1/runs lists them.")
        state, records = _state(run), self._records(name, run)
        return {
            "id": name,
            "state": state,
            "solution": self._solution(name),
            "problem": self.faults.get(name),
            "total": len(records),
            "after": after,
            "records": records[after:],
        }

    def _records(self, name: str, run: RunFolder) -> list[Any]:
        if name in self.solutions:
            return list(self.solutions[name].solution.manifest.history)
        try:
            return list(run.metrics())
        except ArtifactError:  # it is being written
            return []

    def _solution(self, name: str) -> str | None:
        return name if name in self.solutions else None


def make_offer(folders: Iterable[Path], load: Loader) -> Offer:
    """The solutions in these folders, under the names of the folders.

    Raises:
        ArtifactError: there are damaged ones only, or such as need their family.
    """
    found = Offer(load)
    for folder in folders:
        found.add(folder)
    if found.faults and not found.solutions:
        raise ArtifactError(next(iter(found.faults.values())))
    return found


def _state(run: RunFolder) -> str:
    return "finished" if run.finished else "running" if run.begun else "waiting"


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or "solution"


def _unused(name: str, taken: Iterable[str]) -> str:
    numbered = (f"{name}-{i}" for i in range(2, 10**6))
    return name if name not in taken else next(n for n in numbered if n not in taken)
