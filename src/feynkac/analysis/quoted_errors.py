r"""Prices of a quoted family in implied volatility, and their errors in basis points (1 bp = 1e-4).

An error counts where volatility means something: the reference has one, and its vega is at least a
hundredth of the discounted √(FK), so that a percentage point of volatility is worth at least a
basis point of the forward. A price beyond the bounds of arbitrage has no volatility; its error is
then that of the price, divided by vega.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from feynkac.analysis.implied_volatility import (
    black_vega,
    implied_volatility,
    why_no_volatility,
)
from feynkac.analysis.normal_volatility import normal_volatility
from feynkac.errors import InputError
from feynkac.families.family import Family
from feynkac.families.quoted import Quote, Quoted

LEAST_VEGA = 0.01  # of the discounted √(FK)
BASIS_POINT = 1e-4
TAIL = 0.99


@dataclass(frozen=True)
class VolatilityErrors:
    """|implied volatility of Φ − that of ū| in basis points, where volatility means something.

    Example:
        >>> VolatilityErrors(median=0.4, tail=3.1, share=0.93).record()
        {'volatility_median_bp': 0.4, 'volatility_99_bp': 3.1, 'volatility_share': 0.93}
    """

    median: float
    tail: float
    """The 99 % quantile."""
    share: float
    """Of the inputs where volatility means something."""

    def record(self) -> dict[str, float]:
        """As plain numbers by name."""
        return {
            "volatility_median_bp": self.median,
            "volatility_99_bp": self.tail,
            "volatility_share": self.share,
        }


def quoted(family: Family) -> bool:
    """Whether u is the price of a call or a put on one asset.

    Example:
        >>> import feynkac as fk
        >>> quoted(fk.Heston()), quoted(fk.Heston(fk.Payoff("digital"))), quoted(fk.Channel())
        (True, False, False)
    """
    if not isinstance(family, Quoted):
        return False
    return family.quote(*family.domain.split(family.domain.mean[None])) is not None


def price_volatility(
    family: Family, prices: Tensor, inputs: Tensor, normal: bool = False
) -> Tensor:
    """Black's volatilities of prices, or Bachelier's.  Shape: `(N, 1)`, `(N, dim)` → `(N,)`.

    Example:
        >>> import feynkac as fk
        >>> put = fk.BlackScholes()
        >>> at = put.domain.join(dict(x=9.5, t=0.5, sigma=0.35, strike=11.0))[None]
        >>> price_volatility(put, put.closed_form(*put.domain.split(at)), at)
        tensor([0.3500], dtype=torch.float64)
    """
    t, quote = read_quote(family, inputs)
    arguments = (quote.forward, quote.strike, t, quote.discount, quote.call)
    invert = normal_volatility if normal else implied_volatility
    return invert(prices, *arguments).squeeze(-1)


def why_no_price_volatility(family: Family, prices: Tensor, inputs: Tensor) -> Mapping[str, int]:
    """Why prices of a family have no volatility: sentences and how many; empty if all have one.

    Shape: `(N, 1)`, `(N, dim)`.
    """
    t, quote = read_quote(family, inputs)
    arguments = (quote.forward, quote.strike, t, quote.discount, quote.call)
    return why_no_volatility(prices, *arguments)


def volatility_errors(
    family: Family, prices: Tensor, reference: Tensor, inputs: Tensor
) -> VolatilityErrors:
    """Errors of prices against a reference.  Shape: `(N, 1)` twice, `(N, dim)`."""
    inputs = inputs.double()
    t, quote = read_quote(family, inputs)
    truth, found = (price_volatility(family, v, inputs) for v in (reference, prices))
    sigma = truth.nan_to_num(0.0)[:, None]
    vega = black_vega(quote.forward, quote.strike, t, sigma, quote.discount)
    level = vega.new_tensor(1.0) * quote.discount * (quote.forward * quote.strike) ** 0.5
    means = (truth > 0) & (vega >= LEAST_VEGA * level).squeeze(-1)
    linear = ((prices - reference).abs() / torch.where(means[:, None], vega, 1.0)).squeeze(-1)
    errors = torch.where(found.isnan(), linear, (found - truth).abs())[means] / BASIS_POINT
    share = means.double().mean().item()
    if not len(errors):
        return VolatilityErrors(torch.nan, torch.nan, share)
    return VolatilityErrors(errors.median().item(), errors.quantile(TAIL).item(), share)


def read_quote(family: Family, inputs: Tensor) -> tuple[Tensor, Quote]:
    """Times and quotes of flat inputs, if the family has any.  Shape: `(N, dim)` → `(N, 1)` each.

    Raises:
        InputError: u is not the price of a call or put on one asset.
    """
    x, t, p = family.domain.split(inputs)
    quote = family.quote(x, t, p) if isinstance(family, Quoted) else None
    if quote is None:
        raise InputError(
            f"{type(family).__name__} has no implied volatility: its u is not declared as the "
            "price of a call or put on one asset; if it is one, make the family Quoted, with "
            "quote(x, t, p) that returns fk.Quote(forward, strike, discount, call)."
        )
    return t, quote
