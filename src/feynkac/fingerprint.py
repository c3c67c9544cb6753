"""A fingerprint of the formulas that a user wrote, so that a changed one is noticed.

It is a SHA-256 of the class's source, without comments, docstrings and layout, and of everything
that this refers to in the user's own files: base classes, functions, modules, default arguments,
and constants with what they hold. What is installed (Python's own library, torch, feynkac) is left
out. A class without source, typed at the prompt of Python, is known by its byte code.
"""

import ast
import contextlib
import dataclasses
import dis
import functools
import importlib.machinery
import importlib.util
import inspect
import site
import sys
import sysconfig
import textwrap
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from feynkac.errors import InputError
from feynkac.files import sha256

NOTEBOOKS = ("<", "/tmp/ipykernel_")  # where their cells say they are
NUMBERS = (
    *(bool, int, float, complex, str, bytes, type(None)),
    *(torch.Tensor, np.ndarray, np.generic),
)
DATA = (*NUMBERS, dict, list, tuple, set, frozenset)


def fingerprint(*values: Any) -> str:
    """Of the formulas of a class, or of functions; comments, docstrings and layout do not count.

    Raises:
        InputError: its file was edited since it was imported, so that what would be solved is not
            what is written there.
    """
    pieces = _Pieces()
    for value in values:
        pieces.add(value)
    return sha256("\n".join(pieces.texts).encode())


class _Pieces:
    """Texts in the order in which they are referred to: sources once each, constants by name."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._seen: set[int] = set()
        self._alive: list[Any] = []

    def add(self, value: Any, name: str = "") -> None:
        """What `value` is made of, if a user made it."""
        if isinstance(value, NUMBERS):
            self.texts.append(f"{name} = {_constant(value)}")
            return
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        self._alive.append(value)  # an id is its own only as long as the object lives
        if isinstance(value, types.ModuleType):
            self._add_module(value)
        elif isinstance(value, type | types.FunctionType):
            self._add_callable(value)
        elif isinstance(value, dict):
            self._add_all(name, [part for pair in value.items() for part in pair])
        elif isinstance(value, list | tuple):
            self._add_all(name, value)
        elif isinstance(value, set | frozenset):
            self._add_all(name, sorted(value, key=repr))
        else:
            self._add_object(value, name)

    def _add_all(self, name: str, entries: Iterable[Any]) -> None:
        entries = list(entries)
        self.texts.append(f"{name} has {len(entries)} entries")
        for entry in entries:
            self.add(entry, name)

    def _add_object(self, value: Any, name: str) -> None:
        """Its class and what it holds; of others' classes only numbers and the like."""
        kind = type(value)
        self.texts.append(f"{name} is a {kind.__qualname__}")
        if wrapped := getattr(value, "__wrapped__", None):  # by functools.cache, say
            self.add(wrapped, name)
        users = _is_users(_file_of(kind))
        if isinstance(value, functools.partial):
            self._add_all(name, (value.func, value.args, value.keywords))
        elif dataclasses.is_dataclass(value):
            self.add(kind)
            for field in dataclasses.fields(value):
                self.add(getattr(value, field.name, None), field.name)
        else:
            self.add(kind)
            for key, part in sorted(getattr(value, "__dict__", {}).items()):
                if not key.startswith("__") and (users or isinstance(part, NUMBERS)):
                    self.add(part, key)

    def _add_module(self, module: types.ModuleType) -> None:
        """All of it, and what it uses of others; a namespace has only its parts."""
        path = getattr(module, "__file__", None)
        if path is None:  # also sys and the like, which have no parts
            for part in vars(module).values() if hasattr(module, "__path__") else ():
                if isinstance(part, types.ModuleType):
                    self.add(part)
            return
        if not _is_users(path):
            return
        if not path.endswith(".py"):
            self.texts.append(sha256(Path(path).read_bytes()))
            return
        self.texts.append(_normalised(ast.parse(_text_of(path))))
        for name, part in vars(module).items():
            if not (name.startswith("__") or getattr(part, "__module__", "") == module.__name__):
                self.add(part, name)

    def _add_callable(self, value: type | types.FunctionType) -> None:
        """A definition; a function in wrappers is each of them, as far as they are the user's."""
        while wrapped := getattr(value, "__wrapped__", None):
            if isinstance(value, types.FunctionType) and _is_users(value.__code__.co_filename):
                self.texts.append(str(_essence(value.__code__)))
                for name, cell in _closure(value).items():
                    self.add(cell, name)
            value = wrapped
        if isinstance(value, type | types.FunctionType) and _is_users(_file_of(value)):
            self._add_definition(value)

    def _add_definition(self, value: type | types.FunctionType) -> None:
        text, functions = _source(value), list(_own_functions(value))
        known = _known_to(value)
        if text is None:
            self.texts.extend(_byte_codes(value))
            names = [name for function in functions for name in _globals_read(function.__code__)]
            for base in getattr(value, "__bases__", ()):
                self.add(base)
        else:
            tree = ast.parse(textwrap.dedent(text))
            names = _names(tree)
            known |= {name: sys.modules.get(name) for name in _imported_inside(tree)}
            names += _imported_inside(tree)
            self.texts.append(_normalised(tree))
        for name in dict.fromkeys(names):
            if name in known and name != value.__name__:
                self.add(known[name], name)
        for function in functions:
            self._add_all("defaults", function.__defaults__ or ())
            self.add(function.__kwdefaults__ or {}, "defaults")
        for name, part in vars(value).items() if isinstance(value, type) else ():
            if not name.startswith("_") and isinstance(part, DATA):
                self.add(part, name)


def _source(value: type | types.FunctionType) -> str | None:
    try:
        text = inspect.getsource(value)
        stale = _is_stale(value)
    except (OSError, TypeError):
        return None
    except SyntaxError:
        stale = True
    if stale:
        raise InputError(
            f"{_file_of(value)} was edited after {value.__name__} was imported from it; "
            "restart Python, or reload the module, so that what is written is what is solved."
        )
    return text


def _is_stale(value: type | types.FunctionType) -> bool:
    """Whether the file no longer says what was imported from it."""
    module = sys.modules.get(value.__module__)
    loader = getattr(getattr(module, "__spec__", None), "loader", None)
    path = getattr(module, "__file__", None)
    if path is None or type(loader) is not importlib.machinery.SourceFileLoader:
        return False
    written = _codes_by_name(compile(_text_of(path), path, "exec", dont_inherit=True))
    return any(
        _essence(function.__code__) not in map(_essence, written[function.__code__.co_qualname])
        for function in _own_functions(value)
        if function.__code__.co_qualname in written
    )


def _own_functions(value: type | types.FunctionType) -> Iterator[types.FunctionType]:
    """A function itself, or the methods that are written in a class."""
    members = [value] if isinstance(value, types.FunctionType) else vars(value).values()
    for member in members:
        function = _function_in(member)
        function = inspect.unwrap(function) if callable(function) else function
        if isinstance(function, types.FunctionType) and function.__module__ == value.__module__:
            yield function


def _function_in(member: Any) -> Any:
    if isinstance(member, property):
        return member.fget
    if isinstance(member, functools.cached_property):
        return member.func
    return getattr(member, "__func__", member)


def _text_of(path: str) -> str:
    return importlib.util.decode_source(Path(path).read_bytes())


def _codes_by_name(code: types.CodeType) -> dict[str, list[types.CodeType]]:
    """Several may have one name: lambdas, and definitions in branches."""
    found = {code.co_qualname: [code]}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            for name, codes in _codes_by_name(constant).items():
                found.setdefault(name, []).extend(codes)
    return found


def _globals_read(code: types.CodeType) -> Iterator[str]:
    """Names that a function reads from outside, also in functions inside it."""
    outside = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF")
    yield from (each.argval for each in dis.get_instructions(code) if each.opname in outside)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _globals_read(constant)


def _imported_inside(tree: ast.AST) -> list[str]:
    """Modules that are imported inside a definition."""
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append(node.module)
    return found


def _essence(code: types.CodeType) -> tuple[Any, ...]:
    """What a function does, whatever line it stands in and whatever its docstring says."""
    constants = code.co_consts[isinstance((*code.co_consts, 0)[0], str) :]
    inner = tuple(
        _essence(constant) if isinstance(constant, types.CodeType) else repr(constant)
        for constant in constants
    )
    return code.co_code, code.co_names, code.co_varnames, inner


def _byte_codes(value: type | types.FunctionType) -> list[str]:
    version = f"{sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]}"
    return [f"{version} {_essence(function.__code__)}" for function in _own_functions(value)]


def _normalised(tree: ast.AST) -> str:
    """The program without docstrings; comments and layout are gone already."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            node.body = body[1:] or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(ast.fix_missing_locations(tree))


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _names(tree: ast.AST) -> list[str]:
    """All names that are read, each once."""
    found = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    return [*dict.fromkeys(found)]


def _known_to(value: type | types.FunctionType) -> dict[str, Any]:
    """What the names in a definition mean: those around it, and those of its module."""
    module = sys.modules.get(value.__module__ or "")
    known = dict(vars(module)) if module else {}
    for function in _own_functions(value):
        known |= function.__globals__ | _closure(function)
    return known


def _closure(function: types.FunctionType) -> dict[str, Any]:
    """What a function takes from those around it, as far as that exists yet."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found = {}
    for name, cell in cells:
        with contextlib.suppress(ValueError):  # still empty
            found[name] = cell.cell_contents
    return found


def _file_of(value: type | types.FunctionType) -> str | None:
    """Where it was defined; None where nobody knows, as at the prompt."""
    module = sys.modules.get(value.__module__ or "")
    return getattr(module, "__file__", None)


@functools.cache
def _is_users(path: str | None) -> bool:
    """Whether a file is nobody else's: not Python's, not installed, not feynkac's."""
    if path is None or path.startswith(NOTEBOOKS):
        return True
    places = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
    places += [*site.getsitepackages(), site.getusersitepackages(), str(Path(__file__).parent)]
    where = Path(path).resolve()
    return not any(where.is_relative_to(Path(place).resolve()) for place in places)


def _constant(value: Any) -> str:
    """A number, a text or an array, with all its digits."""
    if isinstance(value, torch.Tensor | np.ndarray | np.generic):
        return repr(value.tolist())
    return repr(value)
