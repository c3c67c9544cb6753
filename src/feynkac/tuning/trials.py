"""A search for settings, kept in a folder: its task, its trials and their results.

    search.json, trials/000/trial.json, trials/001/trial.json, …

Trial 0 is the method's own choice. Beside its `trial.json`, a trial has the files of its run and
can be resumed like any run.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass as plain_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from feynkac.checks.checkup import require_sound
from feynkac.clock import Clock
from feynkac.errors import ArtifactError, InputError
from feynkac.execution import execute
from feynkac.families.catalogue import find_family
from feynkac.families.family import Family
from feynkac.files import make_folder, read_regular, seal, sha256, unseal, write_atomically
from feynkac.methods import Method
from feynkac.methods.method import find_method
from feynkac.methods.space import Space
from feynkac.preparation import make_run
from feynkac.runs.artifact import as_trained, read_artifact
from feynkac.runs.folder import RunFolder
from feynkac.runs.run import differences, record_family
from feynkac.solution import Solution
from feynkac.training.loop import Progress
from feynkac.training.settings import Training, one_sentence
from feynkac.training.state import Record

Status = Literal["open", "finished", "stopped", "diverged", "failed"]
ENDED = ("finished", "stopped", "diverged")
MOST_SECONDS_LOST = 30.0
T = TypeVar("T")


@dataclass(frozen=True, config={"extra": "forbid"})
class Search:
    """The task of a search, and the time per trial."""

    family: str
    """A name, or path/to/file.py:ClassName."""
    fields: dict[str, Any]
    method: str
    budget: float
    """Seconds per trial."""
    seed: int
    """Seed of the trainings and of the proposals."""
    space: dict[str, Any]
    """Ranges by name."""
    domain: Annotated[dict[str, Any] | None, Field(exclude_if=lambda found: found is None)] = None
    """Where the family is solved, if not on its own domain; see `Family.on`."""
    source: Annotated[str | None, Field(exclude_if=lambda found: found is None)] = None
    """Fingerprint of the family's formulas, if it is not built in."""

    def found(self) -> Family:
        """The family itself.

        Raises:
            ArtifactError: its formulas have changed since the search was begun.
        """
        family = as_trained(find_family(self.family, self.fields), self.domain)
        if record_family(family).source != self.source:
            raise ArtifactError(
                f"the formulas of {self.family} have changed since this search was begun; run the "
                "command again, which begins another one."
            )
        return family

    @property
    def folder_name(self) -> str:
        """A readable name that differs between different searches."""
        identity = sha256(json.dumps(_SEARCH.dump_python(self), sort_keys=True).encode())
        name = self.family.rpartition(":")[2]
        return f"tune-{name}-{self.method}-seed{self.seed}-{identity[:8]}"


@dataclass(frozen=True, config={"extra": "forbid"})
class Trial:
    """One point of the search space."""

    number: int
    values: dict[str, Any]
    method: Method
    """With the settings that these values mean; the other fields are open."""
    status: Status = "open"


_SEARCH, _TRIAL = TypeAdapter(Search), TypeAdapter(Trial)


def make_search(
    family: str,
    fields: dict[str, Any],
    method: str,
    budget: float | str,
    seed: int,
    ranges: Mapping[str, Any],
    measures: Mapping[str, Any] | None = None,
) -> tuple[Search, Space]:
    """A search of a method's space, with some ranges replaced, on other `measures` if given.

    Example:
        >>> search, space = make_search("black-scholes", {}, "fast", "15s", 0, {"depth": [2]})
        >>> search.budget, space.default["depth"]
        (15.0, 3)
    """
    found = find_family(family, fields).on(**(measures or {}))
    require_sound(found)
    try:
        length = Training(budget=budget, seed=seed)  # type: ignore[arg-type]
    except ValidationError as error:
        raise InputError(one_sentence(error)) from error
    space = find_method(method).space(found).narrowed(ranges)
    assert length.budget is not None
    known = record_family(found)
    task = (family, fields, method, length.budget, seed, space.record())
    return Search(*task, known.domain, known.source), space


@plain_dataclass(frozen=True)
class Trials:
    """The folder of a search."""

    folder: Path

    def require(self, search: Search) -> None:
        """Refuse a folder that holds another search."""
        if not (self.folder / "search.json").exists():
            return
        ours, theirs = (_SEARCH.dump_python(each, mode="json") for each in (search, self.search()))
        if found := differences(ours, theirs):
            raise ArtifactError(
                f"{self.folder} holds a search with other settings ({'; '.join(found[:3])}); "
                "choose another folder, or delete that one."
            )

    def claim(self, search: Search) -> None:
        """Save `search` in the folder."""
        self.require(search)
        make_folder(self.folder / "trials")
        write_atomically(
            self.folder / "search.json", seal(_SEARCH.dump_python(search, mode="json"))
        )

    def search(self) -> Search:
        """The search of this folder."""
        return _read(self.folder / "search.json", _SEARCH)

    def path(self, number: int) -> Path:
        """The folder of a trial."""
        return self.folder / "trials" / f"{number:03}"

    def write(self, trial: Trial) -> Trial:
        """Save `trial`."""
        folder = self.path(trial.number)
        make_folder(folder)
        write_atomically(folder / "trial.json", seal(_TRIAL.dump_python(trial, mode="json")))
        return trial

    def trial(self, number: int) -> Trial:
        """One trial."""
        return _read(self.path(number) / "trial.json", _TRIAL)

    def read(self) -> list[Trial]:
        """All trials by number."""
        paths = sorted((self.folder / "trials").glob("*/trial.json"))
        return sorted((_read(path, _TRIAL) for path in paths), key=lambda trial: trial.number)

    def history(self, number: int) -> list[Record]:
        """The measurements of a trial so far."""
        folder = RunFolder(self.path(number))
        return read_artifact(folder.path)[0].history if folder.finished else folder.metrics()

    def last(self, number: int) -> Record:
        """The last measurement of a trial; empty if there is none."""
        return (self.history(number) or [{}])[-1]

    def best(self) -> Trial | None:
        """The finished trial with the smallest error."""
        finished = [trial for trial in self.read() if trial.status == "finished"]
        return min(finished, key=lambda trial: self.last(trial.number)["l1"] or 1.0, default=None)


def train_trial(
    search: Search,
    method: Method,
    seed: int,
    folder: Path,
    report: Callable[[Progress], None] | None = None,
) -> Solution:
    """Solve the family of `search` by `method` in the time of a trial, or resume."""
    clock = Clock()
    family = search.found()
    lengths = {
        "budget": search.budget,
        "seed": seed,
        "checkpoint_seconds": min(MOST_SECONDS_LOST, search.budget / 5),
    }
    run = make_run(family, method, lengths, folder)
    return execute(run, family, folder, report, clock)


def _read(path: Path, kind: TypeAdapter[T]) -> T:
    try:
        return kind.validate_python(unseal(read_regular(path)))
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{path} is damaged; choose another folder.") from error
