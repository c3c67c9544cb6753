r"""A family fitted to quotes:  min_θ Σ wᵢ (yᵢ(θ) − yᵢ)²,  y prices, or implied volatilities.

The weights are those of the market alone; `descents.py` says how the error of u enters.
"""

import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from feynkac.analysis.partials import Map
from feynkac.errors import InputError
from feynkac.families.capabilities import ClosedForm
from feynkac.families.family import Family
from feynkac.market.descents import Checker, Descents, Polished
from feynkac.market.market_fit import Check, MarketFit
from feynkac.market.placing import levelled, place
from feynkac.market.quotes import Array, Quotes
from feynkac.market.weighting import Market, describe, in_level_units, make_market, noise_of

LARGE = 0.05  # of the quotes
NO_VEGA = 1e-5  # of the largest: it is worth no more than 1e-7 of the asset per point of volatility


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
    u: Map,
    family: Family,
    quotes: Quotes,
    market: Market,
    check: Checker | None,
    anywhere: bool,
    formula: Map | None = None,
) -> MarketFit:
    """The best parameters.

    Args:
        u: the solution map, on flat inputs of the family.
        family: what it solves.
        quotes: from a sheet.
        market: how to fit them.
        check: a reference for the fitted prices.
        anywhere: whether u is known outside the family's box too, as a formula is.
        formula: the family's closed form, which takes the last steps.
    """
    in_level = in_level_units(quotes, market.residuals)
    told = _telling(quotes) if in_level else quotes
    placed = place(family, told, market.given or {}, market.free, anywhere)
    kept = placed.quotes
    noise, relative = noise_of(kept, market.weights, in_level)
    fit = Descents(
        *(_asked(u, family, anywhere), placed, noise, relative, in_level, market.confidence),
        exact=anywhere,
    )
    start = time.perf_counter()
    state = fit.rough(market.seed)
    checked, end = None, None
    if formula is not None and market.polish:
        end = fit.polished(state, formula)
    if end is not None:
        state = end.state
        checked = Check("the closed form", state.price, np.zeros(len(kept)))
    else:
        state = fit.refined(state, np.zeros(len(kept)))
        if check is not None:
            state, checked = fit.corrected(state, _checked(check, family))
    seconds = time.perf_counter() - start
    level = kept.levels(state.price)
    residuals = level - kept.level if in_level else state.price - kept.price
    found = replace(state.found, residuals=residuals)
    notes = [*placed.notes, *_last_steps(end), *describe(kept, market.weights, in_level)]
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
        None if end is None else end.network,
    )
    return replace(made, calibration=replace(found, warnings=[*found.warnings, *_large(made)]))


def _telling(quotes: Quotes) -> Quotes:
    """Without those whose price is the same at any volatility that they might have."""
    keep = quotes.vega > NO_VEGA * quotes.vega.max()
    name = quotes.level_name
    reason = f"its price does not tell its {name}: vega is below {NO_VEGA:g} of the largest"
    return quotes if keep.all() else quotes.select(keep, [reason] * len(quotes))


def _last_steps(end: Polished | None) -> list[str]:
    if end is None:
        return []
    fell = f"{end.before:.5g} to {end.after:.5g}"
    return [f"the last steps are by the closed form: its sum of squares falls from {fell}."]


def _asked(u: Map, family: Family, anywhere: bool) -> Map:
    """u at the level where it was solved."""

    def at_its_level(inputs: Tensor) -> Tensor:
        moved, s = levelled(family, inputs)
        return s * u(moved)

    return u if anywhere else at_its_level


def _checked(check: Checker, family: Family) -> Checker:
    def at_its_level(inputs: Tensor) -> tuple[str, Array, Array]:
        moved, s = levelled(family, inputs)
        by, value, half_width = check(moved)
        factor = s.squeeze(-1).numpy() if s.ndim else 1.0
        return by, factor * value, factor * half_width

    return at_its_level


def _large(fit: MarketFit) -> list[str]:
    """Warnings where the model does not describe the quotes."""
    name, known = fit.quotes.level_name, np.isfinite(fit.level_residuals)
    found = []
    if not known.all():
        count = f"{int((~known).sum())} of {len(known)}"
        found.append(f"{count} fitted prices have no {name}; residuals and objective omit them.")
    rms = float(np.sqrt(np.mean(fit.level_residuals[known] ** 2))) if known.any() else 0.0
    if rms > LARGE * np.mean(np.abs(fit.quotes.level)):
        found.append(f"{fit.family} misses these quotes by {100 * rms:.2g} points of {name} (rms).")
    return found
