"""Durable files: a reader sees the old content or the new, never a part.

Write to a temporary file in the same folder, fsync, `os.replace`, then fsync the folder; a killed
process leaves at most a stray temporary file behind, which the next write to the same name removes.
The temporary file is always a new one, so that a link prepared under its name is never followed.

Files are read only if they are regular (a pipe would block, a device never ends) and not larger
than expected. JSON that is read back is sealed: it carries the SHA-256 of its own content.
"""

import contextlib
import errno
import hashlib
import json
import os
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from filelock import FileLock, Timeout

from feynkac.errors import FeynkacWarning, InputError

SEAL = "sha256"
LOCK = ".lock"
PATIENCE = 0.2  # seconds: one who is just leaving is waited for
LARGEST_TEXT = 2**28  # bytes of JSON; the domain of a million inputs takes about 22 MB
MOST_OBJECTS = 200_000  # in it: a history has one per evaluation


def write_atomically(path: Path, content: bytes) -> None:
    """Replace `path` by `content` in one step.

    Raises:
        InputError: the folder is missing or read-only, or the disk is full.
    """
    temporary = _temporary(path)
    try:
        temporary.unlink(missing_ok=True)  # of a killed process, or a link set by somebody else
        with temporary.open("xb") as file:  # O_EXCL: new, and never through a link
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):  # whatever forbade writing may forbid this too
            temporary.unlink()
        raise InputError(
            f"cannot write {path}: {error.strerror or error}. "
            "Choose a writable folder with free space."
        ) from error


@contextmanager
def tolerated() -> Iterator[None]:
    """A write that may fail, because more depends on the work than on it: a warning says so."""
    try:
        yield
    except InputError as error:
        warnings.warn(f"{error} The work continues without it.", FeynkacWarning, stacklevel=3)


def remove_stray(path: Path) -> None:
    """Remove what a killed process left beside `path`; only for who holds the folder."""
    with contextlib.suppress(OSError):  # then the next write reports it
        _temporary(path).unlink(missing_ok=True)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.tmp")


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, where folders can be synced."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # the file system knows no such thing
            raise
    finally:
        os.close(handle)


def read_regular(path: Path, largest: int = LARGEST_TEXT) -> bytes:
    """Content of a regular file of at most `largest` bytes; pipes and devices are not opened.

    Raises:
        OSError: there is no such file, it cannot be read, or it is something else.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe does not block then
    try:
        found = os.fstat(handle)  # of what was opened, whatever the name means by now
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        if found.st_size > largest:
            reason = f"it has {found.st_size} bytes, at most {largest} were expected"
            raise OSError(errno.EFBIG, reason, str(path))
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(largest)
    finally:
        os.close(handle)


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
        _make_empty(folder / LOCK)  # a file that cannot be made is no reason to wait
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


def _make_empty(path: Path) -> None:
    """A new file, never through a link; one that is there is kept."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))


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
        ValueError: it is something else, or has more objects and lists than any file of a run.
    """
    if content.count(b"{") + content.count(b"[") > MOST_OBJECTS:  # before memory for them is taken
        raise ValueError(f"it has more than {MOST_OBJECTS} objects and lists")
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
