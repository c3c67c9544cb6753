"""What is found out about a family by evaluating its formulas, and remembered."""

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import torch
from torch import Tensor

from feynkac.families.family import Family

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Family)
LIBRARY = ("feynkac.", "builtins", "abc", "torch", "numpy")  # what does not change
INSTALLED = (*LIBRARY, "feynkac", "math", "scipy", "dataclasses")
PLAIN = (int, float, str, tuple, list, np.ndarray, torch.Tensor, types.FunctionType)
EMPTY = types.CellType()
EQUAL = 1e-9  # relative difference of two formulas in float64 that counts as none
CANCELLED = 1e-3  # of a typical row: what rounding may leave of a small one


def once_per_family(find: Callable[Concatenate[F, P], T]) -> Callable[Concatenate[F, P], T]:
    """`find(family, …)`, which remembers what it found; not if a list among the fields forbids it.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> name = once_per_family(lambda family: print("looks") or family.name())
        >>> name(BlackScholes()), name(BlackScholes())
        looks
        ('black-scholes', 'black-scholes')
    """

    @functools.lru_cache(maxsize=64)
    def kept(_constants: Any, family: F, /, *rest: P.args, **named: P.kwargs) -> T:
        return find(family, *rest, **named)

    @functools.wraps(find)
    def found(family: F, /, *rest: P.args, **named: P.kwargs) -> T:
        known = constants(type(family))
        try:
            hash((known, family))
        except TypeError:
            return find(family, *rest, **named)
        return kept(known, family, *rest, **named)  # type: ignore[arg-type]

    return found


def constants(cls: type) -> tuple[Any, ...]:
    """Numbers, texts, arrays, functions and objects that its formulas use, which may change.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> constants(BlackScholes)
        ()
    """
    found: list[Any] = []
    seen: set[types.FunctionType] = set()

    def follow(function: Any) -> None:
        function = inspect.unwrap(function) if callable(function) else None
        if not isinstance(function, types.FunctionType) or function in seen:
            return
        seen.add(function)
        if function.__module__ and function.__module__.startswith(LIBRARY):
            return
        found.append((function.__code__, function.__defaults__))
        cells = [cell for cell in function.__closure__ or () if cell != EMPTY]
        names = [name for name in function.__code__.co_names if name in function.__globals__]
        for value in (
            *(function.__globals__[name] for name in names),
            *(cell.cell_contents for cell in cells),
        ):
            note(value)

    def note(value: Any) -> None:
        if isinstance(value, torch.Tensor):
            found.append((id(value), value._version))
        elif isinstance(value, np.ndarray):
            found.append((value.shape, value.tobytes()))
        elif isinstance(value, int | float | str | tuple | list | dict):
            found.append(repr(value))
        elif isinstance(value, functools.partial):
            for part in (value.func, value.args, value.keywords):
                note(part)
        elif isinstance(value, types.ModuleType) and not value.__name__.startswith(INSTALLED):
            for part in vars(value).values():
                if (
                    isinstance(part, int | float)
                    or getattr(part, "__module__", "") == value.__name__
                ):
                    note(part)
        else:
            follow(value)
            if not isinstance(value, types.FunctionType | types.ModuleType | type):
                for part in getattr(value, "__dict__", {}).values():
                    if isinstance(part, PLAIN):  # what an object holds, not what that holds
                        note(part)

    for base in (base for base in cls.__mro__ if not base.__module__.startswith(LIBRARY)):
        for member in vars(base).values():
            follow(member.fget if isinstance(member, property) else member)
            if isinstance(member, int | float | np.ndarray | torch.Tensor):
                note(member)
    return tuple(found)


def equal(a: Tensor, b: Tensor) -> bool:
    """Whether two formulas agree, row by row, relative to the largest value of the row.

    A row that is small against the others, by its parameters or by its place, tells as much as they
    do. Where its terms cancel, a thousandth of a typical row counts.  Shape: `(N, …)` both.

    Example:
        >>> equal(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1e-12]]))
        True
        >>> equal(torch.tensor([[1e12], [1.0]]), torch.tensor([[1e12], [2.0]]))
        False
    """
    size = a.abs().flatten(1).amax(1) if a.ndim > 1 else a.abs()
    least = CANCELLED * size[size.isfinite()].median() if size.isfinite().any() else 0.0
    allowed = EQUAL * (size + least).view(-1, *[1] * (a.ndim - 1))
    same = (a == b) | ((a - b).abs() <= allowed)  # infinities are equal, NaN is not
    return bool(same.all())
