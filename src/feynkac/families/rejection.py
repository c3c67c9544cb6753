r"""Inputs from a part of a box, by rejection: the first draws that are allowed.

Λ | allowed(Λ),    with  P(allowed) ≥ 1/100,  or drawing would take too long.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.point import Point, describe

Rule = Callable[..., Any]
"""`rule(x, t, p)` → which inputs are allowed, `(…, 1)`."""
LEAST_SHARE = 0.01
LEAST_DRAWS = 2**12  # that a share is judged by
SPARE = 1.1  # more draws than are needed on average


def accept(
    draw: Callable[[int], Tensor], allowed: Callable[[Tensor], Tensor], count: int
) -> Tensor:
    """The first `count` draws that are allowed.

    Args:
        draw: n independent draws `(n, dim)`.
        allowed: which of them to keep, `(n, dim)` → `(n,)`.
        count: how many are wanted.

    Raises:
        InputError: fewer than one in a hundred are allowed.

    Example:
        >>> generator = torch.Generator().manual_seed(0)
        >>> draw = lambda count: torch.rand(count, 1, generator=generator)
        >>> found = accept(draw, lambda inputs: inputs[:, 0] > 0.9, 5)
        >>> found.shape, bool((found > 0.9).all())
        (torch.Size([5, 1]), True)
    """
    kept: list[Tensor] = []
    found, drawn, size = 0, 0, count
    while found < count:
        inputs = draw(size)
        kept.append(inputs[allowed(inputs)])
        found, drawn = found + len(kept[-1]), drawn + size
        if drawn >= LEAST_DRAWS and found < LEAST_SHARE * drawn:
            raise InputError(
                f"only {found} of {drawn} inputs drawn from the box are allowed, less than "
                f"{LEAST_SHARE:.0%}; choose narrower ranges around what `allowed` allows, or other "
                "variables."
            )
        share = max(found / drawn, LEAST_SHARE)
        size = max(int(SPARE * (count - found) / share) + 1, min(LEAST_DRAWS, drawn))
    return torch.cat(kept)[:count]


def require_allowed(inputs: Tensor, allowed: Tensor, split: Callable[[Tensor], Point]) -> None:
    """Refuse inputs `(…, dim)` of which one is not allowed."""
    if allowed.all():
        return
    first = inputs.reshape(-1, inputs.shape[-1])[~allowed.flatten()][0]
    raise InputError(
        f"{describe(split(first))} is not allowed by the family's `allowed`, so the solution was "
        "not trained there; ask elsewhere, or give extrapolate=True."
    )
