r"""Certificates: is the network right at these inputs? An estimate that does not trust it answers.

    u(λ) = E[φ(S_t) − b₁M₁ − b₂M₂],    M₁, M₂ the martingales of a control v ≈ u  (`martingale.py`),

unbiased for every v and b, up to the scheme's discretisation error, which is estimated and added.
The mean is over independent replicates of a randomised rule: Student's t gives its interval.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from scipy.stats import t as student
from torch import Tensor

from feynkac.analysis.martingale import Control, controlled
from feynkac.analysis.partials import Map
from feynkac.errors import InputError
from feynkac.families.family import Family, noise_dim, timed
from feynkac.sampling.discretisation import estimate_bias
from feynkac.sampling.labels import draw_paths
from feynkac.sampling.noise import Draw, Independent, Noise
from feynkac.sampling.scheme import Scheme

CHUNK = 2**18  # states alive at a time
REPLICATES = 16
BIAS_PATHS = 2**10
PILOT = 2**9  # paths from which the share of the control is found
TINY = 1e-300  # a variance

Verdict = Literal["within", "outside", "undecided"]


@dataclass(frozen=True)
class Effort:
    """How hard to look."""

    steps: int = 16
    """n of a path, at least those of the scheme the solution was trained with."""
    paths: int = 64
    """Of one replicate."""
    most_paths: int = 2**16
    """Paths an input, at which the search for a narrower interval ends."""
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not 0.0 < self.confidence < 1.0:
            raise InputError(f"confidence must lie between 0 and 1, got {self.confidence}.")
        if min(self.steps, self.paths, self.most_paths) < 1:
            raise InputError("steps, paths and most_paths must be at least 1.")
        if self.most_paths < REPLICATES * self.paths:
            raise InputError(
                f"an interval needs {REPLICATES} replicates of {self.paths} paths, more than "
                f"most_paths={self.most_paths}; give fewer paths or a higher cap."
            )


@dataclass(frozen=True)
class Certificate:
    """Estimates at N inputs; every tensor is `(N,)`, float64."""

    network: Tensor
    """What the network says."""
    value: Tensor
    """The unbiased estimate."""
    statistical: Tensor
    """Half width of its confidence interval."""
    discretisation: Tensor
    """Bound of the scheme's error at the same confidence; 0 for exact sampling."""
    reduction: Tensor
    """Variance of as many plain Monte Carlo paths over that of this estimate."""
    tolerance: float | None
    confidence: float
    paths: int
    """Spent on each input."""

    @property
    def half_width(self) -> Tensor:
        """Both errors together."""
        return self.statistical + self.discretisation

    @property
    def error(self) -> Tensor:
        """Network minus estimate."""
        return self.network - self.value

    def record(self) -> list[dict[str, Any]]:
        """As plain data, an input each."""
        columns = zip(
            self.network.tolist(),
            self.value.tolist(),
            self.half_width.tolist(),
            self.statistical.tolist(),
            self.discretisation.tolist(),
            self.reduction.tolist(),
            self.verdicts,
            strict=True,
        )
        names = (
            "network",
            "value",
            "half_width",
            "statistical",
            "discretisation",
            "variance_reduction",
            "verdict",
        )
        shared = {"tolerance": self.tolerance, "confidence": self.confidence, "paths": self.paths}
        return [dict(zip(names, row, strict=True)) | shared for row in columns]

    @property
    def verdicts(self) -> list[Verdict]:
        """Whether the network is within the tolerance (without one: within the interval)."""
        limit = self.half_width if self.tolerance is None else self.tolerance
        slack = 0.0 if self.tolerance is None else self.half_width
        within = self.error.abs() + slack <= limit
        outside = self.error.abs() - slack > limit
        return [
            "within" if a else "outside" if b else "undecided"
            for a, b in zip(within.tolist(), outside.tolist(), strict=True)
        ]


def certify(
    u: Map,
    family: Family,
    scheme: Scheme,
    noise: Noise,
    control: Control,
    inputs: Tensor,
    generator: torch.Generator,
    tolerance: float | None = None,
    effort: Effort = Effort(),  # noqa: B008  (frozen)
    report: Callable[[float], None] | None = None,
) -> Certificate:
    """Check `u` at `inputs`.  Shape: `(N, dim)` → `Certificate` of `(N,)`.

    Args:
        u: what is checked.
        family: whose equation it should solve.
        scheme: how paths are simulated; it gets at least `effort.steps` steps.
        noise: of the replicates.
        control: v of the martingale.
        inputs: where.
        generator: source of randomness.
        tolerance: replicates are added until the verdict is clear or `effort.most_paths` is spent.
        effort: how hard to look.
        report: called with the fraction of the most paths spent.
    """
    if tolerance is not None and not tolerance > 0.0:
        raise InputError(f"a tolerance must be positive, got {tolerance}.")
    fine = scheme.with_steps(max(effort.steps, scheme.steps))
    fine.check(family)
    with torch.no_grad():
        network = u(inputs).double().squeeze(-1)
        bias = estimate_bias(family, fine, noise, inputs, BIAS_PATHS, generator, REPLICATES)
    quantile = _quantile(REPLICATES, effort.confidence)
    discretisation = (bias.value.abs() + quantile * bias.error).squeeze(-1)
    sampler = _Sampler(family, fine, noise, control, generator)
    shares = sampler.shares(inputs)
    means, variance, paths = sampler.replicates(inputs, shares, effort.paths, REPLICATES)
    while True:
        spent = len(means) * paths
        half = _quantile(len(means), effort.confidence) * means.std(0) / math.sqrt(len(means))
        found = Certificate(
            network=network,
            value=means.mean(0),
            statistical=half,
            discretisation=discretisation,
            reduction=variance.clamp_min(TINY) / (paths * means.var(0)).clamp_min(TINY),
            tolerance=tolerance,
            confidence=effort.confidence,
            paths=spent,
        )
        if report:
            report(min(1.0, spent / effort.most_paths))
        if tolerance is None or "undecided" not in found.verdicts or 2 * spent > effort.most_paths:
            return found
        more, *_ = sampler.replicates(inputs, shares, effort.paths, len(means))
        means = torch.cat([means, more])


@dataclass(frozen=True)
class _Sampler:
    family: Family
    scheme: Scheme
    noise: Noise
    control: Control
    generator: torch.Generator

    def shares(self, inputs: Tensor) -> Tensor:
        """How much of M₁ and M₂ to subtract, by regression on independent paths: `(N, 1, 2)`.

        All of both if the control is good; little if it is bad, so that it does no harm.
        """
        rows = max(1, CHUNK // (PILOT * noise_dim(self.family)))
        return torch.cat([self._shares(block) for block in torch.split(inputs, rows)])

    def _shares(self, inputs: Tensor) -> Tensor:
        draw = self._draw(Independent(), inputs, PILOT)
        payoff, martingale = self._simulate(inputs, draw)
        y, m = payoff.double() - payoff.double().mean(-2, keepdim=True), martingale.double()
        gram = m.mT @ m
        ridge = 1e-9 * gram.diagonal(dim1=-2, dim2=-1).sum(-1)[:, None, None] + TINY
        eye = torch.eye(2, dtype=gram.dtype, device=gram.device)
        shares: Tensor = torch.linalg.solve(gram + ridge * eye, m.mT @ y)
        return shares.mT

    def replicates(
        self, inputs: Tensor, shares: Tensor, paths: int, count: int
    ) -> tuple[Tensor, Tensor, int]:
        """Independent estimates `(count, N)`, the variance of a payoff `(N,)`, paths of each."""
        rows = max(1, CHUNK // (paths * noise_dim(self.family)))
        blocks = zip(torch.split(inputs, rows), torch.split(shares, rows), strict=True)
        found = [[self._one(*block, paths) for _ in range(count)] for block in blocks]
        stacked = [torch.stack([moments for moments, _ in block]) for block in found]
        means, first, second = torch.cat(stacked, dim=-1).unbind(1)
        return means, second.mean(0) - first.mean(0).square(), found[0][0][1]

    def _one(self, inputs: Tensor, shares: Tensor, paths: int) -> tuple[Tensor, int]:
        """A replicate's estimate and two moments of the payoff `(3, N)`, and its paths.

        The noise may have more paths than asked for, and weights: so have the moments.
        """
        draw = self._draw(self.noise, inputs, paths)
        payoff, martingale = self._simulate(inputs, draw)
        x, t, p = self.family.domain.split(inputs.unsqueeze(-2))
        p = timed(self.family, p, torch.zeros_like(t))
        gain = payoff.double() - self.family.initial(x, p).double()  # 0 at t = 0: no digits lost
        rest = payoff.double() - (shares * martingale).sum(-1, keepdim=True)
        parts = torch.cat([rest, gain, gain.square()], dim=-1)
        return (parts * draw.weights).sum(-2).mT, draw.z.shape[2]

    def _draw(self, noise: Noise, inputs: Tensor, paths: int) -> Draw:
        return draw_paths(self.family, self.scheme, noise, inputs, paths, self.generator)

    def _simulate(self, inputs: Tensor, draw: Draw) -> tuple[Tensor, Tensor]:
        return controlled(self.family, self.scheme, self.control, inputs, draw.z)


def _quantile(count: int, confidence: float) -> float:
    return float(student.ppf(0.5 + 0.5 * confidence, count - 1))
