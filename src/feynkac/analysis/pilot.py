r"""Chooses estimator, steps and paths from a few replicates that are not used again.

The pilot tries a candidate with few paths, then with more, until it can predict the half width:

    |gap| ∝ n^{−q},    noise ∝ K^{−r},   r = ¾ until two pilots have measured it.

It takes the first candidate that it predicts to reach the aim in time, or else the one with the
narrowest interval. The interval itself comes from fresh replicates, so the choice does not bias it.
"""

import math
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.analysis.estimators import Estimator, Sample
from feynkac.analysis.student import student_quantile
from feynkac.families.family import jumps

clock = time.perf_counter

REPLICATES = 16  # of an interval
PILOTS = 8  # of a pilot
GROWTH = 8  # from one pilot to the next
RATE, SLOWEST, FASTEST = 0.75, 0.5, 1.25
MOST_PATHS = 2**20  # of one replicate; beyond, more replicates
MOST_STEPS = 256
SAFE = 0.35  # of the aim is aimed at
NORMAL = 0.8  # of 1 − confidence is Student's; the rest is for replicates that are not quite normal
ENOUGH = 64.0  # paths on which the variation of what paths earn must rest
LEAST = 1e-100  # aim; a smaller one is as much out of reach, and its square is zero
RESOLUTION = 1e-12  # what float64 leaves of 1 + |u|


class Interval(NamedTuple):
    """Value ± statistical ± discretisation error at N inputs, `(N,)`; se is the standard error."""

    value: Tensor
    statistical: Tensor
    discretisation: Tensor
    se: Tensor

    @property
    def half_width(self) -> Tensor:
        """Statistical plus discretisation error."""
        return self.statistical + self.discretisation


@dataclass(frozen=True)
class Plan:
    """The estimator and effort for one input."""

    estimator: Estimator
    paths: int
    """Of one replicate."""
    replicates: int
    extrapolated: bool
    half_width: float
    """Predicted."""
    seconds: float
    """Predicted."""

    @property
    def work(self) -> tuple[str, int, int]:
        """Inputs with equal `work` are simulated together."""
        return self.estimator.name, self.paths, self.replicates


def interval(
    estimator: Estimator,
    found: Sample,
    extrapolated: Tensor,
    paths: int,
    confidence: float,
    replicates: int | None = None,
) -> Interval:
    """The interval from replicates `(R, N)`, or as it would be with `replicates` of them.

    If few paths differ from the rest, the interval allows for what was not seen: a part
    ln(1/α)/paths of the law, on which a path may earn as much as the farthest one. The same holds
    if the payoff jumps: of the evenly spaced points of a replicate only those next to the jump
    vary, and where they seldom do, all replicates may agree. The error after extrapolation is
    bounded by the whole gap, of which extrapolation used 1/(2^q − 1). This holds even where the
    order is not visible yet.
    """
    count = len(found.value)
    used = replicates or count
    chance = 0.5 * NORMAL * (1.0 - confidence)
    quantile = student_quantile(1.0 - chance, used - 1) / math.sqrt(used)
    correction = found.gap / (2 ** (estimator.order or 1) - 1)
    values = found.value + torch.where(extrapolated, correction, 0.0)
    value, se = values.mean(0), values.std(0)
    apart = torch.maximum((values + correction).std(0), (values - correction).std(0))
    rest = found.gap.mean(0).abs() + quantile * (apart - se)
    scale = 1.0 + value.abs()
    effective, rounding = found.effective.mean(0) * used, RESOLUTION * scale
    few, still = effective < (math.inf if jumps(estimator.family) else ENOUGH), effective.isinf()
    unseen = -math.log1p(-confidence) / (used * paths) * found.largest.amax(0).maximum(scale)
    return Interval(
        value=value,
        statistical=quantile * se + torch.where(still, 0.0, torch.where(few, unseen, rounding)),
        discretisation=rest,
        se=se / math.sqrt(used),
    )


@dataclass(frozen=True)
class Trial:
    """One pilot of an estimator at one input."""

    index: int
    """Index of the input."""
    estimator: Estimator
    paths: int
    cost: float
    """Seconds of a path."""
    bias: float
    """Size of the gap."""
    noise: float
    """The rest of the half width."""
    visible: bool
    """Whether the gap is more than noise."""
    rate: float = RATE
    """r, the measured or assumed rate."""

    def half_width(self, paths: int) -> float:
        """The predicted half width with `paths` paths per replicate."""
        return self.bias + self.noise * math.pow(self.paths / paths, self.rate)

    def steps_wanted(self, aim: float) -> int:
        """n for which the gap is at most 0.4 of the aim; at most 8 times as many."""
        n, order = self.estimator.scheme.steps, self.estimator.order
        if order is None or not self.visible or self.bias <= 0.4 * aim:
            return n
        doublings = math.ceil(math.log2(2.5 * self.bias / aim) / order)
        return min(MOST_STEPS, n << max(0, min(3, doublings)))

    def paths_wanted(self, aim: float) -> int:
        """K for which the half width is at most half of the aim; a pilot is noisy itself."""
        wanted = max(SAFE * aim - self.bias, 0.2 * aim)
        if not self.noise > wanted:
            return self.paths
        return int(self.paths * 2 ** min(30, math.ceil(math.log2(self.noise / wanted) / self.rate)))

    def after(self, earlier: "Trial") -> "Trial":
        """The same trial, with the rate measured against an earlier one with fewer paths."""
        if not 0.0 < self.noise < math.inf or earlier.paths >= self.paths:
            return self
        rate = math.log(earlier.noise / self.noise) / math.log(self.paths / earlier.paths)
        return replace(self, rate=min(FASTEST, max(SLOWEST, 0.8 * rate)))


@dataclass(frozen=True)
class Pilot:
    """Tries estimators at N inputs, and counts the paths it spends."""

    inputs: Tensor
    seconds: float
    """Per input, including the interval itself."""
    most_paths: int
    confidence: float
    generator: torch.Generator
    spent: Tensor
    """Paths at each input, counted here."""

    def plans(self, candidates: Iterable[list[Estimator]], aim: list[float]) -> list[Plan]:
        """One plan per input."""
        aim = [max(each, LEAST) for each in aim]
        best: dict[int, Plan] = {}
        started = clock()
        for group in candidates:
            left = [i for i, a in enumerate(aim) if i not in best or best[i].half_width > a]
            late = clock() - started > 0.4 * self.seconds * len(aim)
            if not left or (best and late):
                break
            for i, plan in self._foretold(group, left, aim).items():
                if i not in best or plan.half_width < best[i].half_width:
                    best[i] = plan
        return [best[i] for i in range(len(aim))]

    def _foretold(
        self, group: list[Estimator], which: list[int], aim: list[float]
    ) -> dict[int, Plan]:
        """Plans from pilots of the best of a group, with more steps and paths as needed."""
        for estimator in group:
            estimator.replicates(self.inputs[which[:1]], 16, 1, self.generator)  # torch wakes up
        plans: dict[int, Plan] = {}
        trials = self._best(group, which)
        until = clock() + 0.25 * self.seconds * len(which)
        while trials:
            waiting: dict[tuple[str, int, int], list[Trial]] = defaultdict(list)
            for trial in trials:
                step = None if clock() > until else self._next(trial, aim[trial.index])
                if step is None:
                    plans[trial.index] = self._plan(trial, aim[trial.index])
                else:
                    waiting[(trial.estimator.name, *step)].append(trial)
            trials = []
            for (_, steps, paths), earlier in waiting.items():
                estimator = earlier[0].estimator.with_steps(steps)
                now = self._tried(estimator, paths, [trial.index for trial in earlier])
                trials += [one.after(before) for one, before in zip(now, earlier, strict=True)]
        return plans

    def _best(self, group: list[Estimator], which: list[int]) -> list[Trial]:
        """The least noisy of a group at each input, with few paths."""
        first = int(min(2**9, max(2**7, 2 ** round(math.log2(2**14 / len(which))))))
        tried = [self._tried(estimator, first, which) for estimator in group]
        return [min(trials, key=lambda trial: trial.noise) for trials in zip(*tried, strict=True)]

    def _tried(self, estimator: Estimator, paths: int, indices: list[int]) -> list[Trial]:
        start = clock()
        found = estimator.replicates(self.inputs[indices], paths, PILOTS, self.generator)
        cost = (clock() - start) / (len(indices) * PILOTS * paths)
        self.spent[indices] += PILOTS * paths
        visible = found.gap.mean(0).abs() > 3.0 * found.gap.std(0) / math.sqrt(PILOTS)
        now = interval(estimator, found, visible, paths, self.confidence, REPLICATES)
        bias = found.gap.mean(0).abs()
        noise = (now.half_width - bias).nan_to_num(math.inf)
        rows = zip(indices, bias.tolist(), noise.tolist(), visible.tolist(), strict=True)
        return [Trial(i, estimator, paths, cost, b, n, v) for i, b, n, v in rows]

    def _next(self, trial: Trial, aim: float) -> tuple[int, int] | None:
        """Steps and paths of another pilot, or None if this one suffices."""
        steps = trial.estimator.scheme.steps
        finer, second = trial.steps_wanted(aim), PILOTS * trial.paths * trial.cost
        while finer > steps and second * finer / steps > 0.2 * self.seconds:
            finer //= 2
        if finer > steps:
            return finer, trial.paths
        more = GROWTH * trial.paths
        cheap = GROWTH * second < 0.2 * self.seconds
        fits = more <= MOST_PATHS and 32 * more <= self.most_paths
        wide = math.isfinite(trial.noise) and trial.paths_wanted(aim) > more
        return (steps, more) if wide and cheap and fits else None

    def _plan(self, trial: Trial, aim: float) -> Plan:
        """A plan within the time and the number of paths that are left."""
        affordable = min(self.most_paths, 0.7 * self.seconds / trial.cost)
        most = _power_of_two(min(affordable / REPLICATES, MOST_PATHS))
        paths = min(most, trial.paths_wanted(aim))
        half, replicates = trial.half_width(paths), REPLICATES
        if half > SAFE * aim and math.isfinite(half):  # more replicates, as the time allows
            noise = half - trial.bias
            ratio = (noise / max(SAFE * aim - trial.bias, 0.2 * aim)) ** 2
            replicates = math.ceil(min(REPLICATES * ratio, affordable / paths))
            replicates = max(REPLICATES, replicates)
            half = trial.bias + noise * math.sqrt(REPLICATES / replicates)
        seconds = paths * replicates * trial.cost
        return Plan(trial.estimator, paths, replicates, trial.visible, half, seconds)


def _power_of_two(number: float) -> int:
    """The largest power of two that is not larger, at least 16."""
    return int(2 ** max(4, math.floor(math.log2(max(1.0, number)))))
