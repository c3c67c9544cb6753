r"""A family fitted to quotes:  min_θ Σ wᵢ (yᵢ(θ) − yᵢ)²,  y prices, or implied volatilities.

The first descents look at prices divided by vega, which are nearly volatilities, cost less and
always exist. The last one is exact. The weights are those of the market alone.

The error of the solution at each quote is known from a check, a closed form or simulation. The fit
is repeated without it (a defect correction), and what the check leaves open, eᵢ, widens the
covariance of θ by J⁺ diag(n eᵢ²) J⁺*.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

import numpy as np
import torch
from torch import Tensor

from feynkac.analysis.calibration import RANK, Calibration, calibrate, interval_factor
from feynkac.analysis.implied_volatility import implied_volatility
from feynkac.analysis.observations import Problem, make_problem
from feynkac.analysis.partials import Map
from feynkac.errors import InputError
from feynkac.families.capabilities import ClosedForm, Quoted
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.market.market_fit import Check, MarketFit
from feynkac.market.placing import Placed, place
from feynkac.market.quotes import Array, Quotes

TINY = 1e-10  # of the price's range: less time value is taken as this
LEAST_PRICE = 1e-12  # of a bond
CORRECTIONS = 3  # of the error of u at the quotes
EXACT = 1e-5  # volatility: a smaller error needs no correction
ROUGH, FINE = 1e-3, 1e-6  # relative changes of parameters at which descents end
Checker = Callable[[Tensor], tuple[str, Array, Array]]
"""From flat inputs to the name of a reference, its values and the half widths of its intervals."""


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


def calibrate_formula(family: Family, quotes: Quotes, **settings: Any) -> MarketFit:
    """A family's closed form fitted to quotes; the free variables stay in its domain.

    Args:
        family: with a closed form, on a domain wide enough for its parameters.
        quotes: from `read_quotes`.
        settings: the fields of `Market`: free, given, residuals, weights, confidence, seed.

    Example:
        >>> import feynkac as fk
        >>> sheet = {"strike": [95, 100, 105], "maturity": ["6M"] * 3, "iv": [0.2, 0.21, 0.22]}
        >>> fit = fk.calibrate_formula(fk.BlackScholesMerton(), fk.read_quotes(sheet, spot=100.0))
        >>> round(float(fit.calibration.estimate[0]), 6)
        0.21
    """
    if not isinstance(family, ClosedForm):
        raise InputError(f"{family.name()} has no closed form; calibrate a solution of it.")
    formula = family.closed_form

    def u(inputs: Tensor) -> Tensor:
        return formula(*family.domain.split(inputs))

    return fit_quotes(u, family, quotes, make_market(**settings), None, True)


@torch.inference_mode(False)  # gradients are needed, whatever the caller does
def fit_quotes(
    u: Map, family: Family, quotes: Quotes, market: Market, check: Checker | None, anywhere: bool
) -> MarketFit:
    """The best parameters.

    Args:
        u: the solution map, on flat inputs of the family.
        family: what it solves.
        quotes: from a sheet.
        market: how to fit them.
        check: a reference for the fitted prices.
        anywhere: whether u is known outside the family's box too, as a formula is.
    """
    placed = place(family, quotes, market.given or {}, market.free, anywhere)
    kept = placed.quotes
    in_level = _in_level(kept, market.residuals)
    start = time.perf_counter()
    problem, found = _estimate(u, family, placed, market, in_level)
    seconds = time.perf_counter() - start
    fitted = _fitted(u, problem, found, placed)
    checked = None
    if check is not None:
        problem, found, fitted, checked = _corrected(check, u, problem, found, placed, in_level)
    return MarketFit(
        family.name(),
        kept,
        found,
        problem,
        in_level,
        fitted,
        kept.levels(fitted),
        checked,
        [*placed.notes, *_weighting(kept, market.weights, in_level)],
        seconds,
    )


def _estimate(
    u: Map, family: Family, placed: Placed, market: Market, in_level: bool
) -> tuple[Problem, Calibration]:
    """What is minimised, and where it is least."""
    quotes = placed.quotes
    noise, relative = _noise(quotes, market.weights, in_level)
    in_price = noise * (quotes.vega if in_level else 1.0) / placed.factor
    prices = _problem(u, placed, placed.observed, in_price, relative)
    confidence, precision = market.confidence, ROUGH if in_level else FINE
    found = calibrate(prices, confidence=confidence, seed=market.seed, precision=precision)
    if not in_level:
        return prices, found
    problem = _problem(_level_map(u, family, placed.domain), placed, quotes.level, noise, relative)
    return problem, calibrate(
        problem, confidence=confidence, start=found.estimate, precision=FINE
    )


def _fitted(u: Map, problem: Problem, found: Calibration, placed: Placed) -> Array:
    """Prices."""
    with torch.no_grad():
        value = u(problem.at(problem.unit(found.estimate))).squeeze(-1).double().numpy()
    return np.asarray(placed.factor * value + placed.shift)


def _corrected(
    check: Checker, u: Map, problem: Problem, found: Calibration, placed: Placed, in_level: bool
) -> tuple[Problem, Calibration, Array, Check]:
    """The fit without the error of u at the quotes, as far as the check knows it."""
    quotes, unit = placed.quotes, placed.quotes.vega if in_level else placed.factor
    observed, offset = problem.values, np.zeros(len(placed.quotes))
    for repeat in range(CORRECTIONS + 1):
        fitted = _fitted(u, problem, found, placed)
        checked = _check(check, problem.at(problem.unit(found.estimate)), placed)
        missed = fitted - offset - checked.price
        known = np.abs(missed) > checked.half_width
        if repeat == CORRECTIONS or not (known & (np.abs(missed) > EXACT * quotes.vega)).any():
            break
        offset = np.where(known, fitted - checked.price, offset)
        moved = replace(problem, values=observed + offset / unit)
        if in_level:
            shift = quotes.levels(fitted) - quotes.levels(fitted - offset)
            moved = replace(problem, values=observed + np.where(np.isfinite(shift), shift, offset / unit))
        problem, found = moved, calibrate(
            moved, confidence=found.confidence, start=found.estimate, precision=FINE
        )
    error = (np.abs(missed) + checked.half_width) / unit
    found = _widened(problem, found, error)
    return replace(problem, model=error), found, fitted - offset, checked


def _in_level(quotes: Quotes, residuals: Residuals | None) -> bool:
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


def _noise(quotes: Quotes, weights: Weights | None, in_level: bool) -> tuple[Array, bool]:
    """Standard deviations in the units of the residuals; whether up to a factor only."""
    chosen = _chosen_weights(quotes, weights, in_level)
    if chosen is Weights.EQUAL:
        return np.ones(len(quotes)), True
    if chosen is Weights.VEGA:
        vega = np.maximum(quotes.vega, 1e-3 * quotes.vega.max())
        return (1.0 / vega if in_level else vega), True
    assert quotes.half_spread is not None
    positive = quotes.half_spread[quotes.half_spread > 0.0]
    if not len(positive):
        raise InputError("all bid and ask prices are equal; weight by vega, or all the same.")
    half = np.maximum(quotes.half_spread, positive.min())
    return (half / quotes.vega if in_level else half), False


def _weighting(quotes: Quotes, weights: Weights | None, in_level: bool) -> list[str]:
    said = {
        Weights.SPREAD: "quotes are weighted by their bid–ask spreads",
        Weights.VEGA: "quotes are weighted by vega",
        Weights.EQUAL: "all quotes have the same weight",
    }
    unit = quotes.level_name if in_level else "price"
    return [f"residuals are in {unit}; {said[_chosen_weights(quotes, weights, in_level)]}."]


def _problem(u: Map, placed: Placed, values: Array, noise: Array, relative: bool) -> Problem:
    made = make_problem(u, placed.domain, placed.free, placed.known, values, noise)
    return replace(made, relative=relative)


def _level_map(u: Map, family: Family, domain: Domain) -> Map:
    """Volatility or yield of u, on flat inputs."""

    def volatility(inputs: Tensor) -> Tensor:
        assert isinstance(family, Quoted)
        x, t, p = domain.split(inputs.double())
        quote = family.quote(x, t, p)
        call = torch.as_tensor(quote.call)
        gain = torch.where(call, quote.forward - quote.strike, quote.strike - quote.forward)
        low, high = gain.clamp_min(0.0), torch.where(call, quote.forward, quote.strike)
        slack = TINY * (high - low)
        value = u(inputs) / quote.discount
        value = torch.minimum(torch.maximum(value, low + slack), high - slack)
        return implied_volatility(value, quote.forward, quote.strike, t, 1.0, call)

    def zero_yield(inputs: Tensor) -> Tensor:
        t = domain.split(inputs).t
        return -u(inputs).clamp_min(LEAST_PRICE).log() / t

    return volatility if isinstance(family, Quoted) else zero_yield


def _check(check: Checker, inputs: Tensor, placed: Placed) -> Check:
    by, value, half_width = check(inputs)
    return Check(by, placed.factor * value + placed.shift, placed.factor * half_width)


def _widened(problem: Problem, found: Calibration, error: Array) -> Calibration:
    """With the error of the solution, quote by quote, in the intervals."""
    theta = problem.unit(found.estimate)
    low, high = problem.bounds
    inverse = np.linalg.pinv(problem.jacobian(theta), rcond=RANK) * (high - low)[:, None]
    variance = len(problem.values) * (error / problem.scale) ** 2
    covariance = found.covariance + (inverse * variance) @ inverse.T
    std = np.where(np.isfinite(found.std), np.sqrt(np.diag(covariance)), np.inf)
    factor = interval_factor(problem, found.confidence)
    half = np.where(np.isfinite(std), factor * std, high - low)
    sides = np.stack([found.estimate - half, found.estimate + half], axis=1)
    interval = np.clip(sides, low[:, None], high[:, None])
    return replace(found, covariance=covariance, std=std, interval=interval)
