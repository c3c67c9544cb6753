"""Settings of a method under a name of their own: what a search found and `solve` can use."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from feynkac.errors import InputError
from feynkac.files import SEAL, parse_object, seal, unseal, write_atomically
from feynkac.runs.run import AnyArchitecture
from feynkac.training.optimisers.optimiser import Positive
from feynkac.training.settings import AnyOptimiser, AnySchedule, one_sentence


@dataclass(frozen=True, config={"extra": "forbid"})
class Preset:
    """What replaces a method's own choices; None leaves them as they are.

    Example:
        >>> Preset(batch_size=64).training()
        {'batch_size': 64}
    """

    method: str = "fast"
    """Whose choices they are."""
    architecture: AnyArchitecture | None = None
    optimiser: AnyOptimiser | None = None
    schedule: AnySchedule | None = None
    batch_size: Annotated[int, Field(ge=2)] | None = None
    paths: Annotated[int, Field(ge=1)] | None = None
    """None: the method's, with a budget following the machine."""
    slope_weight: Positive | None = None

    def training(self) -> dict[str, Any]:
        """The fields of `Training` that are set."""
        names = ("optimiser", "schedule", "batch_size", "paths", "slope_weight")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


_ADAPTER = TypeAdapter(Preset)


def preset_to_dict(preset: Preset) -> dict[str, Any]:
    """`preset` as JSON-ready data, without what is not set."""
    data: dict[str, Any] = _ADAPTER.dump_python(preset, mode="json", exclude_none=True)
    return data


def write_preset(preset: Preset, path: Path) -> None:
    """Save `preset` as JSON that carries its own checksum."""
    write_atomically(path, seal(preset_to_dict(preset)))


def read_preset(path: Path) -> Preset:
    """The preset in a file.

    Raises:
        InputError: it cannot be read, or has keys or values that a preset has not.
    """
    data = read_json_object(path, "preset")
    if SEAL in data:  # one that is written by hand has none
        data = _unsealed(path)
    known = [field.name for field in fields(Preset)]
    if unknown := [name for name in data if name not in known]:
        raise InputError(f"{path}: unknown key {unknown[0]!r}; a preset has: {', '.join(known)}.")
    try:
        return _ADAPTER.validate_python(data)
    except ValidationError as error:
        raise InputError(f"{path}: {one_sentence(error)}") from error


def _unsealed(path: Path) -> dict[str, Any]:
    try:
        return unseal(path.read_bytes())
    except ValueError as error:
        raise InputError(
            f"{path} was altered since it was written; if that was you, delete its line {SEAL!r}."
        ) from error


def read_json_object(path: Path, what: str) -> dict[str, Any]:
    """The JSON object in a file that must hold a `what`."""
    try:
        return parse_object(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read the {what} {path}: {error.strerror or error}.") from error
    except ValueError as error:
        raise InputError(f"{path} is not a {what}: {error}.") from error
