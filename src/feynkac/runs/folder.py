"""The folder of a run: what each file in it is, and how they are written and read back.

run.json                  settings, decisions and pace, sealed; written before the first step
checkpoint.safetensors    the state, while the run is under way
metrics.jsonl             the errors measured so far, one JSON object per line
manifest.json, weights    the result (`artifact.py`)
"""

import contextlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from feynkac.errors import ArtifactError
from feynkac.files import (
    locked,
    make_folder,
    parse_object,
    read_regular,
    remove_stray,
    seal,
    unseal,
    write_atomically,
)
from feynkac.runs.artifact import MANIFEST, RUN, WEIGHTS, read_artifact
from feynkac.runs.older_formats import FORMAT
from feynkac.runs.run import (
    Decisions,
    Run,
    determining,
    differences,
    run_from_dict,
    run_to_dict,
    settings_of,
)
from feynkac.training.checkpoint import load_checkpoint, save_checkpoint
from feynkac.training.pace import Pace, read_pace
from feynkac.training.state import Record, State

CHECKPOINT, METRICS, CONTROL = "checkpoint.safetensors", "metrics.jsonl", "control"
FILES = (MANIFEST, RUN, CHECKPOINT, METRICS, WEIGHTS)  # in the order in which they are removed
MOST_ROWS = 50_000  # of a history; a run measures some dozens of times
_DECISIONS = TypeAdapter(Decisions)


@dataclass(frozen=True)
class RunFolder:
    """One run, begun, under way or finished."""

    path: Path

    @property
    def finished(self) -> bool:
        """Whether it holds a result."""
        return (self.path / MANIFEST).exists()

    @property
    def begun(self) -> bool:
        """Whether it holds the settings of a run."""
        return (self.path / RUN).exists()

    @property
    def under_way(self) -> bool:
        """Whether there is a checkpoint to continue from."""
        return (self.path / CHECKPOINT).exists()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Made if need be, and held for this process alone."""
        make_folder(self.path)
        with locked(self.path):
            for name in FILES:
                remove_stray(self.path / name)
            yield

    def clear(self) -> None:
        """Remove the run, whatever became of it; other files stay."""
        for name in FILES:
            (self.path / name).unlink(missing_ok=True)
        remove_folder(self.path / CONTROL)

    def run_asked_for(self, asked: str) -> Run | None:
        """The run that these words once began here, with what it has chosen since."""
        with contextlib.suppress(ArtifactError, ValidationError, KeyError, TypeError):
            run = self._run()
            return run if run is not None and run.asked == asked else None
        return None  # what is damaged is reported when it is needed

    def _run(self) -> Run | None:
        if self.finished:
            return read_artifact(self.path)[0].run
        return run_from_dict(self._read()["run"]) if self.begun else None

    def require(self, run: Run) -> None:
        """See that what is here was made with the settings of `run`.

        Raises:
            ArtifactError: it was made with others, or from other formulas.
        """
        found = read_artifact(self.path)[0].run if self.finished else None
        theirs = settings_of(found) if found else determining(self._read()["run"])
        require_same(settings_of(run), theirs, self.path)

    def keep(self, run: Run, decisions: Decisions, pace: Pace) -> None:
        """Write down what a continued run must share."""
        content = {
            "format": FORMAT,
            "run": run_to_dict(run),
            **asdict(decisions),
            "segments": pace.segments,
        }
        write_atomically(self.path / RUN, seal(json.loads(json.dumps(content))))

    def decisions(self) -> tuple[Decisions, Pace]:
        """What the run here has decided for itself so far."""
        data = self._read()
        try:
            pace = read_pace(data.pop("segments"))
            data.pop("run")
            data.pop("format")
            return _DECISIONS.validate_json(json.dumps(data)), pace
        except (KeyError, TypeError, ValueError) as error:
            raise self._damaged(str(error)) from error

    def save(self, state: State, identity: str) -> None:
        """Write a checkpoint."""
        save_checkpoint(state, self.path / CHECKPOINT, identity)

    def restore(self, state: State, identity: str) -> None:
        """Bring `state` to where the checkpoint was written."""
        load_checkpoint(state, self.path / CHECKPOINT, identity)

    def write_metrics(self, history: list[Record]) -> None:
        """All errors measured so far."""
        lines = "".join(json.dumps(record) + "\n" for record in history)
        write_atomically(self.path / METRICS, lines.encode())

    def metrics(self) -> list[Record]:
        """What `write_metrics` wrote last; only to look at while the run is under way."""
        try:
            content = read_regular(self.path / METRICS)
            if content.count(b"\n") > MOST_ROWS:  # before time for them is taken
                raise ValueError(f"it has more than {MOST_ROWS} rows")
            lines = content.splitlines()
            return [parse_object(line) for line in lines]
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            raise ArtifactError(
                f"{self.path / METRICS} is damaged; choose another folder."
            ) from error

    def drop_checkpoint(self) -> None:
        """Once the result is there."""
        (self.path / CHECKPOINT).unlink(missing_ok=True)

    def _read(self) -> dict[str, Any]:
        try:
            data = unseal(read_regular(self.path / RUN))
        except (OSError, ValueError) as error:
            raise self._damaged(str(error)) from error
        if data.get("format") != FORMAT:
            raise ArtifactError(
                f"the run in {self.path} was begun by another version of feynkac; finish it with "
                "that one, or start over (retrain=True)."
            )
        return data

    def _damaged(self, why: str) -> ArtifactError:
        return ArtifactError(f"{self.path / RUN} is damaged ({why}); choose another folder.")


def remove_folder(path: Path) -> None:
    """Remove a folder and all in it; of a link only the link."""
    if path.is_symlink():
        path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)


def require_same(ours: dict[str, Any], theirs: Any, folder: Path) -> None:
    """Refuse settings that are not those in a folder."""
    # older runs do not say from which formulas
    unknown = ("asked ", "family.source is None ", "family.samplers is None ")
    found = [line for line in differences(ours, theirs) if not line.startswith(unknown)]
    if not found:
        return
    way_out = "choose another folder, or start over (retrain=True)"
    if all(line.startswith(("family.source ", "family.samplers ")) for line in found):
        name = ours["family"]["name"]
        raise ArtifactError(
            f"{folder} was made from other formulas: the source of {name}, or of what draws its "
            f"inputs, has changed since; {way_out}."
        )
    raise ArtifactError(
        f"{folder} holds a run with other settings ({'; '.join(found[:3])}); {way_out}."
    )
