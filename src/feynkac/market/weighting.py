"""How a fit compares quotes: in which units, with which weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

import numpy as np

from feynkac.errors import InputError
from feynkac.market.quotes import Array, Quotes

LEAST_VEGA = 1e-3  # of the largest: a smaller one counts as this


class Residuals(StrEnum):
    """In which units a fit compares.

    Example:
        >>> Residuals("volatility") is Residuals.VOLATILITY
        True
    """

    PRICE = "price"
    VOLATILITY = "volatility"
    YIELD = "yield"


class Weights(StrEnum):
    """How much a quote counts: by its spread, like a unit of volatility (vega), or all the same.

    Example:
        >>> list(Weights)[0].value
        'spread'
    """

    SPREAD = "spread"
    VEGA = "vega"
    EQUAL = "equal"


@dataclass(frozen=True)
class Market:
    """What a fit to quotes may be told; what is None is chosen by the sheet."""

    free: Sequence[str] | None = None
    given: Mapping[str, Any] | None = None
    residuals: Residuals | None = None
    weights: Weights | None = None
    confidence: float = 0.9
    seed: int = 0
    polish: bool = True
    """Whether the closed form, if there is one, takes the last steps of a network's fit."""


def make_market(**settings: Any) -> Market:
    """From plain values, such as weights="vega".

    Example:
        >>> make_market(weights="vega").weights
        <Weights.VEGA: 'vega'>
    """
    known = [field.name for field in fields(Market)]
    if unknown := [name for name in settings if name not in known]:
        raise InputError(f"there is no setting {unknown[0]!r}; there are: {', '.join(known)}.")
    kinds: dict[str, type[StrEnum]] = {"residuals": Residuals, "weights": Weights}
    for name, kind in kinds.items():
        if (value := settings.get(name)) is not None:
            if value not in list(kind):
                raise InputError(f"{name} are one of {', '.join(kind)}; got {value!r}.")
            settings[name] = kind(value)
    if not 0.0 < settings.get("confidence", 0.9) < 1.0:
        raise InputError(f"confidence must lie between 0 and 1, got {settings['confidence']}.")
    return Market(**settings)


def in_level_units(quotes: Quotes, residuals: Residuals | None) -> bool:
    """Whether residuals are in the quotes' level, volatility or yield, rather than in price.

    By default they are in what is quoted.
    """
    if residuals is None:
        return not quotes.in_price
    if residuals is Residuals.PRICE:
        return False
    if residuals.value != quotes.level_name:
        raise InputError(f"these quotes have no {residuals}; choose price or {quotes.level_name}.")
    return True


def _chosen_weights(quotes: Quotes, weights: Weights | None, in_level: bool) -> Weights:
    if weights is Weights.SPREAD and quotes.half_spread is None:
        raise InputError("the sheet has no bid and ask prices to weight by; choose vega or equal.")
    if weights is not None:
        return weights
    if quotes.half_spread is not None:
        return Weights.SPREAD
    return Weights.EQUAL if in_level else Weights.VEGA


def noise_of(quotes: Quotes, weights: Weights | None, in_level: bool) -> tuple[Array, bool]:
    """Standard deviations in the units of the residuals; whether up to a factor only."""
    chosen = _chosen_weights(quotes, weights, in_level)
    if chosen is Weights.EQUAL:
        return np.ones(len(quotes)), True
    if chosen is Weights.VEGA:
        vega = np.maximum(quotes.vega, LEAST_VEGA * quotes.vega.max())
        return (1.0 / vega if in_level else vega), True
    assert quotes.half_spread is not None
    positive = quotes.half_spread[quotes.half_spread > 0.0]
    if not len(positive):
        raise InputError("all bid and ask prices are equal; weight by vega, or all the same.")
    half = np.maximum(quotes.half_spread, positive.min())
    return (half / quotes.vega if in_level else half), False


def describe(quotes: Quotes, weights: Weights | None, in_level: bool) -> list[str]:
    """The units and weights of a fit in one sentence."""
    said = {
        Weights.SPREAD: "quotes are weighted by their bid–ask spreads",
        Weights.VEGA: "quotes are weighted by vega",
        Weights.EQUAL: "all quotes have the same weight",
    }
    unit = quotes.level_name if in_level else "price"
    return [f"residuals are in {unit}; {said[_chosen_weights(quotes, weights, in_level)]}."]
