r"""Long variables, seen through a few combinations of their entries.

Let z be the normalised entries of a variable, m their mean and Σ their covariance. The network sees

    s = Vᵀ Σ⁻¹ (z − m),    VᵀΣ⁻¹V = I,    and  ∂u/∂s_j = ⟨v_j, ∇_z u⟩

if u depends on z through s alone. A basket of a hundred assets is nearly such a function of one or
two sums. Entries as they are have m = 0 and Σ = I; entries in order are order statistics of the
uniform law, whose moments are known.
"""

from collections.abc import Mapping
from typing import Annotated

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from feynkac.errors import InputError

Entry = Annotated[float, Field(allow_inf_nan=False)]


@dataclass(frozen=True, config={"extra": "forbid"})
class Subspace:
    """The directions v_j along which u varies with one variable.

    Example:
        >>> Subspace("x", ((0.6, 0.8),)).variable
        'x'
    """

    variable: str
    """Its name."""
    directions: tuple[tuple[Entry, ...], ...]
    """Each with as many numbers as the variable has entries."""


def order_moments(count: int) -> tuple[Tensor, Tensor]:
    """Mean and covariance of `count` uniform variables of variance 1 in order.

    Example:
        >>> mean, covariance = order_moments(2)
        >>> round(float(covariance.sum()), 12)  # two independent variables have the same sum
        2.0
    """
    place = torch.arange(1, count + 1, dtype=torch.float64) / (count + 1)
    lower = torch.minimum(place[:, None], place) * (1.0 - torch.maximum(place[:, None], place))
    return 3.0**0.5 * (2.0 * place - 1.0), 12.0 * lower / (count + 2)


def maps(
    places: Mapping[str, slice], subspaces: tuple[Subspace, ...], ordered: str | None
) -> tuple[Tensor, Tensor, Tensor]:
    """What all inputs are centred by, and the maps z ↦ s and ∂/∂s ↦ ∂/∂z, variables in turn.

    Shape: `(dim,)`, `(seen, dim)`, `(dim, seen)`; `ordered` names the variable that is in order.
    """
    found = {space.variable: space for space in subspaces}
    centres, combined, along = [], [], []
    for name, where in places.items():
        count = where.stop - where.start
        mean, covariance = (
            order_moments(count)
            if name == ordered
            else (torch.zeros(count, dtype=torch.float64), torch.eye(count, dtype=torch.float64))
        )
        if name in found:
            v = _directions(found[name], count)
            forward = torch.linalg.solve(covariance, v).mT
        else:
            mean = torch.zeros_like(mean)
            v = forward = torch.eye(count, dtype=torch.float64)
        centres.append(mean)
        combined.append(forward)
        along.append(v)
    blocks = (torch.block_diag(*parts) for parts in (combined, along))  # type: ignore[no-untyped-call]
    return torch.cat(centres), *blocks


def _directions(space: Subspace, count: int) -> Tensor:
    """Shape: `(count, r)`."""
    if any(len(row) != count for row in space.directions) or not space.directions:
        raise InputError(
            f"the subspace of {space.variable!r} needs directions of {count} entries each, got "
            f"{[len(row) for row in space.directions]}."
        )
    return torch.tensor(space.directions, dtype=torch.float64).mT
