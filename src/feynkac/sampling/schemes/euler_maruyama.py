r"""Euler–Maruyama:  S ← S + μ(S) h + σ(S) ΔB,  h = t / steps  (paper, Eq. 8).

Weak order 1, strong order ½. On strongly multiplicative noise the constant is large: 25 steps are
4 % off on the paper's basket.
"""

from typing import Annotated, ClassVar

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from feynkac.families.affine_linear import is_affine
from feynkac.families.family import Family
from feynkac.families.layout import coordinates_first
from feynkac.families.point import Params
from feynkac.sampling.schemes.affine_flow import euler_steps
from feynkac.sampling.schemes.fields import ito_fields
from feynkac.sampling.schemes.scheme import Scheme, require_free


@dataclass(frozen=True, config={"extra": "forbid"})
class EulerMaruyama(Scheme):
    """Explicit Euler–Maruyama with `steps` equal steps.

    Example:
        >>> EulerMaruyama(steps=25).draws
        25
    """

    order: ClassVar[int] = 1
    steps: Annotated[int, Field(ge=1)] = 25

    @property
    def draws(self) -> int:
        """One vector per step."""
        return self.steps

    def terminal(self, family: Family, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """State at time t.  Shape: x `(…, d)`, t `(…, 1)`, z `(steps, …, m)` → `(…, d)`."""
        h = t / self.steps
        if is_affine(family) and _several_per_input(x, p, z):
            return _affine(x, h, p, z)
        root = h.sqrt()
        x = coordinates_first(x.expand(*z.shape[1:-1], -1))
        for normal in z.unbind(0):
            dw = root * coordinates_first(normal)
            x = torch.addcmul(x, h, family.drift(x, p)) + family.diffusion(x, dw, p)
            if x.requires_grad:
                x.register_hook(coordinates_first)  # type: ignore[no-untyped-call]
        return x

    def check(self, family: Family) -> None:
        """Any family will do whose paths are free."""
        require_free(family)


def _several_per_input(x: Tensor, p: Params, z: Tensor) -> bool:
    """Whether z has an axis of paths `(…, K, d)` along which x and p do not vary."""
    return x.ndim >= 2 and x.shape[-2] == 1 == p.sigma.shape[-4] and z.shape[-2] > 1


def _affine(x: Tensor, h: Tensor, p: Params, z: Tensor) -> Tensor:
    """All steps of affine families, paths along the last axis.  Shape: x `(…, 1, d)`."""
    lead, (paths, dim) = z.shape[1:-2], z.shape[-2:]
    fields = ito_fields(p).expand(*lead, 1, -1, -1, -1).flatten(0, -4).flatten(1, 2)
    time = h.expand(*lead, 1, 1).reshape(-1, 1, 1)
    normals = z.reshape(len(z), -1, paths, dim).permute(1, 3, 0, 2).flatten(2)
    weights = torch.cat([time.expand(-1, 1, normals.shape[-1]), time.sqrt() * normals], dim=1)
    increments = torch.bmm(fields, weights).unflatten(-1, (len(z), paths))  # type: ignore[no-untyped-call]
    state = x.expand(*lead, paths, dim).reshape(-1, paths, dim).mT.contiguous()
    return euler_steps(increments, state).mT.reshape(*lead, paths, dim)
