r"""Stratonovich form: with V_j the columns of σ,  dS = V_0(S) dt + Σ_j V_j(S) ∘ dB_j  and

    V_0 = μ − ½ Σ_j (DV_j) V_j.

Schemes built from flows need V_0. Here it comes by forward-mode differentiation for any family, and
as matrices for affine ones.
"""

import functools
from collections.abc import Callable

import torch
from torch import Tensor

from feynkac.families.family import Family, noise_dim
from feynkac.families.point import Params

SUBSTEPS = 2  # of Runge–Kutta in one flow


def along(family: Family, dw: Tensor, p: Params, x: Tensor) -> Tensor:
    """Σ_j V_j(x) dw_j."""
    return family.diffusion(x, dw, p)


def stratonovich_drift(family: Family, x: Tensor, p: Params) -> Tensor:
    """V_0(x).  Shape: `(…, d)` → `(…, d)`."""
    drift = family.drift(x, p)
    for unit in torch.eye(noise_dim(family), dtype=x.dtype, device=x.device):
        column = functools.partial(along, family, unit.expand(*x.shape[:-1], -1), p)
        drift = drift - 0.5 * torch.func.jvp(column, (x,), (column(x),))[1]
    return drift


def affine_fields(p: Params) -> Tensor:
    """V_0, V_1, …, V_d of an affine family, each as the matrix (A | a) of A x + a.

    Shape: sigma `(…, d, d, d+1)`, mu `(…, d, d+1)` → `(…, d, d+1, 1+d)`.
    """
    drift, columns = ito_fields(p).tensor_split([1], dim=-1)
    correction = torch.einsum("...imj,...mkj->...ik", p.sigma[..., :-1], columns)
    return torch.cat([drift - 0.5 * correction.unsqueeze(-1), columns], dim=-1)


def ito_fields(p: Params) -> Tensor:
    """The same with μ in place of V_0."""
    constant = p.sigma[..., -1].unsqueeze(-2)
    columns = torch.cat([p.sigma[..., :-1], constant], dim=-2)
    return torch.cat([p.mu.unsqueeze(-1), columns], dim=-1)


def flow(field: Callable[[Tensor], Tensor], x: Tensor, s: Tensor | float) -> Tensor:
    """e^{sV} x by Runge–Kutta steps of order 4."""
    h = s / SUBSTEPS
    for _ in range(SUBSTEPS):
        a = h * field(x)
        b = h * field(x + 0.5 * a)
        c = h * field(x + 0.5 * b)
        x = x + (a + 2.0 * b + 2.0 * c + h * field(x + c)) / 6.0
    return x
