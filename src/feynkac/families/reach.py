r"""Where u is known: on the domain, and wherever a scaling symmetry leads into it:

    u(λ) = s^{−w} u(λ₁ s^{e₁}, …, λ_n s^{e_n}),   with s such that the right side is in the domain.

A price that is homogeneous in spot and strike is thus known at every level if it was trained at one
strike: s = 1/K. Inputs in the domain stay as they are. What is fixed there determines s first,
differentiably, so that u has a slope in it too; the scalings that are then left move an input as
little as it takes (by projections onto the bounds, which are linear in the logarithms).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.families.names import Place
from feynkac.families.scaling import scalings
from feynkac.families.values import in_blocks, seen

SWEEPS = 32  # of projections; one suffices for a single scaling
SMALL = 1e-9  # what counts as zero
TINY = torch.finfo(torch.float64).tiny


@dataclass(frozen=True)
class Reach:
    """The domain of a family's solution and what its symmetries add.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> reach = Reach(BlackScholes().on(strike=11.0))
        >>> inside, factor = reach.moved(reach.join(dict(x=95.0, t=0.5, sigma=0.3, strike=110.0)))
        >>> [round(v, 9) for v in inside.tolist()], round(factor.item(), 9)
        ([9.5, 0.5, 0.3, 11.0], 10.0)
    """

    family: Family
    ruled: bool = True
    """Whether the family's `allowed` counts, if it is `Coupled`."""

    @cached_property
    def domain(self) -> Domain:
        """Where the network was trained."""
        return self.family.domain if self.ruled else self.family.domain.where(None)

    @cached_property
    def varies(self) -> Tensor:
        """Which entries u has a slope in.  Shape: `(dim,)`, bool."""
        return self.domain.varies | self._paths.determined if self._fixes else self.domain.varies

    @property
    def free(self) -> list[str]:
        """What u has slopes in, by name, as `Domain.free`."""
        return self.domain.names_of(self.varies)

    def place(self, name: str) -> Place:
        """Where a variable, or one entry of it, stands in the flat input."""
        return self.domain.place(name)

    def join(self, values: Mapping[str, Any], extrapolate: bool = False) -> Tensor:
        """As `Domain.join`, and inputs that a symmetry moves into the domain are taken as well."""
        domain = self.domain
        return self._checked(domain.side_by_side(*domain.broadcast(values)), extrapolate)

    def blocks(
        self, values: Mapping[str, Any], extrapolate: bool, rows: int
    ) -> tuple[tuple[int, ...], Iterator[Tensor]]:
        """As `Domain.blocks`."""
        domain = self.domain
        lead, parts = domain.broadcast(values)
        pieces = (
            self._checked(domain.side_by_side(axes, part), extrapolate).reshape(-1, domain.dim)
            for axes, part in in_blocks(lead, parts, rows)
        )
        return lead, pieces

    def changes(self, direction: Mapping[str, Any]) -> Tensor:
        """A change of each variable by name, 0 where none is given.  Shape: `(…, dim)`.

        Raises:
            InputError: it leads where u has no slope.
        """
        change = self.domain.changes(direction)
        if (seen(change) != 0.0)[..., ~self.varies].any():
            free = ", ".join(self.free)
            raise InputError(f"u is known along {free} only, the others are fixed; omit them.")
        return change

    def moved(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs in the domain, as far as there are such, and what u there is to be multiplied by.

        Shape: `(…, dim)` → `(…, dim)`, `(…, 1)`.
        """
        sloped = self._fixes and (inputs.requires_grad or seen(inputs) is not inputs)
        if not sloped and seen(self.domain.inside(inputs)).all():
            return inputs, inputs.new_ones(*inputs.shape[:-1], 1)
        return self._paths.along(inputs)

    def bounds_at(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Bounds at the level that the values of fixed entries say.  Shape: `(…, dim)` each.

        Example:
            >>> from feynkac.families.models.black_scholes import BlackScholes
            >>> reach = Reach(BlackScholes().on(strike=11.0))
            >>> low, high = reach.bounds_at(torch.tensor([95.0, 0.5, 0.3, 110.0]))
            >>> round(low[0].item(), 9), round(high[0].item(), 9)
            (90.0, 100.0)
        """
        stretch = self._paths.level(inputs)[1] if self._fixes else inputs.new_ones(())
        low, high = (side * stretch for side in self.domain.bounds)
        return low, high

    @property
    def _fixes(self) -> bool:
        """Whether something is fixed, so that a symmetry may add a slope."""
        return not bool(self.domain.varies.all())

    @cached_property
    def _paths(self) -> "_Paths":
        return _Paths(self.domain, *_exponents(self.family))

    def _checked(self, inputs: Tensor, extrapolate: bool) -> Tensor:
        domain = self.domain
        if seen(domain.inside(inputs)).all() or not seen(inputs.isfinite()).all():
            return domain.checked(inputs, extrapolate)
        moved, _ = self._paths.along(inputs.detach())
        try:
            domain.checked(moved, extrapolate)
        except InputError as error:
            held = ~domain.varies & self.varies
            if not held.any() or seen(moved == inputs).all():
                raise
            marks = (f"{n} = {domain.mean[i]:g}" for i, n in _chosen(domain, held))
            raise InputError(
                f"{error} These are the inputs scaled to {', '.join(marks)}."
            ) from error
        return inputs


def _chosen(domain: Domain, mask: Tensor) -> list[tuple[int, str]]:
    return [(i, name) for i, name in enumerate(domain.entries) if mask[i]]


def _exponents(family: Family) -> tuple[Tensor, Tensor]:
    """Of all scalings: of the inputs `(m, dim)` and of u `(m,)`."""
    domain, found = family.domain, scalings(family)
    exponents = torch.zeros(len(found), domain.dim, dtype=torch.float64)
    for row, scaling in zip(exponents, found, strict=True):
        for name, exponent in scaling.exponents.items():
            row[domain.place(name).columns] = exponent
    values = torch.tensor([scaling.value for scaling in found], dtype=torch.float64)
    return exponents, values


class _Paths:
    """The ways that m scalings lead:  ln |λ| → ln |λ| + a E,  a in ℝᵐ."""

    def __init__(self, domain: Domain, exponents: Tensor, values: Tensor) -> None:
        self.domain, self.exponents, self.values = domain, exponents, values
        low, _ = domain.bounds
        self.fixed = ~domain.varies & (low != 0.0) & (exponents != 0.0).any(0)
        at_fixed = exponents[:, self.fixed]
        self.solve = torch.linalg.pinv(at_fixed)
        exact = (self.solve @ at_fixed).diagonal() > 1.0 - SMALL
        self.determined = torch.zeros_like(domain.varies)
        self.determined[self.fixed] = exact
        _, strength, directions = torch.linalg.svd(at_fixed.mT, full_matrices=True)
        rank = int((strength > SMALL).sum())
        self.left = directions[rank:] @ exponents  # what changes nothing that is fixed
        self.left_values = directions[rank:] @ values

    def level(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Steps to where what is fixed is as in training, and what they divide inputs by.

        Shape: `(…, dim)` → `(…, m)`, `(…, dim)`.
        """
        target, here = self.domain.bounds[0][self.fixed], inputs[..., self.fixed].double()
        ratio = target / torch.where(target * here > 0.0, here, target)
        steps = ratio.log() @ self.solve
        return steps, (-steps @ self.exponents).exp()

    def along(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """See `Reach.moved`."""
        known = inputs.to("cpu", torch.float64)
        steps, stretch = self.level(known)
        moved = known / stretch
        factor = -(steps @ self.values).unsqueeze(-1)
        if len(self.left) and not seen(self.domain.inside(moved)).all():
            further = self._project(moved.detach())
            there = moved * (further @ self.left).exp()
            helps = self.domain.inside(there).all(-1, keepdim=True)
            moved = torch.where(helps, there, moved)
            factor = torch.where(helps, factor - (further @ self.left_values).unsqueeze(-1), factor)
        return moved.to(inputs.device), factor.exp().to(inputs.device)

    def _project(self, inputs: Tensor) -> Tensor:
        """Steps along what is left, into the bounds if there is a way.  Shape: `(…, left)`."""
        size = torch.where(inputs == 0.0, 1.0, inputs.abs()).log()
        least, most = self._magnitudes(inputs)
        steps = inputs.new_zeros(*inputs.shape[:-1], len(self.left))
        slabs = [i for i in range(inputs.shape[-1]) if self.left[:, i].abs().max() > SMALL]
        for _ in range(SWEEPS if len(self.left) > 1 else 1):
            for i in slabs:
                normal = self.left[:, i]
                now = size[..., i] + steps @ normal
                wanted = torch.minimum(torch.maximum(now, least[..., i]), most[..., i])
                change = (wanted - now) / normal.square().sum()
                steps = steps + change.unsqueeze(-1) * normal
        return steps

    def _magnitudes(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Bounds of ln |λ| for the sign that λ has."""
        low, high = self.domain.bounds
        least = torch.where(inputs > 0.0, low, -high).clamp_min(0.0).log()
        most = torch.where(inputs > 0.0, high, -low).clamp_min(TINY).log()
        zero = inputs == 0.0  # it stays
        return least.masked_fill(zero, -torch.inf), most.masked_fill(zero, torch.inf)
