r"""Ninomiya–Victoir splitting, weak order 2.  With V_j the columns of σ, V_0 the Stratonovich drift

    V_0 = μ − ½ Σ_j (DV_j) V_j,

and e^{sV} the flow of V for time s, a step of length h is, with a fair coin,

    e^{h/2 V_0} e^{√h z_1 V_1} … e^{√h z_d V_d} e^{h/2 V_0},   or the z-flows in reverse order.

Where V_1 … V_d commute, both orders are the same, and one flow along √h Σ z_j V_j does for all.
Flows of affine fields are Taylor series of the matrix exponential; others are integrated by
Runge–Kutta steps of order 4. On strongly multiplicative noise this is far better than Euler: on the
paper's basket 4 steps agree with 8 to within the noise of 0.0005; 25 Euler steps are 0.04 off.
"""

import functools
from abc import ABC, abstractmethod
from typing import Annotated, ClassVar, get_args

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.affine_linear import is_affine
from feynkac.families.family import Family
from feynkac.families.layout import coordinates_first
from feynkac.families.point import Params
from feynkac.sampling.schemes.affine_flow import exponential_of, powers
from feynkac.sampling.schemes.fields import (
    NoiseKind,
    affine_fields,
    along,
    diagonal_drift,
    flow,
    noise_kind,
    stratonovich_drift,
)
from feynkac.sampling.schemes.scheme import Scheme, require_free


@dataclass(frozen=True, config={"extra": "forbid"})
class NinomiyaVictoir(Scheme):
    """Ninomiya–Victoir with `steps` equal steps.

    Example:
        >>> NinomiyaVictoir(steps=4).draws
        8
    """

    order: ClassVar[int] = 2
    steps: Annotated[int, Field(ge=1)] = 4
    noise: NoiseKind = "general"
    """What may be relied on; all but "general" save flows and derivatives."""

    @property
    def draws(self) -> int:
        """One vector per step, and another for its coin, if any: that of the first input."""
        return (2 if self.noise == "general" else 1) * self.steps

    @property
    def increments(self) -> int:
        """The first vectors."""
        return self.steps

    def terminal(self, family: Family, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """State at time t of K paths per input.

        Shape: x `(…, 1, d)`, t `(…, 1, 1)`, z `(2 steps, …, K, d)` → `(…, K, d)`.
        """
        h = t / self.steps
        affine = is_affine(family)
        fields: Fields = AffineFields(p) if affine else SmoothFields(family, p, self.noise)
        x = coordinates_first(x.expand(*z.shape[1:-1], -1))
        normals, coins = z[: self.steps], z[-self.steps :]
        for normal, coin in zip(normals, coins, strict=True):
            dw = h.sqrt() * coordinates_first(normal)
            x = fields.step(x, h, dw, coin.flatten(0, -3)[0, :, 0] > 0)
            if x.requires_grad:
                x.register_hook(coordinates_first)  # type: ignore[no-untyped-call]
        return x

    def check(self, family: Family) -> None:
        """Any family will do whose paths are free, unless its noise is relied on."""
        require_free(family)
        kinds = get_args(NoiseKind)
        found = noise_kind(family) if self.noise != "general" else self.noise
        if kinds.index(found) < kinds.index(self.noise):
            raise InputError(
                f"the noise of {type(family).__name__} is not {self.noise}, but {found}; "
                f"use NinomiyaVictoir(steps={self.steps})."
            )


class Fields(ABC):
    """The vector fields of a family at given parameters."""

    @abstractmethod
    def step(self, x: Tensor, h: Tensor, dw: Tensor, forward: Tensor) -> Tensor:
        """One step.  Shape: x, dw `(…, K, d)`, h `(…, 1, 1)`, forward `(K,)` → `(…, K, d)`."""


class AffineFields(Fields):
    """V_j(x) = A_j x + a_j as matrices on (x, 1).

    The powers of A_j are computed once per input. A path's flow is then their sum with the weights
    s^k/k!, one matrix product for all paths of an input.
    """

    def __init__(self, p: Params) -> None:
        self.drift, *self.columns = (powers(field) for field in affine_fields(p).unbind(-1))

    def step(self, x: Tensor, h: Tensor, dw: Tensor, forward: Tensor) -> Tensor:
        """One step: the paths of each order together, then back into their places."""
        x = exponential_of(self.drift, x, 0.5 * h)
        ones, others = forward.nonzero().squeeze(-1), (~forward).nonzero().squeeze(-1)
        last = x.shape[-1] - 1
        parts = []
        for paths, order in ((ones, range(last + 1)), (others, range(last, -1, -1))):
            part, increments = x[..., paths, :], dw[..., paths, :]
            for j in order:
                part = exponential_of(self.columns[j], part, increments[..., j, None])
            parts.append(part)
        back = torch.cat([ones, others]).argsort()
        x = torch.cat(parts, dim=-2)[..., back, :]
        return exponential_of(self.drift, x, 0.5 * h)


class SmoothFields(Fields):
    """Any coefficients; the Stratonovich correction by automatic differentiation."""

    def __init__(self, family: Family, p: Params, noise: NoiseKind) -> None:
        self.family, self.p, self.noise = family, p, noise

    def step(self, x: Tensor, h: Tensor, dw: Tensor, forward: Tensor) -> Tensor:
        """One step; both orders are taken where a batch needs both."""
        x = flow(self._drift, x, 0.5 * h, substeps=1)
        if self.noise == "general":
            x = self._in_order(x, dw, forward)
        elif self.noise == "additive":
            x = x + self.family.diffusion(x, dw, self.p)
        else:
            x = flow(functools.partial(along, self.family, dw, self.p), x, 1.0)
        return flow(self._drift, x, 0.5 * h, substeps=1)

    def _in_order(self, x: Tensor, dw: Tensor, forward: Tensor) -> Tensor:
        dim = dw.shape[-1]
        for j in range(dim):
            unit = torch.zeros_like(dw)
            unit[..., j] = torch.where(forward, dw[..., j], 0.0)
            unit[..., dim - 1 - j] += torch.where(forward, 0.0, dw[..., dim - 1 - j])
            x = flow(functools.partial(along, self.family, unit, self.p), x, 1.0)
        return x

    def _drift(self, x: Tensor) -> Tensor:
        if self.noise == "additive":
            return self.family.drift(x, self.p)
        drift = diagonal_drift if self.noise == "diagonal" else stratonovich_drift
        return drift(self.family, x, self.p)
