"""Value and derivatives along one or two variables, with the others fixed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from feynkac.cards import Card, Shown
from feynkac.errors import InputError
from feynkac.families.domain import Domain
from feynkac.families.reach import Reach
from feynkac.sketches import curve


@dataclass(frozen=True, repr=False)
class Sweep(Shown):
    """Tables over a grid; each has one axis per variable of `over`, in order."""

    over: dict[str, Tensor]
    """The swept variables, and their values."""
    at: dict[str, Any]
    """The fixed variables."""
    values: dict[str, Tensor]
    """By name: the value, and Greeks or first derivatives; NaN where the family allows no input."""
    warnings: list[str] = field(default_factory=list)

    def card(self) -> Card:
        """What was swept, and the value along it."""
        axes = self.over.items()
        rows = {n: f"{axis[0]:g} … {axis[-1]:g}, {len(axis)} points" for n, axis in axes}
        rows |= {name: str(value) for name, value in self.at.items()}
        (first, axis), *others = axes
        value = self.values["value"].cpu()
        picture = "" if others else curve(axis.tolist(), value.tolist(), f"u over {first}")
        return Card(
            f"Sweep over {', '.join(self.over)}: {', '.join(self.values)}",
            [", ".join(f"{name} {text}" for name, text in rows.items())],
            rows,
            picture,
            self.warnings,
        )

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "over": {name: axis.tolist() for name, axis in self.over.items()},
            "at": self.at,
            "surfaces": {name: _plain(values) for name, values in self.values.items()},
            "warnings": self.warnings,
        }


def make_grid(
    reach: Reach, over: Sequence[str], points: int, at: Mapping[str, Any]
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Axes through the ranges of scalar variables or entries, and all variables on their grid.

    Raises:
        InputError: more than two variables, the same twice, one that is not a scalar or is fixed,
            or several values of the others.
    """
    if not 1 <= len(over) <= 2 or len(set(over)) < len(over):
        raise InputError("a sweep needs one variable, or two different ones.")
    domain, anywhere = reach.domain, replace(reach, ruled=False)
    columns = [_column(domain, name) for name in over]
    trained = dict(zip(over, domain.bounds[0][columns].tolist(), strict=True))
    start = domain.side_by_side(*domain.broadcast({**at, **trained}))
    if start.ndim > 1:
        raise InputError("a sweep starts from one input; give one value per variable.")
    low, high = (side[columns].tolist() for side in reach.bounds_at(start))
    anywhere.join({**at, **dict(zip(over, low, strict=True))})
    ranges = zip(over, low, high, strict=True)
    axes = {name: torch.linspace(a, b, points, dtype=torch.float64) for name, a, b in ranges}
    grid = torch.meshgrid(*axes.values(), indexing="ij")
    shapes = [domain.place(name).shape for name in over]
    moved = {n: g.reshape(*g.shape, *s) for n, g, s in zip(over, grid, shapes, strict=True)}
    return axes, {**at, **moved}


def _column(domain: Domain, name: str) -> int:
    """Of a scalar variable, or of one entry."""
    place = domain.place(name)
    if place.size > 1 or not domain.varies[place.columns].all():
        names = ", ".join(scalars(domain))
        entries = ", and entries such as x[0]" * any("[" in entry for entry in domain.entries)
        raise InputError(f"cannot sweep {name!r}; the scalar variables are: {names}{entries}.")
    return int(place.columns.start)


def scalars(domain: Domain) -> list[str]:
    """The variables with one entry that varies."""
    return [name for name, box in domain.measures.items() if box.size == 1 and name in domain.free]


def _plain(values: Tensor) -> Any:
    """Nested numbers, None for NaN."""
    known = values.double().numpy().astype(object)
    known[values.isnan().numpy()] = None
    return known.tolist()
