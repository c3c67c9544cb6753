"""A method in a file: what a search found and `solve --preset` can use."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from feynkac.errors import ArtifactError, InputError
from feynkac.files import SEAL, parse_object, read_regular, seal, unseal, write_atomically
from feynkac.methods.method import Method, find_method
from feynkac.parts import read_part, record_part
from feynkac.training.settings import one_sentence


def write_preset(method: Method, path: Path) -> None:
    """Save `method` as JSON that carries its own checksum."""
    write_atomically(path, seal(record_part(method)))


def read_preset(path: Path) -> Method:
    """The method in a file; what is not set there is open.

    Raises:
        InputError: it cannot be read, or has keys or values that a method does not have.
    """
    data = read_json_object(path, "preset")
    if SEAL in data:  # one that is written by hand has none
        data = _unsealed(path)
    data.setdefault("kind", data.pop("method", "fast"))  # an older one says method
    known = [field.name for field in fields(find_method(data["kind"]))]
    if unknown := [name for name in data if name not in (*known, "kind", "source")]:
        raise InputError(
            f"{path}: unknown key {unknown[0]!r}; a preset has: kind, {', '.join(known)}."
        )
    try:
        found: Method = read_part(Method, data)
        return found
    except ValidationError as error:
        raise InputError(f"{path}: {one_sentence(error)}") from error
    except ArtifactError as error:
        raise InputError(f"{path}: {error}") from error


def _unsealed(path: Path) -> dict[str, Any]:
    try:
        return unseal(read_regular(path))
    except ValueError as error:
        raise InputError(
            f"{path} was altered since it was written; if that was you, delete its line {SEAL!r}."
        ) from error


def read_json_object(path: Path, what: str) -> dict[str, Any]:
    """The JSON object in a file that must hold a `what`."""
    try:
        return parse_object(read_regular(path))
    except OSError as error:
        raise InputError(f"cannot read the {what} {path}: {error.strerror or error}.") from error
    except ValueError as error:
        raise InputError(f"{path} is not a {what}: {error}.") from error
