r"""Expected payoffs of a number I with mean F that is normal or lognormal, Z standard normal:

    I = F + vZ  (Bachelier 1900),            d = (F − K)/v:
        call (F − K) Ψ(d) + v ψ(d),   put (K − F) Ψ(−d) + v ψ(d),   digital Ψ(d);
    I = F exp(vZ − ½v²)  (Black 1976),       d₂ = ln(F/K)/v − ½v,  d₁ = d₂ + v:
        call F Ψ(d₁) − K Ψ(d₂),       put K Ψ(−d₂) − F Ψ(−d₁),      digital Ψ(d₂),

with ψ the standard normal density and Ψ its distribution function. At v = 0 they are the payoff of
F, and their derivatives those of the payoff.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from feynkac.families.formulas.normal_law import cdf, pdf
from feynkac.families.formulas.safe_root import positive
from feynkac.families.payoff import STYLES

ExpectedPayoff = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

NORMAL: dict[str, ExpectedPayoff] = {
    "call": lambda F, K, v, d: (F - K) * cdf(d) + v * pdf(d),
    "put": lambda F, K, v, d: (K - F) * cdf(-d) + v * pdf(d),
    "digital": lambda F, K, v, d: cdf(d),
}
LOGNORMAL: dict[str, ExpectedPayoff] = {
    "call": lambda F, K, d1, d2: F * cdf(d1) - K * cdf(d2),
    "put": lambda F, K, d1, d2: K * cdf(-d2) - F * cdf(-d1),
    "digital": lambda F, K, d1, d2: cdf(d2),
}


def bachelier(style: str, forward: Tensor, strike: Tensor, deviation: Tensor) -> Tensor:
    """The expected payoff of a normal number with standard deviation v.

    Shape: all `(…, 1)`, broadcast.

    Example:
        >>> F, K, v = torch.tensor([[100.0], [100.0], [20.0]])
        >>> bachelier("call", F, K, v)  # v/√2π
        tensor([7.9788])
    """
    v = positive(deviation)
    value = NORMAL[style](forward, strike, v, (forward - strike) / v)
    return torch.where(deviation > 0, value, STYLES[style](forward - strike))


def black(style: str, forward: Tensor, strike: Tensor, deviation: Tensor) -> Tensor:
    """The expected payoff of a lognormal number whose logarithm has deviation v.

    Shape: all `(…, 1)`, broadcast.

    Example:
        >>> F, K, v = torch.tensor([[100.0], [100.0], [0.2]])
        >>> black("call", F, K, v)
        tensor([7.9656])
    """
    value = LOGNORMAL[style](forward, strike, *moneyness(forward, strike, deviation))
    return torch.where(deviation > 0, value, STYLES[style](forward - strike))


def moneyness(forward: Tensor, strike: Tensor, deviation: Tensor) -> tuple[Tensor, Tensor]:
    """d₁ and d₂, as for v = 1 where v = 0."""
    v = positive(deviation)
    middle = (forward / strike).log() / v
    return middle + v / 2, middle - v / 2
