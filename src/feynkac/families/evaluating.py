"""What is found out about a family by evaluating its formulas, and remembered."""

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import torch
from torch import Tensor

from feynkac.families.family import Family

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Family)
LIBRARY = ("feynkac.", "builtins", "abc")  # what does not change
EQUAL = 1e-9  # relative difference of two formulas in float64 that counts as none


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
        try:
            hash(family)
        except TypeError:
            return find(family, *rest, **named)
        return kept(constants(type(family)), family, *rest, **named)  # type: ignore[arg-type]

    return found


def constants(cls: type) -> tuple[tuple[str, Any], ...]:
    """Numbers and texts outside a class that its formulas name: they may change in a notebook.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> constants(BlackScholes)
        ()
    """
    own = [base for base in cls.__mro__ if not base.__module__.startswith(LIBRARY)]
    found: dict[str, Any] = {}
    for value in (value for base in own for value in vars(base).values()):
        formula = inspect.unwrap(value) if callable(value) else None
        if isinstance(formula, types.FunctionType):
            named = (name for name in formula.__code__.co_names if name in formula.__globals__)
            found |= {name: formula.__globals__[name] for name in named}
    plain = (int, float, str, tuple)
    return tuple((name, value) for name, value in found.items() if isinstance(value, plain))


def equal(a: Tensor, b: Tensor) -> bool:
    """Whether two formulas agree, relative to the largest value.

    Example:
        >>> equal(torch.tensor([1.0, 0.0]), torch.tensor([1.0, 1e-12]))
        True
    """
    return bool(torch.allclose(a, b, rtol=EQUAL, atol=EQUAL * float(a.abs().max())))
