r"""The descents of a fit to quotes. With P(θ) the price less what u is known to miss,

    σ(P) − σᵢ ≈ (P − target)/vega,   target = Pₖ − vega (σ(Pₖ) − σᵢ),

at the last prices Pₖ: a fit in volatility is a few fits in price, and of yields likewise.

The error of the solution at each quote is known from a check, a closed form or simulation. The fit
is repeated without it (a defect correction) where that helps, and what is then left of it, eᵢ,
widens the covariance of θ by J⁺ diag(n eᵢ²) J⁺*. Where there is a closed form, its own descent from
there, of a few steps, ends at its best fit instead.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy
import torch
from torch import Tensor

from feynkac.analysis.calibration import RANK, Calibration, calibrate, interval_factor, summarise
from feynkac.analysis.observations import Problem, make_problem
from feynkac.analysis.partials import Map
from feynkac.market.market_fit import Check
from feynkac.market.placing import Placed
from feynkac.market.quotes import Array

REPEATS = 12  # of fits in price, for one in volatility
STILL = 1e-5  # of the box: parameters that move less stay
JUDGES = 32  # quotes that choose the starts
LEAST_VEGA = 1e-3  # of the quote's: less says nothing of the volatility
SMALL_VEGA = 1e-3  # of the largest
CORRECTIONS = 3  # of the error of u at the quotes
EXACT = 1e-5  # volatility: a smaller error needs no correction
NEWTON_STEPS, SHARES = 20, tuple(0.5**k for k in range(8))  # of a formula; of a step
ROUNDING = 1e-12  # of the box
ENOUGH = 1e-7  # of the sum of squares: less is not worth another step
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


class _End(NamedTuple):
    """Where a descent of a formula is."""

    theta: Array
    price: Array
    slopes: Array
    level: Array | None
    misfit: float
    """Weighted sum of squares."""
    start: float
    """The same at the start."""
    evaluations: int


class Polished(NamedTuple):
    """The end of a formula's descent."""

    state: State
    """Its problem is of u, without the error of u there."""
    network: Array
    """Prices of u."""
    before: float
    """Weighted sum of squares of the formula's residuals at the best fit of u."""
    after: float


@dataclass(frozen=True)
class Descents:
    """Of one fit."""

    u: Map
    placed: Placed
    noise: Array
    relative: bool
    in_level: bool
    confidence: float
    exact: bool = False
    """Whether u has no error, so that a price tells its level however small the vega is."""

    @property
    def least(self) -> float:
        """The vega that a smaller one counts as, where u has an error or θ is far from the best."""
        return float(SMALL_VEGA * self.placed.quotes.vega.max())

    def rough(self, seed: int) -> State:
        """From the best of many points, by the vega of the quotes."""
        quotes = self.placed.quotes
        noise = self.noise * (np.maximum(quotes.vega, self.least) if self.in_level else 1.0)
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

    def polished(self, state: State, formula: Map) -> Polished | None:
        """The best fit of a formula near that of u; None if the formula does not tell."""
        exact = replace(self, u=formula, exact=True)
        problem = replace(state.problem, u=formula)
        end = exact._newton(problem, problem.unit(state.found.estimate))
        if not np.isfinite(end.misfit):
            return None
        target, noise = exact._linearised(end.price, end.level)
        known = (end.price - target) / noise, end.slopes / noise[:, None]
        found = summarise(
            exact._problem(target, noise), end.theta, self.confidence, end.evaluations, known
        )
        network = self._asked(state.problem, end.theta)[0]
        quick = self._problem(target + network - end.price, noise)
        return Polished(State(quick, found, end.price), network, end.start, end.misfit)

    def _newton(self, problem: Problem, theta: Array) -> _End:
        """The best θ nearby, by steps of Gauss and Newton, halved where they do not help."""
        price, slopes = self._asked(problem, theta)
        level = self._levels(price)
        misfit = self._misfit(price, level)
        end = _End(theta, price, slopes, level, misfit, misfit, 1)
        for _ in range(NEWTON_STEPS):
            target, noise = self._linearised(end.price, end.level)
            left, jacobian = (target - end.price) / noise, end.slopes / noise[:, None]
            sides = -end.theta - ROUNDING, 1.0 - end.theta + ROUNDING
            step = scipy.optimize.lsq_linear(jacobian, left, sides).x
            moved = next(
                (m for share in SHARES if (m := self._moved(problem, end, share * step))), None
            )
            if moved is None:
                break
            gain, end = end.misfit - moved.misfit, moved
            if gain <= ENOUGH * end.misfit:
                break
        return end

    def _moved(self, problem: Problem, end: _End, step: Array) -> _End | None:
        """What is there after a step; None if it is not better."""
        theta = np.clip(end.theta + step, 0.0, 1.0)
        price, slopes = self._asked(problem, theta)
        level = self._levels(price)
        misfit = self._misfit(price, level)
        there = _End(theta, price, slopes, level, misfit, end.start, end.evaluations + 1)
        return there if misfit < end.misfit else None

    def _asked(self, problem: Problem, theta: Array) -> tuple[Array, Array]:
        """Prices and their slopes along θ.  Shape: `(p,)` → `(n,)`, `(n, p)`."""
        value, slopes = problem.linearised(theta)
        factor = self.placed.factor
        return factor * value + self.placed.shift, factor[:, None] * slopes

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

    def _levels(self, price: Array) -> Array | None:
        """Volatilities or yields, if these are compared."""
        return self.placed.quotes.levels(price) if self.in_level else None

    def _linearised(self, price: Array, level: Array | None = None) -> tuple[Array, Array]:
        """Targets and noise in price, given the levels of the prices if they are known."""
        quotes = self.placed.quotes
        if not self.in_level:
            return quotes.price, self.noise
        level = quotes.levels(price) if level is None else level
        slope = np.where(np.isfinite(level), quotes.slope(np.nan_to_num(level, nan=1.0)), 0.0)
        usable = np.abs(slope) > LEAST_VEGA * quotes.vega
        target = np.where(
            usable, price - slope * (np.where(usable, level, 0.0) - quotes.level), quotes.price
        )
        vega = np.where(usable, np.abs(slope), quotes.vega)
        return target, self.noise * (vega if self.exact else np.maximum(vega, self.least))

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

    def _misfit(self, price: Array, level: Array | None = None) -> float:
        quotes = self.placed.quotes
        if not self.in_level:
            return float(np.sum(((price - quotes.price) / self.noise) ** 2))
        level = quotes.levels(price) if level is None else level
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
