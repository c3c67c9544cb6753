"""Users' own files of Python: imported when a user names them, and for no other reason."""

import functools
import importlib.util
import sys
from pathlib import Path
from types import CodeType, ModuleType

from feynkac.errors import InputError
from feynkac.files import sha256


def import_file(location: str) -> ModuleType:
    """The module in a file.

    Raises:
        InputError: there is none, or it fails.
    """
    path = Path(location)
    if not path.is_file():
        raise InputError(f"there is no file {location!r}.")
    state = path.stat()
    try:
        return _imported(path.resolve(), state.st_mtime_ns, state.st_size)
    except (InputError, KeyboardInterrupt):
        raise
    except SystemExit as error:
        raise InputError(
            f"{location} ends the program on import (sys.exit); put what it does there below "
            "if __name__ == '__main__'."
        ) from error
    except BaseException as error:
        raise InputError(f"{location} fails on import: {type(error).__name__}: {error}") from error


def source_code(path: Path) -> CodeType:
    """The file as a program."""
    text = importlib.util.decode_source(path.read_bytes())
    return compile(text, str(path), "exec", dont_inherit=True)


@functools.lru_cache(maxsize=64)  # so that a class is defined once, however its file is named
def _imported(path: Path, _changed: int, _size: int) -> ModuleType:
    name = f"feynkac_user_{path.stem}"
    if getattr(sys.modules.get(name), "__file__", str(path)) != str(path):  # of another folder
        name += f"_{sha256(str(path).encode())[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{str(path)!r} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        exec(source_code(path), vars(module))  # what is written, and no cache of an older text
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module
