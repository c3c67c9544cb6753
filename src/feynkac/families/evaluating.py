"""What is found out about a family by evaluating its formulas, and remembered."""

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import torch
from torch import Tensor

from feynkac.families.family import Family

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Family)
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
    kept = functools.lru_cache(maxsize=64)(find)

    @functools.wraps(find)
    def found(family: F, /, *rest: P.args, **named: P.kwargs) -> T:
        try:
            hash(family)
        except TypeError:
            return find(family, *rest, **named)
        return kept(family, *rest, **named)  # type: ignore[arg-type]

    return found


def equal(a: Tensor, b: Tensor) -> bool:
    """Whether two formulas agree, relative to the largest value.

    Example:
        >>> equal(torch.tensor([1.0, 0.0]), torch.tensor([1.0, 1e-12]))
        True
    """
    return bool(torch.allclose(a, b, rtol=EQUAL, atol=EQUAL * float(a.abs().max())))
