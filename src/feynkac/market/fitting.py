r"""A family fitted to quotes:  min_θ Σ wᵢ (yᵢ(θ) − yᵢ)²,  y prices, or implied volatilities.

The weights are those of the market alone. Fits in volatility are a few fits in price, see `_Fit`.

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
from feynkac.analysis.observations import Problem, make_problem
from feynkac.analysis.partials import Map
from feynkac.errors import InputError
from feynkac.families.capabilities import ClosedForm
from feynkac.families.family import Family
from feynkac.market.market_fit import Check, MarketFit
from feynkac.market.placing import Placed, place
from feynkac.market.quotes import Array, Quotes

REPEATS = 12  # of fits in price, for one in volatility
STILL = 1e-5  # of the box: parameters that move less stay
LEAST_VEGA = 1e-3  # of the quote's: less says nothing of the volatility
JUDGES = 32  # quotes that choose the starts
LARGE = 0.05  # of the quotes
CORRECTIONS = 3  # of the error of u at the quotes
EXACT = 1e-5  # volatility: a smaller error needs no correction
ROUGH, FINE = 1e-2, 1e-6  # relative changes of parameters at which descents end
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
    kept, in_level = placed.quotes, _in_level(placed.quotes, market.residuals)
    noise, relative = _noise(kept, market.weights, in_level)
    fit = _Fit(u, placed, noise, relative, in_level, market.confidence)
    start = time.perf_counter()
    state = fit.refined(fit.rough(market.seed), np.zeros(len(kept)))
    seconds = time.perf_counter() - start
    checked = None
    if check is not None:
        state, checked = fit.corrected(state, check)
    level = kept.levels(state.price)
    residuals = level - kept.level if in_level else state.price - kept.price
    found = replace(state.found, residuals=residuals)
    notes = [*placed.notes, *_weighting(kept, market.weights, in_level)]
    made = MarketFit(
        family.name(),
        kept,
        found,
        state.problem,
        in_level,
        state.price,
        level,
        checked,
        notes,
        seconds,
    )
    return replace(made, calibration=replace(found, warnings=[*found.warnings, *_large(made)]))


def _large(fit: MarketFit) -> list[str]:
    """A warning where the model does not describe the quotes."""
    name, rms = fit.quotes.level_name, float(np.sqrt(np.nanmean(fit.level_residuals**2)))
    if rms <= LARGE * np.mean(np.abs(fit.quotes.level)):
        return []
    return [f"{fit.family} misses these quotes by {100 * rms:.2g} points of {name} (rms)."]


@dataclass(frozen=True)
class _State:
    """A best fit, and what it is the best fit of."""

    problem: Problem
    found: Calibration
    price: Array
    """Fitted, without the known error of u."""


@dataclass(frozen=True)
class _Fit:
    """Descents of one fit. With P(θ) the price less what u is known to miss,

        σ(P) − σᵢ ≈ (P − target)/vega,   target = Pₖ − vega (σ(Pₖ) − σᵢ),

    at the last prices Pₖ: fits in volatility are a few fits in price.
    """

    u: Map
    placed: Placed
    noise: Array
    relative: bool
    in_level: bool
    confidence: float

    def rough(self, seed: int) -> _State:
        """From the best of many points, by the vega of the quotes."""
        quotes = self.placed.quotes
        noise = self.noise * (quotes.vega if self.in_level else 1.0)
        problem = self._problem(quotes.price, noise)
        precision = ROUGH if self.in_level else FINE
        found = calibrate(
            problem, confidence=self.confidence, seed=seed, precision=precision, judges=JUDGES
        )
        return self._state(problem, found, np.zeros(len(quotes)))

    def refined(self, state: _State, offset: Array) -> _State:
        """The best fit near another, with u less `offset` for the prices."""
        for repeat in range(REPEATS):
            before = state.problem.unit(state.found.estimate)
            target, noise = self._linearised(state.price)
            problem = self._problem(target + offset, noise)
            start = state.found.estimate
            precision = max(FINE, ROUGH * 0.1 ** (repeat + 1)) if self.in_level else FINE
            found = calibrate(problem, confidence=self.confidence, start=start, precision=precision)
            state = self._state(problem, found, offset)
            if not self.in_level or np.abs(problem.unit(found.estimate) - before).max() < STILL:
                break
        return state

    def corrected(self, state: _State, check: Checker) -> tuple[_State, Check]:
        """The fit without the error of u at the quotes, as far as the check knows and that helps."""
        quotes, offset = self.placed.quotes, np.zeros(len(self.placed.quotes))
        best: tuple[float, _State, Check] | None = None
        for _ in range(CORRECTIONS + 1):
            checked = self._check(check, state)
            misfit = self._misfit(checked.price)
            if best is not None and misfit >= best[0]:
                break
            missed = state.price - checked.price
            known = np.abs(missed) > checked.half_width
            best = misfit, state, checked
            if not (known & (np.abs(missed) > EXACT * quotes.vega)).any():
                break
            offset = offset + np.where(known, missed, 0.0)
            state = self.refined(
                replace(state, price=state.price - np.where(known, missed, 0.0)), offset
            )
        assert best is not None
        _, state, checked = best
        error = np.abs(state.price - checked.price) + checked.half_width
        error = error / self.placed.factor
        found = _widened(state.problem, state.found, error)
        return replace(state, problem=replace(state.problem, model=error), found=found), checked

    def _linearised(self, price: Array) -> tuple[Array, Array]:
        """Targets and noise in price."""
        quotes = self.placed.quotes
        if not self.in_level:
            return quotes.price, self.noise
        level = quotes.levels(price)
        slope = np.where(np.isfinite(level), quotes.slope(np.nan_to_num(level, nan=1.0)), 0.0)
        usable = np.abs(slope) > LEAST_VEGA * quotes.vega
        target = np.where(
            usable, price - slope * (np.where(usable, level, 0.0) - quotes.level), quotes.price
        )
        return target, self.noise * np.where(usable, np.abs(slope), quotes.vega)

    def _problem(self, price: Array, noise: Array) -> Problem:
        placed = self.placed
        values = (price - placed.shift) / placed.factor
        made = make_problem(
            self.u, placed.domain, placed.free, placed.known, values, noise / placed.factor
        )
        return replace(made, relative=self.relative)

    def _state(self, problem: Problem, found: Calibration, offset: Array) -> _State:
        with torch.no_grad():
            value = self.u(problem.at(problem.unit(found.estimate))).squeeze(-1).double().numpy()
        return _State(problem, found, self.placed.factor * value + self.placed.shift - offset)

    def _misfit(self, price: Array) -> float:
        quotes = self.placed.quotes
        if not self.in_level:
            return float(np.sum(((price - quotes.price) / self.noise) ** 2))
        level = quotes.levels(price)
        return float(np.sum((np.nan_to_num(level) - quotes.level) ** 2 / self.noise**2))

    def _check(self, check: Checker, state: _State) -> Check:
        problem, placed = state.problem, self.placed
        by, value, half_width = check(problem.at(problem.unit(state.found.estimate)))
        return Check(by, placed.factor * value + placed.shift, placed.factor * half_width)


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
