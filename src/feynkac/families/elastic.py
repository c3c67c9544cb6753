r"""Prices whose level is a matter of their volatility:  dF = σ 100^{1−β} F^β dB  has

    u(F, K, σ) = s u(F/s, K/s, σ s^{β−1}),   all other variables as they are,

for every s > 0, so that one strike, or one price, in a network's box stands for all.
"""

from abc import ABC, abstractmethod

from torch import Tensor

from feynkac.families.domain import Domain

SCALE = 100.0  # the price at which σ is the lognormal volatility


class Elastic(ABC):
    """Capability: the identity above holds for the price x[0], `strike` and `beta`.

    Example:
        >>> from feynkac.families.models.cev import Cev
        >>> Cev().volatility
        'sigma'
    """

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """That of the family."""

    @property
    @abstractmethod
    def volatility(self) -> str:
        """The entry that is σ."""


def at_level(family: Elastic, inputs: Tensor, s: Tensor) -> Tensor:
    """(F/s, K/s, σ s^{β−1}).  Shape: inputs `(…, dim)`, s `(…, 1)` → `(…, dim)`.

    Example:
        >>> import torch
        >>> from feynkac.families.models.cev import Cev
        >>> f = Cev()
        >>> at = dict(x=100.0, t=1.0, sigma=0.2, beta=0.5, rate=0.0, strike=100.0)
        >>> at_level(f, f.domain.join(at), torch.tensor([4.0])).tolist()
        [25.0, 1.0, 0.1, 0.5, 0.0, 25.0]
    """
    domain = family.domain
    strike, beta, sigma = (
        domain.place(name).columns for name in ("strike", "beta", family.volatility)
    )
    factors = inputs.new_ones(()).expand_as(inputs).clone()
    factors[..., :1] = 1.0 / s
    factors[..., strike] = 1.0 / s
    factors[..., sigma] = s ** (inputs[..., beta] - 1.0)
    return inputs * factors
