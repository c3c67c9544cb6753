r"""Laws of states with dS = (AS + b) dt + σ dB, from the coefficients:

    S_t = e^{At} x + ∫₀ᵗ e^{As} b ds + L z,     L Lᵀ = Q = ∫₀ᵗ e^{As} σσ* e^{A*s} ds.

Where A is diagonal, everything is an elementary function of its entries; otherwise it is read off
from the exponential of a block matrix, as Van Loan does. Coefficients that vary with time are in
`time_pieces.py`.
"""

import math
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from feynkac.families.point import Params


class Coefficients(NamedTuple):
    """A `(…, d, d)`, b `(…, d)`, σ `(…, d, m)`."""

    matrix: Tensor
    constant: Tensor
    noise: Tensor


class Transition(NamedTuple):
    """Mean `(…, d)` and L `(…, d, d)`."""

    mean: Tensor
    root: Tensor

    def drawn(self, z: Tensor) -> Tensor:
        """A state, by the first d of all normals.  Shape: `(vectors, …, m)` → `(…, d)`."""
        normals = z.movedim(0, -2).flatten(-2)[..., : self.mean.shape[-1]]
        return self.mean.to(z) + torch.einsum("...ij,...j->...i", self.root.to(z), normals)


class Equation(Protocol):
    """μ and σ of a family, or of something that is computed from its state."""

    def drift(self, x: Tensor, p: Params) -> Tensor:
        """μ."""

    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """σ dw."""


def coefficients_of(equation: Equation, motions: int, x: Tensor, p: Params) -> Coefficients:
    """Those of an equation with so many Brownian motions."""
    origin = torch.zeros_like(x)
    units = unit_vectors(x.shape[-1], x)
    constant = equation.drift(origin, p)
    columns = equation.drift(units + origin, p) - constant
    waves = unit_vectors(motions, x).expand(-1, *x.shape[:-1], -1)
    noise = equation.diffusion(origin.unsqueeze(0), waves, p)
    return Coefficients(columns.movedim(0, -1), constant, noise.movedim(0, -1))


def unit_vectors(count: int, like: Tensor) -> Tensor:
    """Shape: `(count, 1, …, count)`, with as many axes as `like` and one more."""
    eye = torch.eye(count, dtype=like.dtype, device=like.device)
    return eye.view(count, *[1] * (like.ndim - 1), count)


def transition(given: Coefficients, x: Tensor, t: Tensor) -> Transition:
    """The law of S_t."""
    mean, covariance, _ = moments(given, x, t)
    return Transition(mean, root_of(covariance))


def moments(given: Coefficients, x: Tensor, t: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mean and covariance of S_t, and e^{At}."""
    spread = given.noise @ given.noise.mT
    if not is_diagonal(given.matrix):
        return _by_exponential(given, spread, x, t)
    rates = given.matrix.diagonal(dim1=-2, dim2=-1)
    flow = (rates * t).exp()
    mean = flow * x + _growth(rates, t) * given.constant
    both = rates.unsqueeze(-1) + rates.unsqueeze(-2)
    return mean, spread * _growth(both, t.unsqueeze(-1)), flow.diag_embed()


def is_diagonal(matrix: Tensor) -> bool:
    """Whether all other entries are zero."""
    return not (matrix - matrix.diagonal(dim1=-2, dim2=-1).diag_embed()).any()


def _growth(rate: Tensor, t: Tensor) -> Tensor:
    """∫₀ᵗ e^{rate·s} ds, also at a rate of 0, where its slopes are those of the series."""
    small = (rate * t).abs() < 1e-3
    safe = torch.where(small, 1.0, rate)
    power = rate * t
    series = t * (1.0 + power * (1.0 / 2.0 + power * (1.0 / 6.0 + power / 24.0)))
    return torch.where(small, series, torch.expm1(safe * t) / safe)


def _by_exponential(
    given: Coefficients, spread: Tensor, x: Tensor, t: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, Q and e^{At} from  exp(h [[A, σσ*, b], [0, −A*, 0], [0, 0, 0]]),  h doubled up to t."""
    d = x.shape[-1]
    matrix = given.matrix
    zero, column = torch.zeros_like(matrix), given.constant.unsqueeze(-1)
    upper = torch.cat([matrix, spread, column], dim=-1)
    middle = torch.cat([zero, -matrix.mT, torch.zeros_like(column)], dim=-1)
    whole = torch.cat([upper, middle, torch.zeros_like(upper[..., :1, :])], dim=-2)
    size = float((matrix * t.unsqueeze(-1)).detach().abs().sum(-1).max())
    halvings = max(0, math.ceil(math.log2(size))) if size > 1.0 else 0  # blocks grow as e^size
    found = torch.linalg.matrix_exp(whole * (t.unsqueeze(-1) / 2**halvings))
    flow, shift = found[..., :d, :d], found[..., :d, -1:]
    covariance = found[..., :d, d : 2 * d] @ flow.mT
    for _ in range(halvings):
        covariance = covariance + flow @ covariance @ flow.mT
        flow, shift = flow @ flow, shift + flow @ shift
    mean = (flow * x.unsqueeze(-2)).sum(-1) + shift.squeeze(-1)
    return mean, 0.5 * (covariance + covariance.mT), flow


def root_of(covariance: Tensor) -> Tensor:
    """Cholesky's factor, of a matrix with unit diagonal: variances may differ by any factor.

    At t = 0 they are 0, and so is the factor.
    """
    deviation = covariance.diagonal(dim1=-2, dim2=-1).sqrt()
    if is_diagonal(covariance):
        return deviation.diag_embed()
    still = deviation == 0
    unit = torch.where(still, 1.0, deviation)
    scaled = covariance / (unit.unsqueeze(-1) * unit.unsqueeze(-2)) + still.to(unit).diag_embed()
    found = torch.linalg.cholesky_ex(scaled)
    factor: Tensor = found.L
    if bool(found.info.any()):
        singular = (found.info > 0)[..., None, None]
        factor = torch.where(singular, _semidefinite_root(scaled), factor)
    return deviation.unsqueeze(-1) * factor


def _semidefinite_root(matrix: Tensor) -> Tensor:
    """V √Λ, where correlations are perfect and there is no factor of Cholesky's; no slopes."""
    values, vectors = torch.linalg.eigh(matrix.detach())
    root: Tensor = vectors * values.clamp_min(0.0).sqrt().unsqueeze(-2)
    return root
