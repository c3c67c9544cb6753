"""A fingerprint of the formulas that a user wrote, so that a changed one is noticed.

It is a SHA-256 of the class's source, without comments, docstrings and layout, and of everything
that this refers to in the user's own files: base classes, functions, constants, modules. What is
installed (Python's own library, torch, feynkac) is left out. A class without source, typed at the
prompt of Python, is known by its byte code.
"""

import ast
import dataclasses
import functools
import importlib.machinery
import inspect
import site
import sys
import sysconfig
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from feynkac.errors import InputError
from feynkac.files import sha256

NOTEBOOKS = ("<", "/tmp/ipykernel_")  # where their cells say they are


def fingerprint(cls: type) -> str:
    """Of the formulas of `cls`; the same after a change of comments, docstrings or layout.

    Raises:
        InputError: its file was edited since it was imported, so that what would be solved is not
            what is written there.
    """
    pieces = _Pieces()
    pieces.add(cls)
    return sha256("\n".join(pieces.texts).encode())


class _Pieces:
    """Source texts in the order in which they are referred to, each once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._seen: set[int] = set()
        self._alive: list[Any] = []

    def add(self, value: Any) -> None:
        """What `value` is made of, if a user made it."""
        value = inspect.unwrap(value) if callable(value) else value
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        self._alive.append(value)  # an id is its own only as long as the object lives
        if isinstance(value, types.ModuleType):
            path = getattr(value, "__file__", None)
            if path is not None and _is_users(path):  # sys and the like have no file
                self._add_module(value)
        elif isinstance(value, type | types.FunctionType):
            if _is_users(_file_of(value)):
                self._add_definition(value)
        else:
            self.texts.append(_constant(value))

    def _add_module(self, module: types.ModuleType) -> None:
        tree = ast.parse(Path(str(module.__file__)).read_text())
        self.texts.append(_normalised(tree))
        for name in _names(tree):
            if isinstance(found := vars(module).get(name), types.ModuleType | type):
                self.add(found)

    def _add_definition(self, value: type | types.FunctionType) -> None:
        text = _source(value)
        if text is None:
            self.texts.extend(_byte_codes(value))
            return
        tree = ast.parse(textwrap.dedent(text))
        self.texts.append(_normalised(tree))
        known = _known_to(value)
        for name in _names(tree):
            if name in known and name != value.__name__:
                self.add(known[name])


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
    written = _codes_by_name(compile(Path(path).read_text(), path, "exec", dont_inherit=True))
    return any(
        _essence(written[function.__code__.co_qualname]) != _essence(function.__code__)
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


def _codes_by_name(code: types.CodeType) -> dict[str, types.CodeType]:
    found = {code.co_qualname: code}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _codes_by_name(constant)
    return found


def _essence(code: types.CodeType) -> tuple[Any, ...]:
    """What a function does, whatever line it stands in and whatever its docstring says."""
    inner = tuple(
        _essence(constant) if isinstance(constant, types.CodeType) else repr(constant)
        for constant in code.co_consts
        if not isinstance(constant, str)
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
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        known |= function.__globals__ | {name: cell.cell_contents for name, cell in cells}
    return known


def _file_of(value: type | types.FunctionType) -> str | None:
    """Where it was defined; None where nobody knows, as at the prompt."""
    module = sys.modules.get(value.__module__ or "")
    return getattr(module, "__file__", None)


@functools.cache
def _is_users(path: str | None) -> bool:
    """Whether a file is nobody else's: not Python's, not installed, not feynkac's."""
    if path is None or path.startswith(NOTEBOOKS):
        return True
    places = [sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), *site.getsitepackages()]
    places += [str(Path(__file__).parent)]
    where = Path(path).resolve()
    return not any(where.is_relative_to(Path(place).resolve()) for place in places)


def _constant(value: Any) -> str:
    """A value that formulas use; one that cannot be told apart is known by its type."""
    if isinstance(value, torch.Tensor):
        return repr(value.tolist())
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    plain = (bool, int, float, complex, str, bytes, tuple, list, dict, type(None))
    if isinstance(value, plain) or dataclasses.is_dataclass(value):
        return repr(value)
    return f"{type(value).__module__}.{type(value).__qualname__}"
