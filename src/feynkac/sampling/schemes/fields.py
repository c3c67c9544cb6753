r"""Stratonovich form: with V_j the columns of σ,  dS = V_0(S) dt + Σ_j V_j(S) ∘ dB_j  and

    V_0 = μ − ½ Σ_j (DV_j) V_j.

Schemes built from flows need V_0. Here it comes by forward-mode differentiation for any family, and
as matrices for affine ones.
"""

import functools
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from feynkac.families.family import Family, noise_dim, timed
from feynkac.families.point import Params
from feynkac.sampling.noise.noise import make_generator, normals

POINTS = 16  # at which noise is looked at
SAME = 1e-4  # relative, in float32

NoiseKind = Literal["general", "commuting", "diagonal", "additive"]
"""(DV_j) V_k = (DV_k) V_j for all j, k: commuting; 0 for j ≠ k: diagonal; 0 for all: additive."""


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


def diagonal_drift(family: Family, x: Tensor, p: Params) -> Tensor:
    """V_0(x) where (DV_j) V_k = 0 for j ≠ k: one derivative, of Σ_j V_j along itself."""
    ones = torch.ones_like(x[..., :1]).expand(*x.shape[:-1], noise_dim(family))
    column = functools.partial(along, family, ones, p)
    correction: Tensor = torch.func.jvp(column, (x,), (column(x),))[1]
    return family.drift(x, p) - 0.5 * correction


def noise_kind(family: Family) -> NoiseKind:
    """How the noise of `family` behaves at a few random points of its domain.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> noise_kind(BlackScholes(dim=3))
        'diagonal'
    """
    domain, generator = family.domain, make_generator(0, "noise kind")
    x, t, p = domain.split(domain.sample(POINTS, generator))
    p = timed(family, p, t)
    a, b = normals(2, (POINTS,), noise_dim(family), generator)
    one, other = derivative(family, x, p, a, b), derivative(family, x, p, b, a)
    if _differ(one, other):
        return "general"
    if not one.any():
        return "additive"
    diagonal, general = diagonal_drift(family, x, p), stratonovich_drift(family, x, p)
    drift = family.drift(x, p)
    return "commuting" if _differ(diagonal - drift, general - drift) else "diagonal"


def derivative(family: Family, x: Tensor, p: Params, a: Tensor, b: Tensor) -> Tensor:
    """Σ_jk a_j b_k (DV_j) V_k, the derivative of σ a along σ b.  Shape: `(…, m)` → `(…, d)`."""
    found: Tensor = torch.func.jvp(
        functools.partial(along, family, a, p), (x,), (family.diffusion(x, b, p),)
    )[1]
    return found


def _differ(one: Tensor, other: Tensor) -> bool:
    scale = one.norm(dim=-1) + other.norm(dim=-1)
    return not bool(((one - other).norm(dim=-1) <= SAME * scale + 1e-30).all())


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


def flow(
    field: Callable[[Tensor], Tensor], x: Tensor, s: Tensor | float, substeps: int = 2
) -> Tensor:
    """e^{sV} x by Runge–Kutta steps of order 4."""
    h = s / substeps
    for _ in range(substeps):
        a = h * field(x)
        b = h * field(x + 0.5 * a)
        c = h * field(x + 0.5 * b)
        x = x + (a + 2.0 * b + 2.0 * c + h * field(x + c)) / 6.0
    return x
