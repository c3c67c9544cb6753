r"""Arithmetic with ReLU networks (paper, proof of Theorem 3; Yarotsky 2017). A network is a chain

    Φ = A_L ∘ ϱ ∘ A_{L−1} ∘ … ∘ ϱ ∘ A_1,    A_k affine,  ϱ(x) = max(x, 0) entry by entry.

Squares come from the sawtooth: with g(y) = 2ϱ(y) − 4ϱ(y − ½) and g_s = g ∘ … ∘ g, s times,

    sq_m(x) = Δ² f_m(|x|/Δ),    f_m(y) = y − Σ_{s=1}^m g_s(y) / 4^s    on [−Δ, Δ].

f_m is linear between the multiples of 2^−m and equals y² there. Hence with h = 2^−m

    0 ≤ sq_m(x) − x² ≤ Δ² h²/4,    |sq_m′(x) − 2x| ≤ Δ h,

both attained. Products follow by polarisation:  mult_m(a, b) = ½ (sq_m(a+b) − sq_m(a) − sq_m(b)).

If Δ is a power of two then so is every weight, up to sign, and float64 holds the network exactly.
"""

import functools
import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import block_diag, csr_array, eye_array
from torch import Tensor, nn

from feynkac.errors import InputError


class Affine(NamedTuple):
    """x ↦ W x + b with a sparse W."""

    weight: csr_array
    bias: NDArray[np.float64]


Chain = tuple[Affine, ...]
"""A_1, …, A_L, with a ReLU between each two."""

TOOTH = [[2.0, -4.0, 0.0]]  # g


def affine(weight: ArrayLike, bias: ArrayLike | None = None) -> Chain:
    """An affine map, as a network without a hidden layer."""
    matrix = csr_array(weight)
    zero = np.zeros(matrix.shape[0])
    return (Affine(matrix, zero if bias is None else np.asarray(bias, float)),)


def compose(*chains: Chain) -> Chain:
    """The last one first: compose(f, g)(x) = f(g(x)). Where two meet, their maps become one."""
    return functools.reduce(_after, chains)


def _after(outer: Chain, inner: Chain) -> Chain:
    (w, b), (v, a) = outer[0], inner[-1]
    weight = csr_array(w @ v)
    weight.eliminate_zeros()
    return (*inner[:-1], Affine(weight, w @ a + b), *outer[1:])


def parallel(chains: Sequence[Chain]) -> Chain:
    """All side by side, each on inputs of its own; they must be equally deep."""
    if len(depths := {len(chain) for chain in chains}) != 1:
        raise InputError(
            f"parallel networks must be equally deep, got {sorted(depths)} affine maps; "
            "lengthen the shorter with carry()."
        )
    return tuple(
        Affine(
            block_diag([layer.weight for layer in layers], format="csr"),
            np.concatenate([layer.bias for layer in layers]),
        )
        for layers in zip(*chains, strict=True)
    )


def carry(count: int, hidden: int) -> Chain:
    """The identity of `count` numbers ≥ 0 through `hidden` layers: ϱ(x) = x."""
    return affine(eye_array(count, format="csr")) * (hidden + 1)


def squaring(bound: float, levels: int) -> Chain:
    """sq_m on [−bound, bound] with m = `levels`: m + 1 hidden layers, none wider than 3.

    Example:
        >>> square = ReluNetwork(squaring(bound=1.0, levels=3))
        >>> square(torch.tensor([[-0.5], [0.25]], dtype=torch.float64)).flatten().tolist()
        [0.25, 0.0625]
    """
    if levels < 1:
        raise InputError(f"the sawtooth needs at least 1 level, got {levels}.")
    shift = [0.0, -0.5, 0.0]
    size = affine([[1 / bound], [-1 / bound]])  # ϱ of both adds up to |x|/Δ
    start = affine(np.ones((3, 2)), shift)
    teeth = [affine([*TOOTH, *TOOTH, _less(s)], shift) for s in range(1, levels)]
    end = affine(bound**2 * np.array([_less(levels)]))
    return tuple(itertools.chain(size, start, *teeth, end))


def _less(s: int) -> list[float]:
    """From (ϱ(g_{s−1}), ϱ(g_{s−1} − ½), f_{s−1}) to f_s = f_{s−1} − g_s / 4^s."""
    return [-2 / 4**s, 4 / 4**s, 1.0]


def product(bound: float, levels: int) -> Chain:
    """mult_m on [−bound, bound]²: as deep as `squaring`, three times as wide.

    Example:
        >>> network = ReluNetwork(product(bound=1.0, levels=3))
        >>> network(torch.tensor([[0.5, -0.25]], dtype=torch.float64)).item()
        -0.125
    """
    squares = [squaring(size, levels) for size in (2 * bound, bound, bound)]
    terms = affine([[1, 1], [1, 0], [0, 1]])
    return compose(affine([[0.5, -0.5, -0.5]]), parallel(squares), terms)


class SparseLinear(nn.Module):
    """W h + b; of W only the entries that are not zero are stored.

    Shape: `(inputs, N)` → `(outputs, N)`.
    """

    where: Tensor

    def __init__(self, layer: Affine) -> None:
        super().__init__()
        entries = layer.weight.tocoo()
        self.size = entries.shape
        self.register_buffer("where", torch.from_numpy(np.stack(entries.coords)).long())
        self.values = nn.Parameter(torch.from_numpy(entries.data))
        self.bias = nn.Parameter(torch.from_numpy(layer.bias))

    def forward(self, h: Tensor) -> Tensor:
        """Multiply and add."""
        weight = torch.sparse_coo_tensor(
            self.where, self.values, self.size, check_invariants=False, is_coalesced=True
        )
        return torch.sparse.mm(weight, h) + self.bias.unsqueeze(-1)  # type: ignore[no-any-return]


class ReluNetwork(nn.Module):
    """A chain as a module in float64.  Shape: `(N, inputs)` → `(N, outputs)`."""

    def __init__(self, chain: Chain) -> None:
        super().__init__()
        layers = [SparseLinear(layer) for layer in chain]
        modules = itertools.chain.from_iterable((nn.ReLU(), layer) for layer in layers)
        self.layers = nn.Sequential(*itertools.islice(modules, 1, None))

    def forward(self, x: Tensor) -> Tensor:
        """Affine maps and ReLUs by turns, batch along the last axis."""
        return self.layers(x.mT).mT  # type: ignore[no-any-return]


def count_nonzero(chain: Chain) -> int:
    """Weights and biases that are not zero.

    Example:
        >>> count_nonzero(affine([[1.0, 0.0], [2.0, 3.0]], [0.0, 5.0]))
        4
    """
    parts = [part for layer in chain for part in (layer.weight.data, layer.bias)]
    return sum(int(np.count_nonzero(part)) for part in parts)


def count_dense(chain: Chain) -> int:
    """All weights and biases of fully connected layers of the same widths.

    Example:
        >>> count_dense(affine([[1.0, 0.0], [2.0, 3.0]], [0.0, 5.0]))
        6
    """
    return sum(rows * (columns + 1) for rows, columns in (layer.weight.shape for layer in chain))
