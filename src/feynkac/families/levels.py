r"""Where a payoff jumps: its comparisons, φ(x) = Φ(x, 1{ρ₁(x) > 0}, 1{ρ₂(x) > 0}, …).

A user writes `x.norm(dim=-1, keepdim=True) < p.radius`; the level ρ is the difference of both
sides, p.radius − |x|. φ can jump where a level is 0, and nowhere else if it is made of comparisons
and continuous functions. The jump there is Φ with that comparison true, minus Φ with it false.
Other functions that jump (`floor`, `sign`, `argmax`, `==`) are noticed, but not understood.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from feynkac.families.family import Family, timed
from feynkac.families.point import Params

GREATER = {"gt", "ge", "greater", "greater_equal"}
LESS = {"lt", "le", "less", "less_equal"}
STEPPED = {"floor", "ceil", "round", "trunc", "fix", "frac", "sign", "sgn", "heaviside"}
STEPPED |= {"fmod", "remainder", "floor_divide", "floordiv", "mod", "rfloordiv", "rmod", "rounding"}
HARMLESS = {"isnan", "isinf", "isfinite", "is_floating_point", "nan_to_num"}


class _Comparisons(TorchFunctionMode):
    """Notes the levels of comparisons, and changes the outcome of one entry of each state's."""

    def __init__(self, lead: torch.Size, which: Tensor | None = None, outcome: bool = True) -> None:
        super().__init__()
        self.lead, self.which, self.outcome = lead, which, outcome
        self.levels: list[Tensor] = []
        self.entries = 0
        self.understood = True

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "").strip("_")
        if name in GREATER | LESS and len(args) == 2:
            level = args[0] - args[1] if name in GREATER else args[1] - args[0]
            return self._noted(level, result) if level.is_floating_point() else result
        if name in STEPPED or (name not in HARMLESS and _counts(args, result)):
            self.understood = False
        return result

    def _noted(self, level: Tensor, result: Tensor) -> Tensor:
        summed_away = level.shape == self.lead  # the last axis, and not kept
        level = level.unsqueeze(-1) if summed_away else level
        sides = zip(reversed(level.shape[:-1]), reversed(self.lead), strict=False)
        if level.ndim > len(self.lead) + 1 or any(n not in (1, wanted) for n, wanted in sides):
            self.understood = False
            return result
        level = level.expand(*self.lead, -1)
        self.levels.append(level)
        first, self.entries = self.entries, self.entries + level.shape[-1]
        if self.which is None:
            return result
        chosen = self.which == torch.arange(first, self.entries, device=level.device)
        return torch.where(chosen[..., 0] if summed_away else chosen, self.outcome, result)


def _counts(args: Any, result: Any) -> bool:
    """Whether a function makes whole numbers or truth values of real ones."""
    real = any(isinstance(arg, Tensor) and arg.is_floating_point() for arg in args)
    return real and isinstance(result, Tensor) and not result.is_floating_point()


def has_levels(family: Family) -> bool:
    """Whether φ has comparisons, and nothing else in it can jump.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> from feynkac.families.models.digital import Digital
        >>> has_levels(Digital()), has_levels(BlackScholes())
        (True, False)
    """
    x, t, p = family.domain.split(family.domain.mean.expand(2, 1, -1))
    x = x.expand(-1, 3, -1)  # three paths of each of two inputs
    with torch.no_grad(), _Comparisons(x.shape[:-1]) as seen:
        family.initial(x, timed(family, p, t))
    return bool(seen.understood and seen.entries > 0)


def with_levels(family: Family, x: Tensor, p: Params) -> tuple[Tensor, Tensor]:
    """φ(x) and ρ(x).  Shape: `(…, d)` → `(…, outputs)`, `(…, L)`; L = 0 without comparisons.

    Example:
        >>> from feynkac.families.models.digital import Digital
        >>> value, level = with_levels(
        ...     Digital(), torch.tensor([[103.0]]), Params(strike=torch.tensor([[100.0]]))
        ... )
        >>> value.item(), level.item()
        (1.0, 3.0)
    """
    with _Comparisons(x.shape[:-1]) as seen:
        value = family.initial(x, p)
    return value, torch.cat([x[..., :0], *seen.levels], dim=-1)


def jump_across(family: Family, x: Tensor, p: Params, which: Tensor) -> Tensor:
    """What φ gains at x when the level `which` becomes positive there, and all else stays.

    Shape: x `(…, d)`, which `(…, 1)` → `(…, outputs)`.

    Example:
        >>> from feynkac.families.models.digital import Digital
        >>> x, strike = torch.tensor([[100.0]]), torch.tensor([[100.0]])
        >>> jump_across(Digital(), x, Params(strike=strike), torch.tensor([[0]])).item()
        1.0
    """
    with _Comparisons(x.shape[:-1], which, True):
        above = family.initial(x, p)
    with _Comparisons(x.shape[:-1], which, False):
        return above - family.initial(x, p)
