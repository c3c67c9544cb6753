"""Value and derivatives along one or two variables, with the others fixed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.domain import Domain


@dataclass(frozen=True)
class Sweep:
    """Tables over a grid; each has one axis per variable of `over`, in order."""

    over: dict[str, Tensor]
    """The swept variables, and their values."""
    at: dict[str, Any]
    """The fixed variables."""
    values: dict[str, Tensor]
    """By name: the value, and Greeks or first derivatives."""
    warnings: list[str] = field(default_factory=list)

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "over": {name: axis.tolist() for name, axis in self.over.items()},
            "at": self.at,
            "surfaces": {name: values.tolist() for name, values in self.values.items()},
            "warnings": self.warnings,
        }


def make_grid(
    domain: Domain, over: Sequence[str], points: int, at: Mapping[str, Any]
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Axes through the ranges of scalar variables, and all variables on their grid.

    Raises:
        InputError: more than two variables, the same twice, one that is not a scalar, or several
            values of the others.
    """
    if not 1 <= len(over) <= 2 or len(set(over)) < len(over):
        raise InputError("a sweep needs one variable, or two different ones.")
    for name in over:
        if name not in scalars(domain):
            raise InputError(
                f"cannot sweep {name!r}; the scalar variables are: {', '.join(scalars(domain))}."
            )
    if domain.join({**at, **{n: domain.measures[n].low[0] for n in over}}).ndim > 1:
        raise InputError("a sweep starts from one input; give one value per variable.")
    axes = {
        n: torch.linspace(
            domain.measures[n].low[0], domain.measures[n].high[0], points, dtype=torch.float64
        )
        for n in over
    }
    grid = torch.meshgrid(*axes.values(), indexing="ij")
    moved = {
        n: g.reshape(*g.shape, *domain.measures[n].shape) for n, g in zip(over, grid, strict=True)
    }
    return axes, {**at, **moved}


def scalars(domain: Domain) -> list[str]:
    """The variables with one entry."""
    return [name for name, box in domain.measures.items() if box.size == 1]
