r"""Correlated increments of Brownian motions from independent ones. With z independent:

pair:         (z₁, ρ z₁ + √(1 − ρ²) z₂),                  correlation ρ;
one factor:   dw_i = √ρ z₀ + √(1 − ρ) z_i,  i = 1 … d,    correlation ρ of any two;
Cholesky:     dw = L z,  L Lᵀ = C,                        correlation matrix C.
"""

import torch
from torch import Tensor

from feynkac.families.formulas.safe_root import root


def pair(dw: Tensor, rho: Tensor) -> Tensor:
    """Two increments with correlation ρ.  Shape: dw `(…, 2)`, rho `(…, 1)` → `(…, 2)`.

    Example:
        >>> pair(torch.tensor([1.0, 1.0]), torch.tensor([0.6]))
        tensor([1.0000, 1.4000])
    """
    first, second = halves(dw)
    other = rho * first + root(1.0 - rho.square()) * second
    return torch.cat([first.expand_as(other), other], dim=-1)


def one_factor(dw: Tensor, rho: Tensor) -> Tensor:
    """Increments with the same correlation ρ ≥ 0 of any two, driven by one common factor.

    Shape: dw `(…, d + 1)`, the factor first, rho `(…, 1)` → `(…, d)`.

    Example:
        >>> one_factor(torch.tensor([2.0, 1.0, -1.0]), torch.tensor([0.25]))
        tensor([1.8660, 0.1340])
    """
    return root(rho) * dw[..., :1] + root(1.0 - rho) * dw[..., 1:]


def cholesky_mix(dw: Tensor, corr: Tensor) -> Tensor:
    """Increments with a given correlation matrix, positive definite.

    Shape: dw `(…, d)`, corr `(…, d, d)` → `(…, d)`.

    Example:
        >>> cholesky_mix(torch.tensor([1.0, 1.0]), torch.tensor([[1.0, 0.6], [0.6, 1.0]]))
        tensor([1.0000, 1.4000])
    """
    lower: Tensor = torch.linalg.cholesky(corr)
    return (lower * dw[..., None, :]).sum(-1)


def halves(x: Tensor) -> tuple[Tensor, Tensor]:
    """Both entries of a pair.  Shape: `(…, 2)` → `(…, 1)` each."""
    return x[..., :1], x[..., 1:]
