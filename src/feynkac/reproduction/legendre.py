r"""Least squares in Legendre polynomials, orthonormal for uniformly distributed inputs.

    P_k(λ) = Π_j √(2k_j + 1) L_{k_j}(w_j),   |k| ≤ degree,   w_j in [−1, 1],   E P_k P_l = δ_kl

The projection of a function u is Πu = Σ c_k P_k with c_k = E u P_k. A regression on n samples of Y
with E[Y | Λ] = u has coefficients ĉ, and ‖f_n − Πu‖² = ‖ĉ − c‖² ≈ (1/n) Σ_k E P_k² (Y − Πu)².
"""

import itertools
from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def indices(dim: int, degree: int) -> Tensor:
    """All k with |k| ≤ degree.  Shape: `(count, dim)`.

    Example:
        >>> indices(2, 1).tolist()
        [[0, 0], [0, 1], [1, 0]]
    """
    every = itertools.product(range(degree + 1), repeat=dim)
    return torch.tensor([k for k in every if sum(k) <= degree])


def basis(w: Tensor, powers: Tensor) -> Tensor:
    """P_k(w) for all k.  Shape: `(N, dim)`, `(count, dim)` → `(N, count)`."""
    table = [torch.ones_like(w), w]
    for n in range(1, int(powers.max())):
        table.append(((2 * n + 1) * w * table[n] - n * table[n - 1]) / (n + 1))
    scaled = torch.stack([(2 * n + 1) ** 0.5 * each for n, each in enumerate(table)])
    columns = torch.ones(len(w), len(powers), dtype=w.dtype)
    for j in range(w.shape[1]):
        columns *= scaled[powers[:, j], :, j].mT
    return columns


def regress(features: Tensor, values: Tensor, sizes: Sequence[int]) -> Tensor:
    """ĉ from the first n samples, for each n.  Shape: `(N, count)`, `(N, 1)` → `(sizes, count)`."""
    found, start = [], 0
    gram = features.new_zeros(features.shape[1], features.shape[1])
    right = features.new_zeros(features.shape[1], 1)
    for end in sizes:
        part = features[start:end]
        gram, right, start = gram + part.mT @ part, right + part.mT @ values[start:end], end
        found.append(torch.linalg.solve(gram, right)[:, 0])
    return torch.stack(found)


def project(function: Callable[[Tensor], Tensor], powers: Tensor, nodes: Tensor) -> Tensor:
    """E u P_k by a rule with equal weights.  Shape: nodes `(N, dim)` → `(count,)`."""
    total = torch.zeros(len(powers), dtype=torch.float64)
    for block in torch.split(nodes, 2**15):
        total += (basis(block, powers) * function(block)).sum(0)
    return total / len(nodes)
