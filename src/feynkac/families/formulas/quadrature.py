r"""Gauss–Legendre quadrature:  ∫₀^b f(y) dy ≈ Σ w_i f(y_i),  exact up to degree 2n − 1."""

import functools

import numpy as np
import torch
from torch import Tensor


def gauss_legendre(last: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Nodes and weights on [0, last].  Shape: `(…, 1)` → `(…, count)` each.

    Example:
        >>> y, w = gauss_legendre(torch.tensor([2.0]), 2)
        >>> round((w * y**3).sum().item(), 5)
        4.0
    """
    nodes, weights = _unit(count)
    return last * nodes.to(last), last * weights.to(last)


@functools.lru_cache(maxsize=8)
@torch.inference_mode(False)  # what is kept serves autograd later
def _unit(count: int) -> tuple[Tensor, Tensor]:
    """On [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return torch.tensor(0.5 + 0.5 * nodes), torch.tensor(0.5 * weights)
