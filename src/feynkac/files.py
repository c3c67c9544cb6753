"""Durable files: a reader sees the old content or the new, never a part.

Write to a temporary file in the same folder, fsync, then `os.replace`; a killed process leaves at
most a stray temporary file behind, which the next write to the same name removes.
"""

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from feynkac.errors import InputError


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
        InputError: another process holds it.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise InputError(
            f"another process is working in {folder}; wait for it, or choose another folder."
        ) from error
    finally:
        os.close(handle)


def sha256(content: bytes) -> str:
    """SHA-256 of `content` in hexadecimal.

    Example:
        >>> sha256(b"")[:8]
        'e3b0c442'
    """
    return hashlib.sha256(content).hexdigest()
