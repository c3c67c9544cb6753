"""What a reproduction has computed so far: trainings and numbers in a folder, found again by name.

Run a stopped reproduction again to resume it: finished trainings are loaded, unfinished ones
continued, numbers read. A number made by another version of the code is computed anew; a training
is taken as it is, and the result says by which version it was made. Besides the folder there may
be one of committed trainings, which is only read.
"""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from feynkac.benchmarks.version import code_version
from feynkac.errors import ArtifactError
from feynkac.execution import execute
from feynkac.families.family import Family
from feynkac.files import make_folder, sha256, write_atomically
from feynkac.methods import Method
from feynkac.runs.artifact import MANIFEST, WEIGHTS, Manifest
from feynkac.runs.run import Run, asked_for, differences, run_to_dict
from feynkac.solution import Solution
from feynkac.solver import solve
from feynkac.training.loop import Progress

T = TypeVar("T")
VERSION = "version.json"
NUMBERS = "numbers"
DETERMINING = ("steps", "budget", "seed", "evaluations")
"""The fields of a training that tell one from another; those of the machine are not among them."""


@dataclass(frozen=True)
class Used:
    """What a result rests on: a training, or numbers computed for it."""

    what: str
    seed: int | None
    seconds: float
    version: str
    method: str | None = None
    """Of a training."""
    full: bool = False
    """Whether a training has the paper's scale."""
    committed: bool = False
    """Whether it was found among the committed ones."""


@dataclass(frozen=True)
class Store:
    """A folder of runs and numbers, and perhaps one of committed trainings."""

    folder: Path
    committed: Path | None = None
    used: list[Used] = field(default_factory=list, compare=False)
    """All that was asked for, in order; a result's provenance."""

    def once(self, key: str, compute: Callable[[], T], keep: bool = False) -> T:
        """`compute()`, whose result is JSON data, or what an earlier call with `key` gave.

        Args:
            key: for a person to read.
            compute: without arguments.
            keep: take it from another version of the code too, as is right for a training.
        """
        path, version = self._path(key), code_version(getattr(compute, "__module__", None))
        found = _read(path)
        if found is None or (found["version"] != version and not keep):
            start = time.perf_counter()
            value, seconds = compute(), time.perf_counter() - start
            found = {"key": key, "version": version, "seconds": seconds, "value": value}
            make_folder(path.parent)
            write_atomically(path, json.dumps(found).encode())
        self.used.append(Used(NUMBERS, None, found["seconds"], found["version"]))
        result: T = found["value"]
        return result

    def knows(self, key: str) -> bool:
        """Whether `once` has a result for `key`, by whatever version."""
        return _read(self._path(key)) is not None

    def _path(self, key: str) -> Path:
        readable = re.sub(r"[^\w.=]+", "-", key)[:60].strip("-")
        return self.folder / NUMBERS / f"{readable}-{sha256(key.encode())[:8]}.json"

    def solve(
        self,
        run: Run,
        family: Family,
        report: Callable[[Progress], None] | None = None,
        what: str = "",
        full: bool = False,
    ) -> Solution:
        """Carry `run` out, continue it, or load it; `what` and `full` are for the provenance."""
        place = self.find(run)
        if place is None:
            place = self.folder / name_of(run)
            execute(run, family, place, report)
            write_atomically(place / VERSION, json.dumps(code_version()).encode())
        solution = Solution.load(place, family)
        committed = place.parent == self.committed
        version = trained_by(place, solution.manifest)
        method, seed, seconds = run.method.kind, run.training.seed, solution.manifest.seconds
        self.used.append(Used(what, seed, seconds, version, method, full, committed))
        return solution

    def train(
        self,
        family: Family,
        report: Callable[[Progress], None] | None = None,
        what: str = "",
        full: bool = False,
        **asked: Any,
    ) -> Solution:
        """`solve(family, **asked)` in a folder of its own: carried out, continued, or loaded."""
        place = self.folder / name_of_asked(family, **asked)
        if not (place / MANIFEST).exists():
            solve(family, out=place, report=report, **asked)
            write_atomically(place / VERSION, json.dumps(code_version()).encode())
        solution = Solution.load(place, family)
        version, manifest = trained_by(place, solution.manifest), solution.manifest
        method, seed = manifest.run.method.kind, manifest.run.training.seed
        self.used.append(Used(what, seed, manifest.seconds, version, method, full))
        return solution

    def trained(self, family: Family, **asked: Any) -> bool:
        """Whether `train` with these words is finished."""
        return (self.folder / name_of_asked(family, **asked) / MANIFEST).exists()

    def has(self, run: Run) -> bool:
        """Whether `run` is finished, here or among the committed ones."""
        return self.find(run) is not None

    def find(self, run: Run) -> Path | None:
        """The folder of the finished `run`."""
        own = self.folder / name_of(run)
        if (own / MANIFEST).exists():
            return own
        folders = sorted(self.committed.iterdir()) if self.committed and self._holds() else []
        return next((folder for folder in folders if is_of(folder, run)), None)

    def _holds(self) -> bool:
        return self.committed is not None and self.committed.is_dir()


def _read(path: Path) -> dict[str, Any] | None:
    """A number with its version; None if there is none, or one of a time without versions."""
    if not path.exists():
        return None
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found if "version" in found else None


def determining(run: Run) -> dict[str, Any]:
    """What makes two trainings the same, whatever else a `Run` records."""
    data = run_to_dict(run)
    family = {key: data["family"][key] for key in ("name", "fields")}
    training = {key: data["training"].get(key) for key in DETERMINING}
    return {"family": family, "method": data["method"], "training": training}


def name_of(run: Run) -> str:
    """The folder of a run, readable and different for different ones."""
    identity = sha256(json.dumps(determining(run), sort_keys=True).encode())[:8]
    return f"{run.family.name}-{run.method.kind}-seed-{run.training.seed}-{identity}"


def name_of_asked(family: Family, method: Method, seed: int, **training: Any) -> str:
    """The folder of what was asked for in words of `solve`, whatever pilots make of it."""
    asked = asked_for(family, method, {"seed": seed, **training})
    return f"{family.name()}-{method.kind}-seed-{seed}-{asked[:8]}"


def is_of(folder: Path, run: Run) -> bool:
    """Whether `folder` has a finished training with the settings of `run`.

    Raises:
        ArtifactError: the artifact is damaged.
    """
    if not (folder / MANIFEST).exists():
        return False
    found = Solution.load(folder).manifest
    same = not differences(determining(run), determining(found.run))
    return same and (run.training.steps is None or found.steps == run.training.steps)


def trained_by(folder: Path, manifest: Manifest) -> str:
    """The version of the code that finished a training, and the day."""
    path, day = folder / VERSION, manifest.created[:10]
    known = json.loads(path.read_bytes()) if path.exists() else manifest.versions["feynkac"]
    return f"{known} ({day})"


def keep_training(folder: Path, into: Path) -> Path:
    """Copy a finished training, its weights and manifest alone, to be committed.

    Raises:
        ArtifactError: it is not finished, is damaged, or was kept before.
    """
    Solution.load(folder)
    kept = into / folder.name
    if kept.exists():
        raise ArtifactError(f"{kept} exists; delete it to keep {folder} in its place.")
    make_folder(kept)
    for name in (WEIGHTS, MANIFEST):
        write_atomically(kept / name, (folder / name).read_bytes())
    return kept
