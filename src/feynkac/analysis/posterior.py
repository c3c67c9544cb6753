r"""The posterior of θ given observations,  log p(θ | data) = log prior(θ) − ½ Σ r_i(θ)² + const,

by emcee's ensemble sampler (extra `uq`), all walkers of a step in one batch. If the noise is
unknown, it is integrated out: −(n/2) log(Σ r_i² + (n − p) Σ model_i²). Convergence is measured by
split-R̂, the autocorrelation time and the effective sample size.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from feynkac.analysis.calibration import Calibration, inflation
from feynkac.analysis.observations import Array, Problem
from feynkac.analysis.rounding import figure, number
from feynkac.cards import Card, Shown
from feynkac.errors import InputError
from feynkac.sketches import bars

WALKERS = 64
CANDIDATES = 100  # starts per walker, of which a prior may leave few
FEWEST_STEPS = 8  # of which halves have a variance
CONVERGED = 1.05  # R̂
ENOUGH = 400  # effective samples
EDGE = 0.01  # of the domain's width
MOST_AT_EDGE = 0.05  # of the samples, before a warning

Prior = Callable[[dict[str, Array]], Array]
"""Log density, up to a constant, of each of many parameters given by name `(walkers,)`."""


@dataclass(frozen=True, repr=False)
class Posterior(Shown):
    """Samples of θ in the variables' own units, with diagnostics of convergence.

    Example:
        >>> import feynkac as fk
        >>> solution = fk.solve(fk.BlackScholes(), steps=20, evaluations=1)
        >>> problem = solution.observe(["sigma"], [1.9, 2.0], noise=0.1, x=9.5, t=0.5, strike=11.0)
        >>> found = solution.posterior(problem, solution.calibrate(problem), steps=100)
        >>> found.labels
        ['sigma']
    """

    labels: list[str]
    samples: Array
    """`(n, p)`."""
    interval: Array
    """`(p, 2)`, equal tails."""
    confidence: float
    r_hat: Array
    effective: Array
    """Effective sample sizes."""
    autocorrelation: Array
    """Times, in steps."""
    acceptance: float
    warnings: list[str]

    def card(self) -> Card:
        """Means with their intervals, and the density of the first."""
        draws = zip(self.labels, self.samples.T, self.interval, strict=True)
        rows = {
            name: f"{figure(each.mean(), each.std(ddof=1))} ({number(low)} … {number(high)})"
            for name, each, (low, high) in draws
        }
        heights = np.histogram(self.samples[:, 0], bins=30)[0].tolist()
        return Card(
            f"Posterior of {', '.join(self.labels)}: {len(self.samples)} samples",
            [
                f"largest R̂ {self.r_hat.max():.3f}, effective samples {self.effective.min():.0f}, "
                f"{self.confidence:.0%} intervals"
            ],
            rows | {"largest R̂": f"{self.r_hat.max():.3f}"},
            bars(heights, f"samples of {self.labels[0]}"),
            self.warnings,
        )

    def record(self) -> dict[str, Any]:
        """As plain data, without the samples."""
        rows = zip(self.labels, self.samples.T, self.interval, strict=True)
        return {
            "marginals": {
                label: {
                    "mean": float(draws.mean()),
                    "std": float(draws.std(ddof=1)),
                    "interval": interval.tolist(),
                }
                for label, draws, interval in rows
            },
            "confidence": self.confidence,
            "r_hat": dict(zip(self.labels, self.r_hat.tolist(), strict=True)),
            "effective_samples": dict(zip(self.labels, self.effective.tolist(), strict=True)),
            "acceptance": self.acceptance,
            "samples": len(self.samples),
            "warnings": self.warnings,
        }


def sample_posterior(
    problem: Problem,
    start: Calibration,
    prior: Prior | None = None,
    steps: int = 2000,
    confidence: float = 0.9,
    seed: int = 0,
    report: Callable[[float], None] | None = None,
) -> Posterior:
    """Draw from the posterior.

    Args:
        problem: the observations.
        start: where the walkers begin.
        prior: log density of θ by name; by default uniform on the domain.
        steps: per walker; the first quarter is dropped.
        confidence: of the intervals.
        seed: determines the draws.
        report: called with the fraction done.
    """
    import emcee  # an extra, needed here only

    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence must lie between 0 and 1, got {confidence}.")
    if steps < FEWEST_STEPS:
        raise InputError(f"a posterior needs at least {FEWEST_STEPS} steps, got {steps}.")
    size = len(problem.labels)
    walkers = max(WALKERS, 2 * size + 2)
    rng = np.random.default_rng(seed)
    first = _first(problem, start, CANDIDATES * walkers, rng)
    first = first[problem.allowed(first)]
    if prior is not None:
        first = first[np.isfinite(_log_prior(problem, prior, first))]
    if len(first) < walkers:
        raise InputError(
            "the prior, or what the family allows, gives no weight to the domain near the best "
            "fit; widen it, or start from another calibration."
        )

    larger = inflation(problem, start.chi_square)

    def log_density(theta: Array) -> Array:
        return _log_density(problem, prior, larger, theta)

    sampler = emcee.EnsembleSampler(walkers, size, log_density, vectorize=True)
    sampler.random_state = np.random.RandomState(seed).get_state()
    for done, _ in enumerate(sampler.sample(first[:walkers], iterations=steps), start=1):
        if report and done % 50 == 0:
            report(done / steps)
    found = _summary(problem, sampler, steps, confidence)
    return replace(found, warnings=[*_inflated(larger), *found.warnings])


def _first(problem: Problem, start: Calibration, walkers: int, rng: np.random.Generator) -> Array:
    """Walkers around the best fit, inside the cube."""
    low, high = problem.bounds
    theta = (start.estimate - low) / (high - low)
    spread = np.clip(start.std / (high - low), 1e-4, 0.1)
    drawn = theta + spread * rng.standard_normal((walkers, len(theta)))
    return np.asarray(np.abs(1.0 - np.abs(1.0 - np.abs(drawn))))  # reflected at both ends


def _log_density(problem: Problem, prior: Prior | None, larger: float, theta: Array) -> Array:
    inside = problem.allowed(theta) & ((theta >= 0.0) & (theta <= 1.0)).all(-1)
    found = np.full(len(theta), -np.inf)
    if inside.any():
        square = problem.misfit(theta[inside])
        found[inside] = _log_likelihood(problem, square / larger)
        if prior is not None:
            found[inside] += _log_prior(problem, prior, theta[inside])
    return np.where(np.isnan(found), -np.inf, found)


def _log_likelihood(problem: Problem, square: Array) -> Array:
    """From Σ r²; the model's error adds to an unknown noise as in `calibrate`."""
    if problem.noise_is_known:
        return -0.5 * square
    own = problem.freedom * float(np.sum((problem.model / problem.scale) ** 2))
    return np.asarray(-0.5 * len(problem.values) * np.log(square + own))


def _log_prior(problem: Problem, prior: Prior, theta: Array) -> Array:
    named = dict(zip(problem.labels, problem.physical(theta).T, strict=True))
    return np.broadcast_to(np.asarray(prior(named), dtype=np.float64), len(theta))


def _summary(problem: Problem, sampler: Any, steps: int, confidence: float) -> Posterior:
    chain = problem.physical(sampler.get_chain(discard=steps // 4))  # (steps, walkers, p)
    times = np.asarray(sampler.get_autocorr_time(discard=steps // 4, quiet=True, tol=0))
    samples = chain.reshape(-1, chain.shape[-1])
    tails = [0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence]
    r_hat, effective = split_r_hat(chain), len(samples) / times
    warnings = []
    if not ((r_hat < CONVERGED).all() and (effective > ENOUGH).all()):
        warnings.append(
            f"the chains have not converged (largest R̂ {r_hat.max():.3f}, smallest effective "
            f"sample size {effective.min():.0f}); take more steps."
        )
    warnings += _cut(problem, samples)
    return Posterior(
        labels=problem.labels,
        samples=samples,
        interval=np.quantile(samples, tails, axis=0).T,
        confidence=confidence,
        r_hat=r_hat,
        effective=effective,
        autocorrelation=times,
        acceptance=float(np.mean(sampler.acceptance_fraction)),
        warnings=warnings,
    )


def _inflated(larger: float) -> list[str]:
    """The posterior is then as wide as the intervals of the fit."""
    said = f"no parameters explain these data: the noise is taken {larger**0.5:.3g} times as large."
    return [said] if larger > 1.0 else []


def _cut(problem: Problem, samples: Array) -> list[str]:
    """Where the domain, not the data or the prior, ends the posterior."""
    low, high = problem.bounds
    margin = EDGE * (high - low)
    share = ((samples < low + margin) | (samples > high - margin)).mean(axis=0)
    return [
        f"the posterior of {label} is cut at the boundary of [{a:g}, {b:g}]: {part:.0%} lies there."
        for label, a, b, part in zip(problem.labels, low, high, share, strict=True)
        if part > MOST_AT_EDGE
    ]


def split_r_hat(chain: Array) -> Array:
    """Gelman and Rubin's R̂ over the halves of all chains.  Shape: `(n, chains, p)` → `(p,)`."""
    half = len(chain) // 2
    halves = np.concatenate([chain[:half], chain[half : 2 * half]], axis=1)
    within = halves.var(axis=0, ddof=1).mean(0)
    between = half * halves.mean(axis=0).var(axis=0, ddof=1)
    return np.asarray(np.sqrt(((half - 1) / half * within + between / half) / within))
