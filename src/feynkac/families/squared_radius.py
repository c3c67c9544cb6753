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
from feynkac.families.evaluating import equal, once_per_family
from feynkac.families.family import Family, jumps, noise_dim, on_the_way, outputs
from feynkac.families.measures.box import Box
from feynkac.families.point import Params

TRIALS, REACH = 8, (1.0, 3.0, 10.0, 30.0)


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

    def _spreads(self, x: Tensor, p: Params) -> tuple[Tensor, Tensor]:
        """Tr σσ* and |σ*x|².  Shape: `(…, d)` → `(…, 1)` each."""
        units = torch.eye(noise_dim(self.of), dtype=x.dtype, device=x.device)
        lead = x.shape[:-1]
        if _is_multiple(self.of):
            noise = self.of.diffusion(x, units[0].expand(*lead, -1), p)[..., :1].square()
            return x.shape[-1] * noise, noise * x[..., :1].square()
        columns = [self.of.diffusion(x, u.expand(*lead, -1), p).expand_as(x) for u in units]
        whole = torch.stack([column.square().sum(-1, keepdim=True) for column in columns]).sum(0)
        along = torch.stack([(column * x).sum(-1, keepdim=True) for column in columns])
        return whole, along.square().sum(0)

    def drift(self, x: Tensor, p: Params) -> Tensor:
        """2⟨x, μ⟩ + Tr σσ*."""
        at = self.at(x)
        along = (at * self.of.drift(at, p)).sum(-1, keepdim=True)
        return 2.0 * along + self._spreads(at, p)[0]

    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """2|σ*x| dw."""
        return 2.0 * self._spreads(self.at(x), p)[1].sqrt() * dw

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
def _is_multiple(family: Family) -> bool:
    """Whether σ is a multiple of the identity, so that one column tells all."""
    domain, generator = family.domain, torch.Generator().manual_seed(0)
    inputs = domain.sample(TRIALS * len(REACH), generator, torch.float64)
    factors = torch.tensor(REACH, dtype=torch.float64).repeat(TRIALS)
    inputs[:, : domain.state_dim] *= factors[:, None]
    x, t, p = domain.split(inputs)
    if noise_dim(family) != x.shape[-1]:
        return False
    dw = torch.randn(x.shape, generator=generator, dtype=torch.float64)
    first = torch.eye(x.shape[-1], dtype=torch.float64)[0].expand_as(x)
    p = on_the_way(family, p, t)
    noise = family.diffusion(x, first, p)
    return equal(family.diffusion(x, dw, p).expand_as(x), noise.expand_as(x)[..., :1] * dw)


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
