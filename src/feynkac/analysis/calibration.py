r"""Calibration: the parameters that explain observations best,  min_θ Σ r_i(θ)²  over the domain.

The network provides exact Jacobians. The starts are the best of a Sobol' set, judged on at most
about two thousand observations. Observations are evaluated in blocks, so memory is bounded.
Intervals are those of the linearised problem. The singular values of the Jacobian show what the
data do not identify: a direction whose error would exceed the spread of the domain itself.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
import torch

from feynkac.analysis.observations import Array, Problem
from feynkac.analysis.rounding import figure, number
from feynkac.cards import Card, Shown
from feynkac.errors import InputError
from feynkac.sketches import bars

STARTS = 128
MOST_SHOWN = 60  # residuals of a picture
DESCENTS = 4
WAY_POINTS = 129  # between the start and the end of a descent that leaves what is allowed
NEXT_TO = 0.02  # of the box: closer to what is not allowed is at its edge
JUDGES = 2048  # observations that choose the starts; all of them choose among the ends
EDGE = 1e-3  # of the box: closer is on the boundary
UNKNOWN = 12.0**-0.5  # standard deviation of a uniform variable on the unit interval
FINE = 1e-10  # relative change at which a descent ends
RANK = 1e-12  # of the largest singular value: smaller is rounding
SMALL_CHANCE = 1e-3
LARGE_MISFIT = 0.05
Descent = Callable[[Problem, Array], tuple[Array, int]]
"""From a start to the best θ nearby, and the number of evaluations."""
NO_NOISE = (
    "there are as many unknowns as observations, so their errors are unknown; "
    "give the noise, or more observations."
)


@dataclass(frozen=True, repr=False)
class Calibration(Shown):
    """The best parameters θ in their own units, named by `labels`, with intervals and warnings.

    Example:
        >>> import feynkac as fk
        >>> solution = fk.solve(fk.BlackScholes(), steps=20, evaluations=1)
        >>> known = {"x": 9.5, "t": 0.5, "strike": [10.0, 11.0, 12.0]}
        >>> prices = solution(sigma=0.3, **known)
        >>> found = solution.calibrate(solution.observe(["sigma"], prices, noise=0.01, **known))
        >>> round(float(found.estimate[0]), 3)
        0.3
    """

    labels: list[str]
    estimate: Array
    std: Array
    """Standard errors; infinite where the data say nothing."""
    interval: Array
    """`(p, 2)`, cut to the domain."""
    covariance: Array
    confidence: float
    residuals: Array
    """u − observed, in the units of u."""
    chi_square: float | None
    """Σ (u − observed)²/(noise² + model²); None if the noise is unknown."""
    warnings: list[str]
    evaluations: int

    def card(self) -> Card:
        """The estimates with their intervals, and the residuals."""
        found = zip(self.labels, self.estimate, self.std, self.interval, strict=True)
        rows = {
            name: f"{figure(v, s)} ({number(low)} … {number(high)})"
            for name, v, s, (low, high) in found
        }
        texts = [f"{name} = {text.partition(' (')[0]}" for name, text in rows.items()]
        count = len(self.residuals)
        return Card(
            f"Calibration: {', '.join(texts)}",
            [
                f"{count} observations, residuals {number(self.rms)} rms"
                + (f", {len(self.warnings)} warnings" if self.warnings else "")
            ],
            rows | {"observations": str(count), "residuals, rms": number(self.rms)},
            bars(self.residuals[:MOST_SHOWN].tolist(), "residuals, u − observed"),
            self.warnings,
        )

    @property
    def rms(self) -> float:
        """Root mean square of the residuals that are numbers."""
        known = self.residuals[np.isfinite(self.residuals)]
        return float(np.sqrt(np.mean(known**2))) if len(known) else np.nan

    def record(self) -> dict[str, Any]:
        """As plain data."""
        rows = zip(self.labels, self.estimate, self.std, self.interval, strict=True)
        return {
            "estimate": {
                label: {
                    "value": float(value),
                    "std": _finite(std),
                    "interval": interval.tolist(),
                }
                for label, value, std, interval in rows
            },
            "confidence": self.confidence,
            "residual_rms": _finite(self.rms),
            "chi_square": self.chi_square,
            "residuals": [_finite(residual) for residual in self.residuals],
            "warnings": self.warnings,
            "evaluations": self.evaluations,
        }


def _finite(value: float) -> float | None:
    """For JSON, which has no NaN."""
    return float(value) if np.isfinite(value) else None


@torch.inference_mode(False)  # gradients are needed, whatever the caller does
def calibrate(
    problem: Problem,
    method: Literal["least-squares", "sgd"] = "least-squares",
    confidence: float = 0.9,
    seed: int = 0,
    *,
    start: Array | None = None,
    precision: float = FINE,
    judges: int = JUDGES,
) -> Calibration:
    """The best θ with its intervals, and warnings where you should not trust them.

    Args:
        problem: the observations.
        method: SciPy's least squares, or gradient descent as in the paper.
        confidence: of the intervals.
        seed: of the starts.
        start: where to begin, in the variables' own units; by default the best of many points.
        precision: relative change of θ at which a descent of least squares ends.
        judges: about how many observations choose the starts.
    """
    squares = functools.partial(_least_squares, precision=precision)
    methods: dict[str, Descent] = {"least-squares": squares, "sgd": _gradient_descent}
    if method not in methods:
        raise InputError(f"unknown method {method!r}; expected one of: {', '.join(methods)}.")
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence must lie between 0 and 1, got {confidence}.")
    starts = _best_starts(problem, seed, judges) if start is None else problem.unit(start)[None]
    found = [methods[method](problem, each) for each in starts]
    ends = _allowed(problem, starts, np.stack([end for end, _ in found]))
    best = ends[np.argmin(problem.misfit(ends))]
    evaluations = sum(count for _, count in found) + (STARTS if start is None else 0)
    return summarise(problem, best, confidence, evaluations)


def _best_starts(problem: Problem, seed: int, judges: int) -> Array:
    """The best few of a Sobol' set."""
    size = len(problem.labels)
    points = torch.quasirandom.SobolEngine(size, scramble=True, seed=seed)  # type: ignore[no-untyped-call]
    theta = problem.by_law(points.draw(STARTS, dtype=torch.float64).numpy())
    allowed = problem.allowed(theta)
    theta = theta[allowed] if allowed.any() else theta
    return np.asarray(theta[np.argsort(problem.thinned(judges).misfit(theta))[:DESCENTS]])


def _allowed(problem: Problem, starts: Array, ends: Array) -> Array:
    """The ends; of descents that left what the family allows, what is allowed of the way there."""
    if problem.allowed(ends).all():
        return ends
    share = np.linspace(0.0, 1.0, WAY_POINTS)[:, None, None]
    way = (starts + share * (ends - starts)).reshape(-1, starts.shape[-1])
    kept = way[problem.allowed(way)]
    return kept if len(kept) else ends


def _least_squares(problem: Problem, start: Array, precision: float) -> tuple[Array, int]:
    inside = np.clip(start, 1e-6, 1.0 - 1e-6)
    size = float(np.linalg.norm(problem.residuals(inside))) or 1.0  # gtol is absolute
    slopes = np.empty(0)

    def residuals(theta: Array) -> Array:
        """With the slopes there, which are asked for next unless the step is refused."""
        nonlocal slopes
        value, slopes = problem.linearised(theta)
        slopes_at[:] = theta
        return np.asarray((value - problem.values) / problem.scale / size)

    def jacobian(theta: Array) -> Array:
        found = slopes if np.array_equal(theta, slopes_at) else problem.linearised(theta)[1]
        return np.asarray(found / problem.scale[:, None] / size)

    slopes_at = np.full_like(inside, np.nan)
    found = scipy.optimize.least_squares(
        residuals,
        inside,
        jacobian,
        bounds=(0.0, 1.0),
        xtol=precision,
        ftol=1e-2 * precision,
        gtol=1e-15,
    )
    return np.asarray(found.x), int(found.nfev)


def _gradient_descent(problem: Problem, start: Array, steps: int = 500) -> tuple[Array, int]:
    """As the paper proposes (Section 1.2): Adam on θ, kept in the cube."""
    theta = torch.tensor(start, requires_grad=True)
    optimiser = torch.optim.Adam([theta], lr=0.02, eps=1e-30)  # whatever the units of u
    for step in range(steps):
        optimiser.param_groups[0]["lr"] = 0.02 * (1.0 - step / steps)
        here = theta.detach().numpy()
        r = problem.residuals(here)
        theta.grad = torch.as_tensor(2.0 * problem.jacobian(here).T @ r / len(r))
        optimiser.step()
        with torch.no_grad():
            theta.clamp_(0.0, 1.0)
    return np.asarray(theta.detach().numpy()), steps


def summarise(
    problem: Problem,
    theta: Array,
    confidence: float,
    evaluations: int,
    known: tuple[Array, Array] | None = None,
) -> Calibration:
    """What the best θ, in the unit cube, says: its intervals, and warnings.

    Args:
        problem: the observations.
        theta: the best one.
        confidence: of the intervals.
        evaluations: how many it took.
        known: residuals and their Jacobian there, if they are.
    """
    r, jacobian = known or (problem.residuals(theta), problem.jacobian(theta))
    chi_square = _chi_square(problem, r)
    variance = _variance(problem, r, chi_square)
    _, singular, directions = np.linalg.svd(jacobian, full_matrices=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where(singular > RANK * singular[0], np.sqrt(variance) / singular, np.inf)
    low, high = problem.bounds
    width, spread = high - low, np.minimum(spread, 1e6)
    covariance = (directions.T * spread**2) @ directions * np.outer(width, width)
    std = np.sqrt(np.diag(covariance))
    factor = interval_factor(problem, confidence)
    estimate = problem.physical(theta)
    sides = np.stack([estimate - factor * std, estimate + factor * std], axis=1)
    interval = np.clip(sides, low[:, None], high[:, None])
    warnings = [
        *(_unidentified(problem, spread, directions) if np.isfinite(variance) else [NO_NOISE]),
        *_on_the_boundary(problem, theta),
        *_not_allowed(problem, theta),
        *_misfit(problem, r, chi_square),
    ]
    return Calibration(
        labels=problem.labels,
        estimate=estimate,
        std=np.where(std >= 1e4 * width, np.inf, std),
        interval=interval,
        covariance=covariance,
        confidence=confidence,
        residuals=r * problem.scale,
        chi_square=chi_square,
        warnings=warnings,
        evaluations=evaluations,
    )


def _variance(problem: Problem, r: Array, chi_square: float | None) -> float:
    """Of a residual: known, estimated, or infinite where there is nothing to estimate it from.

    Where u cannot explain the data, χ² per degree of freedom says how much larger it is.
    """
    if chi_square is not None:
        return inflation(problem, chi_square)
    if not problem.freedom:
        return np.inf
    return float(r @ r) / problem.freedom + float(np.sum((problem.model / problem.scale) ** 2))


def inflation(problem: Problem, chi_square: float | None) -> float:
    """By what the given variance of the noise is multiplied: χ² per degree of freedom, or 1."""
    if chi_square is None or not _unexplained(problem, chi_square):
        return 1.0
    return chi_square / problem.freedom


def _chi_square(problem: Problem, r: Array) -> float | None:
    """χ² with each observation's own error: it says whether u can explain the data at all."""
    if problem.noise is None or problem.relative:
        return None
    return float(np.sum((r * problem.scale) ** 2 / (problem.noise**2 + problem.model**2)))


def interval_factor(problem: Problem, confidence: float) -> float:
    """Half width of an interval in standard errors."""
    tail = 0.5 + 0.5 * confidence
    if not problem.noise_is_known:
        return float(scipy.special.stdtrit(max(1, problem.freedom), tail))
    return float(scipy.special.ndtri(tail))


def _unidentified(problem: Problem, spread: Array, directions: Array) -> list[str]:
    found = []
    for size, direction in zip(spread, directions, strict=True):
        if size > UNKNOWN:
            leading = np.argsort(-np.abs(direction))[:3]
            parts = [f"{direction[i]:+.2f} {problem.labels[i]}" for i in leading]
            found.append(
                f"the data do not identify the combination {' '.join(parts)} (in units of the "
                "domain's width): its error exceeds what the domain allows."
            )
    return found


def _on_the_boundary(problem: Problem, theta: Array) -> list[str]:
    low, high = problem.bounds
    return [
        f"{label} = {value:g} lies on the boundary of [{a:g}, {b:g}]; the best fit may be outside."
        for label, value, a, b, t in zip(
            problem.labels, problem.physical(theta), low, high, theta, strict=True
        )
        if min(t, 1.0 - t) < EDGE
    ]


def _not_allowed(problem: Problem, theta: Array) -> list[str]:
    """Where the best fit is next to what the family does not allow."""
    sides = [theta + side * np.eye(len(theta)) for side in (-NEXT_TO, NEXT_TO)]
    around = np.concatenate([theta[None], *sides]).clip(0.0, 1.0)
    if problem.allowed(around).all():
        return []
    return [
        "the fit lies at the edge of what the family's `allowed` allows; the best one may be "
        "outside. Sample the posterior, or free fewer variables."
    ]


def _unexplained(problem: Problem, total: float) -> bool:
    """Whether χ² is larger than chance allows."""
    freedom = problem.freedom
    return freedom > 0 and float(scipy.special.chdtrc(freedom, total)) < SMALL_CHANCE


def _misfit(problem: Problem, r: Array, total: float | None) -> list[str]:
    if total is not None:
        if _unexplained(problem, total):
            wider = np.sqrt(total / problem.freedom)
            return [
                f"no parameters explain these data: χ² = {total:.4g} with {problem.freedom} "
                "degrees of freedom; the noise is larger than given, or the model is wrong. "
                f"Intervals are {wider:.3g} times as wide as the given noise says."
            ]
        return []
    if problem.relative:
        return []
    size = float(np.sqrt(np.mean(r**2)))
    level = float(np.mean(np.abs(problem.values)))
    if size > LARGE_MISFIT * level:
        return [f"large residuals: {size:.3g} rms, where the values are {level:.3g} on average."]
    return []
