r"""Paths of affine families, entry by entry: x ← e^V x and x ← x + V(x) for V(x) = A x + a.

In `exponential` and `euler_steps` each path has its own matrix (A | a), made of the fields of its
input by one product for all paths. Paths run along the last axis, so that each entry of a matrix is
a long row; where there are many, all arithmetic of a move is compiled into one loop over them.
In `exponential_of` all paths of an input have the same matrix, for times of their own.
"""

import functools
import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from feynkac.compilation import can_compile

SERIES_TERMS = 8  # of the exponential
WORTH_COMPILING = 2**13  # paths at once
MOST_COMPILED = 4  # dimensions: the code grows with their square

Move = Callable[[Tensor, Tensor], Tensor]


def exponential(field: Tensor, x: Tensor) -> Tensor:
    """e^V x.  Shape: field (A | a) `(N, d(d+1), K)`, x `(N, d, K)` → `(N, d, K)`."""
    dim = x.shape[1]
    rows = _rows(field, dim)
    y = list(x.unbind(1))
    term = [_dot(row, y) + row[dim] for row in rows]
    for k in range(2, SERIES_TERMS + 1):
        y = [a + b for a, b in zip(y, term, strict=True)]
        term = [_dot(row, term) * (1.0 / k) for row in rows]
    return torch.stack([a + b for a, b in zip(y, term, strict=True)], dim=1)


def powers(field: Tensor) -> Tensor:
    """Columns of A, A², … for the affine field (A | a) on (x, 1), for `exponential_of`.

    Shape: `(…, d, d+1)` → `(…, SERIES_TERMS, (d+1) d)`.
    """
    linear, found = field[..., :-1], [field]
    for _ in range(1, SERIES_TERMS):
        found.append(linear @ found[-1])
    return torch.stack(found, dim=-3).mT.flatten(-2)


def exponential_of(powers: Tensor, x: Tensor, s: Tensor) -> Tensor:
    """e^{sV} x for one field per input and a time s per path: one matrix product for all paths.

    Shape: powers `(…, 1, SERIES_TERMS, (d+1) d)`, x `(…, K, d)`, s `(…, K or 1, 1)` → `(…, K, d)`.
    """
    k = torch.arange(1, SERIES_TERMS + 1, dtype=s.dtype, device=s.device)
    weights = s**k / (k + 1.0).lgamma().exp()
    *columns, constant = (weights @ powers.squeeze(-3)).split(x.shape[-1], dim=-1)  # type: ignore[no-untyped-call]
    moved = x + constant
    for column, entry in zip(columns, x.split(1, dim=-1), strict=True):  # type: ignore[no-untyped-call]
        moved = torch.addcmul(moved, column, entry)
    return moved  # type: ignore[no-any-return]


def euler_steps(fields: Tensor, x: Tensor) -> Tensor:
    """x ← x + V_s(x) for all s.  Shape: `(N, d(d+1), S, K)`, `(N, d, K)` → `(N, d, K)`."""
    dim = x.shape[1]
    y = list(x.unbind(1))
    for field in fields.unbind(2):
        rows = _rows(field, dim)
        y = [a + (_dot(row, y) + row[dim]) for a, row in zip(y, rows, strict=True)]
    return torch.stack(y, dim=1)


def compiled_for(move: Move, x: Tensor) -> Move:
    """`move`, compiled if there are enough paths in x `(N, d, K)`."""
    inputs, dim, paths = x.shape
    many = inputs * paths >= WORTH_COMPILING and x.dtype is torch.float32
    if many and dim <= MOST_COMPILED and can_compile(x.device.type):
        return functools.partial(_run_compiled, move)
    return move


def _run_compiled(move: Move, field: Tensor, x: Tensor) -> Tensor:
    with warnings.catch_warnings():  # the compiler looks at .grad of its arguments, in vain
        warnings.filterwarnings("ignore", message=r"The \.grad attribute")
        return _compiled(move)(field, x)


@functools.cache
def _compiled(move: Move) -> Move:
    return torch.compile(move, dynamic=True)


def _rows(field: Tensor, dim: int) -> list[tuple[Tensor, ...]]:
    return [field[:, i * (dim + 1) : (i + 1) * (dim + 1)].unbind(1) for i in range(dim)]


def _dot(row: tuple[Tensor, ...], x: list[Tensor]) -> Tensor:
    total = row[0] * x[0]
    for a, b in zip(row[1:], x[1:], strict=False):  # the constant stays out
        total = total + a * b
    return total
