r"""The squared radius s = |x|² of a family that is the same in all directions: one dimension.

    ds = (2⟨x, μ⟩ + Tr σσ*) dt + 2|σ*x| dB,    u(x, t) = v(|x|², t),    read at x = √s e₁.

Unlike |x| it has no drift that is infinite at 0, where its noise ends, as that of a variance does.
"""

import functools
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from feynkac.families.capabilities import (
    Absorbing,
    BoundaryValue,
    Discount,
    Jumps,
    Source,
    TimeDependent,
    VectorValued,
)
from feynkac.families.domain import Domain
from feynkac.families.evaluating import once_per_family
from feynkac.families.family import Family, jumps, noise_dim, outputs
from feynkac.families.measures.box import Box
from feynkac.families.point import Params


@dataclass(frozen=True)
class SquaredRadius(Family):
    """s, with all else that the family has; see `squared_radius`."""

    of: Family

    @property
    def domain(self) -> Domain:
        """That of the family with s in place of x."""
        laws = dict(self.of.domain.measures)
        x = laws.pop("x")
        most = sum(max(a * a, b * b) for a, b in zip(x.low, x.high, strict=True))
        return Domain(x=Box(0.0, most), **laws)

    def at(self, s: Tensor) -> Tensor:
        """x = √s e₁.  Shape: `(…, 1)` → `(…, d)`."""
        others = s.new_zeros(()).expand(*s.shape[:-1], self.of.domain.state_dim - 1)
        return torch.cat([s.clamp_min(0.0).sqrt(), others], dim=-1)

    def _columns(self, x: Tensor, p: Params) -> Tensor:
        """Those of σ.  Shape: `(…, d)` → `(m, …, d)`."""
        units = torch.eye(noise_dim(self.of), dtype=x.dtype, device=x.device)
        lead = x.shape[:-1]
        return torch.stack(
            [self.of.diffusion(x, u.expand(*lead, -1), p).expand_as(x) for u in units]
        )

    def drift(self, x: Tensor, p: Params) -> Tensor:
        """2⟨x, μ⟩ + Tr σσ*."""
        at = self.at(x)
        along = (at * self.of.drift(at, p)).sum(-1, keepdim=True)
        return 2.0 * along + self._columns(at, p).square().sum((0, -1)).unsqueeze(-1)

    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """2|σ*x| dw."""
        at = self.at(x)
        return 2.0 * (self._columns(at, p) * at).sum(-1).square().sum(0).sqrt().unsqueeze(-1) * dw

    def initial(self, x: Tensor, p: Params) -> Tensor:
        """φ."""
        return self.of.initial(self.at(x), p)


class _Discounted(SquaredRadius, Discount):
    def discount(self, x: Tensor, p: Params) -> Tensor:
        return self.of.discount(self.at(x), p)  # type: ignore[attr-defined,no-any-return]


class _Heated(SquaredRadius, Source):
    def source(self, x: Tensor, p: Params) -> Tensor:
        return self.of.source(self.at(x), p)  # type: ignore[attr-defined,no-any-return]


class _Walled(SquaredRadius, Absorbing):
    def distance(self, x: Tensor, p: Params) -> Tensor:
        return self.of.distance(self.at(x), p)  # type: ignore[attr-defined,no-any-return]


class _Valued(_Walled, BoundaryValue):
    def boundary_value(self, x: Tensor, p: Params) -> Tensor:
        return self.of.boundary_value(self.at(x), p)  # type: ignore[attr-defined,no-any-return]


class _Vector(SquaredRadius, VectorValued):
    @property
    def outputs(self) -> int:
        return outputs(self.of)


@once_per_family
def squared_radius(family: Family) -> Family:
    """s of a family that `is_radial`, with its discount, source, walls and jumps.

    Example:
        >>> from feynkac.families.models.heat_gaussian import HeatGaussian
        >>> squared_radius(HeatGaussian(dim=3)).domain.state_dim
        1
    """
    parts = (
        (_Discounted, Discount),
        (_Heated, Source),
        (_Valued if isinstance(family, BoundaryValue) else _Walled, Absorbing),
        (_Vector, VectorValued),
        (TimeDependent, TimeDependent),
    )
    bases = [mine for mine, theirs in parts if isinstance(family, theirs)]
    made: Family = _kind((*bases, Jumps) if jumps(family) else tuple(bases))(family)
    return made


@functools.cache
def _kind(bases: tuple[type, ...]) -> Any:
    """The class with these base classes."""
    mine = (
        bases if any(issubclass(base, SquaredRadius) for base in bases) else (SquaredRadius, *bases)
    )
    return type("SquaredRadius", mine, {"__doc__": SquaredRadius.__doc__})
