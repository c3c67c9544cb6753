r"""The square root, without an infinite slope at 0, so that gradients at t = 0 or v = 0 are finite.

For other powers see `power.py`.
"""

import torch
from torch import Tensor


def safe_root(x: Tensor) -> Tensor:
    """√x for x > 0 and 0 below, with slope 0 instead of ∞ at 0: for coefficients such as σ√v.

    Example:
        >>> x = torch.tensor([4.0, 0.0, -1.0], requires_grad=True)
        >>> safe_root(x).sum().backward()
        >>> x.grad
        tensor([0.2500, 0.0000, 0.0000])
    """
    return root(x)


def root(t: Tensor) -> Tensor:
    """√t for t ≥ 0, with slope 0 instead of ∞ at 0.

    Example:
        >>> root(torch.tensor([4.0, 0.0]))
        tensor([2., 0.])
    """
    return torch.where(t > 0, positive(t).sqrt(), 0.0)


def positive(v: Tensor) -> Tensor:
    """v, and 1 where v ≤ 0, so that no gradient divides by zero.

    Example:
        >>> positive(torch.tensor([4.0, 0.0]))
        tensor([4., 1.])
    """
    return torch.where(v > 0, v, 1.0)
