r"""Stratonovich form: with V_j the columns of σ,  dS = V_0(S) dt + Σ_j V_j(S) ∘ dB_j  and

    V_0 = μ − ½ Σ_j (DV_j) V_j.

Schemes built from flows need V_0. Here it comes by automatic differentiation for any family, and
as matrices for affine ones.
"""

import functools
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from feynkac.families.capabilities import AdditiveNoise, CommutingNoise, DiagonalNoise
from feynkac.families.family import Family, noise_dim, on_the_way
from feynkac.families.point import Params, Point
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.noise import normals

NOISE_POINTS = 16  # at which σ is evaluated to find out how its columns behave
SAME = 1e-6  # relative difference of two derivatives in float64 that counts as none

Field = Callable[[Tensor], Tensor]

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
        drift = drift - 0.5 * along_itself(column, x)
    return drift


def diagonal_drift(family: Family, x: Tensor, p: Params) -> Tensor:
    """V_0(x) where (DV_j) V_k = 0 for j ≠ k: one derivative, of Σ_j V_j along itself."""
    ones = torch.ones_like(x[..., :1]).expand(*x.shape[:-1], noise_dim(family))
    column = functools.partial(along, family, ones, p)
    return family.drift(x, p) - 0.5 * along_itself(column, x)


def along_itself(field: Field, x: Tensor) -> Tensor:
    """(DV) V.  Shape: `(…, d)` → `(…, d)`."""
    if x.shape[-1] == 1:  # DV is its own transpose
        value, pull = pullback(field, x)
        return pull(value)
    value, push = pushforward(field, x)
    return push(value)


def pushforward(field: Field, x: Tensor) -> tuple[Tensor, Field]:
    """V(x), and DV(x) applied to a vector: the transpose of the transposed derivative.

    Two sweeps backwards take less time than one forwards: torch's forward mode computes the shapes
    of derivatives that are zero, those of constants, in Python.
    """
    value, pull = pullback(field, x)
    return value, pullback(pull, torch.zeros_like(value))[1]


def pullback(field: Field, x: Tensor) -> tuple[Tensor, Field]:
    """V(x), and the transposed DV(x) applied to a vector."""
    found: tuple[Tensor, Callable[[Tensor], tuple[Tensor]]] = torch.func.vjp(field, x)  # type: ignore[assignment]
    value, pull = found
    return value, lambda vector: pull(vector)[0]


def noise_kind(family: Family) -> NoiseKind:
    """How the noise of `family` behaves: as declared, or as found at random points of its domain.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> noise_kind(BlackScholes(dim=3))
        'diagonal'
    """
    if isinstance(family, AdditiveNoise):
        return "additive"
    if isinstance(family, DiagonalNoise):
        return "diagonal"
    return "commuting" if isinstance(family, CommutingNoise) else observed_noise_kind(family)


def observed_noise_kind(family: Family) -> NoiseKind:
    """How the noise behaves at `NOISE_POINTS` random points, whatever the family declares.

    Example:
        >>> from feynkac.families.models.heston import Heston
        >>> observed_noise_kind(Heston())
        'general'
    """
    point, one, other = _both_orders(family)
    if not _apart(one, other) <= SAME:  # NaN counts as apart
        return "general"
    if not one.any():
        return "additive"
    x, _, p = point
    diagonal, general = diagonal_drift(family, x, p), stratonovich_drift(family, x, p)
    drift = family.drift(x, p)
    return "diagonal" if _apart(diagonal - drift, general - drift) <= SAME else "commuting"


def commutator(family: Family) -> float:
    """The largest ‖Σ_jk a_j b_k [V_j, V_k]‖ relative to the two parts of the bracket, in [0, 1].

    Bilinear in a and b, so that random ones see every pair j, k.
    """
    _, one, other = _both_orders(family)
    return _apart(one, other)


def _both_orders(family: Family) -> tuple[Point, Tensor, Tensor]:
    """Random points, and there the derivative of σ a along σ b and that of σ b along σ a, float64.

    Shape: derivatives `(NOISE_POINTS, d)`.
    """
    domain, generator = family.domain, make_generator(0, "noise kind")
    x, t, p = domain.split(domain.sample(NOISE_POINTS, generator, torch.float64))
    p = on_the_way(family, p, t)
    a, b = normals(2, (NOISE_POINTS,), noise_dim(family), generator, torch.float64)
    one, other = derivative(family, x, p, a, b), derivative(family, x, p, b, a)
    return Point(x, t, p), one, other


def derivative(family: Family, x: Tensor, p: Params, a: Tensor, b: Tensor) -> Tensor:
    """Σ_jk a_j b_k (DV_j) V_k, the derivative of σ a along σ b.  Shape: `(…, m)` → `(…, d)`."""
    _, push = pushforward(functools.partial(along, family, a, p), x)
    return push(family.diffusion(x, b, p))


def _apart(one: Tensor, other: Tensor) -> float:
    """The largest ‖one − other‖ relative to the norms of both; 0 where both vanish."""
    scale = (one.norm(dim=-1) + other.norm(dim=-1)).clamp_min(torch.finfo(one.dtype).tiny)
    return float(((one - other).norm(dim=-1) / scale).max())


def affine_fields(p: Params) -> Tensor:
    """V_0, V_1, …, V_d of an affine family, each as the matrix (A | a) of A x + a.

    Shape: sigma `(…, d, d, d+1)`, mu `(…, d, d+1)` → `(…, d, d+1, 1+d)`.
    """
    drift, columns = ito_fields(p).tensor_split([1], dim=-1)
    correction = torch.einsum("...imj,...mkj->...ik", p.sigma[..., :-1], columns)
    return torch.cat([drift - 0.5 * correction.unsqueeze(-1), columns], dim=-1)


def ito_fields(p: Params) -> Tensor:
    """The fields μ, V_1, …, V_d as matrices.  Shape: as `affine_fields`."""
    constant = p.sigma[..., -1].unsqueeze(-2)
    columns = torch.cat([p.sigma[..., :-1], constant], dim=-2)
    return torch.cat([p.mu.unsqueeze(-1), columns], dim=-1)


def flow(field: Field, x: Tensor, s: Tensor | float, substeps: int = 2) -> Tensor:
    """e^{sV} x by Runge–Kutta steps of order 4."""
    h = s / substeps
    for _ in range(substeps):
        a = h * field(x)
        b = h * field(x + 0.5 * a)
        c = h * field(x + 0.5 * b)
        x = x + (a + 2.0 * b + 2.0 * c + h * field(x + c)) / 6.0
    return x
