r"""Prices of calls and puts that have an implied volatility, as Black's formula reads them:

u = D (E[S_t] − K)⁺ and more,   with forward F = E[S_t], strike K, discount factor D.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from feynkac.families.payoff import Payoff
from feynkac.families.point import Params


@dataclass(frozen=True)
class Quote:
    """What Black's formula needs beside the price and the time.  Shape: `(…, 1)` or numbers.

    Example:
        >>> Quote(forward=100.0, strike=90.0).call
        True
    """

    forward: Tensor | float
    """Mean of the asset at maturity."""
    strike: Tensor | float
    discount: Tensor | float = 1.0
    """What 1 at maturity is worth now."""
    call: Tensor | bool = True
    """Otherwise it is a put."""


class Quoted(ABC):
    """Capability: u is the price of a call or put on one asset, so it has an implied volatility.

    Example:
        >>> class Forwards(Quoted):
        ...     def quote(self, x, t, p):
        ...         return Quote(forward=x, strike=p.strike, discount=(-p.rate * t).exp())
        >>> p = Params(strike=Tensor([90.0]), rate=Tensor([0.0]))
        >>> Forwards().quote(Tensor([100.0]), Tensor([1.0]), p).discount
        tensor([1.])
    """

    learns_volatility: ClassVar[bool] = True
    """Whether the fast method may learn a volatility and price by a formula; otherwise u itself."""

    @abstractmethod
    def quote(self, x: Tensor, t: Tensor, p: Params) -> Quote | None:
        """Forward, strike, discount and kind; None if the payoff is neither a call nor a put.

        Shape: x `(…, d)`, t `(…, 1)` → `(…, 1)` each.
        """


def vanilla(payoff: Payoff, forward: Tensor, strike: Tensor, discount: Tensor) -> Quote | None:
    """The quote of a payoff of one asset, None unless it is a call or a put."""
    if payoff.style not in ("call", "put"):
        return None
    return Quote(forward, strike, discount, payoff.style == "call")
