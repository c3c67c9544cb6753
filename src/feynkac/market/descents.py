r"""The descents of a fit to quotes. With P(θ) the price less what u is known to miss,

    σ(P) − σᵢ ≈ (P − target)/vega,   target = Pₖ − vega (σ(Pₖ) − σᵢ),

at the last prices Pₖ: a fit in volatility is a few fits in price, and of yields likewise.

The error of the solution at each quote is known from a check, a closed form or simulation. The fit
is repeated without it (a defect correction) where that helps, and what is then left of it, eᵢ,
widens the covariance of θ by J⁺ diag(n eᵢ²) J⁺*.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from feynkac.analysis.calibration import RANK, Calibration, calibrate, interval_factor
from feynkac.analysis.observations import Problem, make_problem
from feynkac.analysis.partials import Map
from feynkac.market.market_fit import Check
from feynkac.market.placing import Placed
from feynkac.market.quotes import Array

REPEATS = 12  # of fits in price, for one in volatility
STILL = 1e-5  # of the box: parameters that move less stay
JUDGES = 32  # quotes that choose the starts
LEAST_VEGA = 1e-3  # of the quote's: less says nothing of the volatility
CORRECTIONS = 3  # of the error of u at the quotes
EXACT = 1e-5  # volatility: a smaller error needs no correction
ROUGH, FINE = 1e-2, 1e-6  # relative changes of parameters at which descents end
Checker = Callable[[Tensor], tuple[str, Array, Array]]
"""From flat inputs to the name of a reference, its values and the half widths of its intervals."""


@dataclass(frozen=True)
class State:
    """A best fit, and what it is the best fit of."""

    problem: Problem
    found: Calibration
    price: Array
    """Fitted, without the known error of u."""


@dataclass(frozen=True)
class Descents:
    """Of one fit."""

    u: Map
    placed: Placed
    noise: Array
    relative: bool
    in_level: bool
    confidence: float

    def rough(self, seed: int) -> State:
        """From the best of many points, by the vega of the quotes."""
        quotes = self.placed.quotes
        noise = self.noise * (quotes.vega if self.in_level else 1.0)
        problem = self._problem(quotes.price, noise)
        precision = ROUGH if self.in_level else FINE
        found = calibrate(
            problem, confidence=self.confidence, seed=seed, precision=precision, judges=JUDGES
        )
        return self._state(problem, found, np.zeros(len(quotes)))

    def refined(self, state: State, offset: Array) -> State:
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

    def corrected(self, state: State, check: Checker) -> tuple[State, Check]:
        """The fit without the error of u at the quotes, as far as it is known and that helps."""
        quotes, offset = self.placed.quotes, np.zeros(len(self.placed.quotes))
        best: tuple[float, State, Check] | None = None
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

    def _state(self, problem: Problem, found: Calibration, offset: Array) -> State:
        with torch.no_grad():
            value = self.u(problem.at(problem.unit(found.estimate))).squeeze(-1).double().numpy()
        return State(problem, found, self.placed.factor * value + self.placed.shift - offset)

    def _misfit(self, price: Array) -> float:
        quotes = self.placed.quotes
        if not self.in_level:
            return float(np.sum(((price - quotes.price) / self.noise) ** 2))
        level = quotes.levels(price)
        return float(np.sum((np.nan_to_num(level) - quotes.level) ** 2 / self.noise**2))

    def _check(self, check: Checker, state: State) -> Check:
        problem, placed = state.problem, self.placed
        by, value, half_width = check(problem.at(problem.unit(state.found.estimate)))
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
