r"""The standard normal law:  density ψ(z) = e^{−z²/2}/√2π,  distribution function Ψ, Ψ′ = ψ."""

import math

import torch
from torch import Tensor


def cdf(z: Tensor) -> Tensor:
    """Ψ(z), also in the far tail, where `torch.special.ndtr` is zero.

    Example:
        >>> cdf(torch.tensor([0.0, -20.0], dtype=torch.float64))
        tensor([5.0000e-01, 2.7536e-89], dtype=torch.float64)
    """
    return 0.5 * torch.erfc(-z / math.sqrt(2.0))


def pdf(z: Tensor) -> Tensor:
    """ψ(z).

    Example:
        >>> pdf(torch.tensor(0.0))
        tensor(0.3989)
    """
    return (-0.5 * z.square()).exp() / math.sqrt(2.0 * math.pi)
