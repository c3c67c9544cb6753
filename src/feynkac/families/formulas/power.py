r"""Powers  max(x, 0)^a,  a > 0,  for coefficients like F^β that end at zero.

The slope is 0 at x = 0, where that of x^a is infinite: what has arrived at zero stays there, and no
gradient is NaN. For a square root see `safe_root.py`.
"""

import torch
from torch import Tensor


def power(x: Tensor, exponent: Tensor) -> Tensor:
    """max(x, 0)^a.  Shape: x and a broadcast.

    Example:
        >>> power(torch.tensor([4.0, 0.0, -1.0]), torch.tensor(0.5))
        tensor([2., 0., 0.])
    """
    positive = x > 0
    return torch.where(positive, torch.where(positive, x, 1.0) ** exponent, 0.0)
