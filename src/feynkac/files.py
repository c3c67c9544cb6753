"""Durable files: a reader sees the old content or the new, never a part.

Write to a temporary file in the same folder, fsync, then `os.replace`; a killed process leaves at
most a stray temporary file behind, which the next write to the same name removes.

JSON that is read back is sealed: it carries the SHA-256 of its own content.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from filelock import FileLock, Timeout

from feynkac.errors import InputError

SEAL = "sha256"
LOCK = ".lock"
PATIENCE = 0.2  # seconds: one who is just leaving is waited for


def write_atomically(path: Path, content: bytes) -> None:
    """Replace `path` by `content` in one step.

    Raises:
        InputError: the folder is missing or read-only, or the disk is full.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):  # whatever forbade writing may forbid this too
            temporary.unlink()
        raise InputError(
            f"cannot write {path}: {error.strerror or error}. "
            "Choose a writable folder with free space."
        ) from error


def make_folder(path: Path) -> None:
    """Create a folder and its parents; an existing one is fine."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot create the folder {path}: {error.strerror or error}. Choose another place."
        ) from error


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold `folder` for this process alone; the lock goes with the process, however it ends.

    Raises:
        InputError: another process holds it, or it cannot be written to.
    """
    lock = FileLock(folder / LOCK)
    try:
        if not (folder / LOCK).exists():  # a file that cannot be made is no reason to wait
            (folder / LOCK).touch()
        lock.acquire(timeout=PATIENCE)
    except Timeout as error:
        raise InputError(
            f"another process is working in {folder}; wait for it, or choose another folder."
        ) from error
    except OSError as error:
        raise InputError(
            f"cannot write {folder / LOCK}: {error.strerror or error}. Choose a writable folder."
        ) from error
    try:
        yield
    finally:
        # While it is held: whoever opened the file before sees that it is gone, and opens a new
        # one. Windows keeps an open file until it is released.
        with contextlib.suppress(OSError):
            (folder / LOCK).unlink()
        lock.release()


def sha256(content: bytes) -> str:
    """SHA-256 of `content` in hexadecimal.

    Example:
        >>> sha256(b"")[:8]
        'e3b0c442'
    """
    return hashlib.sha256(content).hexdigest()


def seal(data: dict[str, Any]) -> bytes:
    """JSON text of `data` and its SHA-256.

    Example:
        >>> unseal(seal({"steps": 3}))
        {'steps': 3}
    """
    return (json.dumps(data | {SEAL: _digest(data)}, indent=1, allow_nan=False) + "\n").encode()


def unseal(content: bytes) -> dict[str, Any]:
    """What `seal` was given.

    Raises:
        ValueError: not such a text, or altered since.
    """
    data = parse_object(content)
    if data.pop(SEAL, None) != _digest(data):
        raise ValueError(f"its content does not have the {SEAL} that it says")
    return data


def parse_object(content: bytes) -> dict[str, Any]:
    """A JSON object; NaN and infinities, which JSON does not have, are refused.

    Raises:
        ValueError: it is something else.
    """
    try:
        data = json.loads(content, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(data, dict):
        raise ValueError(f"a JSON object was expected, not {type(data).__name__}")
    return data


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _digest(data: dict[str, Any]) -> str:
    return sha256(json.dumps(data, sort_keys=True, allow_nan=False).encode())
