r"""Certificates: is the network right at these inputs? An independent estimate answers.

    u(λ) = E Y,  Y replicates of an unbiased rule (`estimators.py`), chosen by a pilot (`pilot.py`),

up to the discretisation error of the scheme, which is estimated and added. Student's t gives the
interval of the mean of independent replicates. Without a tolerance there is one look, whose number
of paths was decided before. With a tolerance there are at most three looks, each with fresh
replicates and at the confidence 1 − (1 − c)/3 (Bonferroni): stopping when the verdict is clear
costs no coverage.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from feynkac.analysis.candidates import candidates
from feynkac.analysis.estimators import TINY, Estimator
from feynkac.analysis.gridded import grid_intervals
from feynkac.analysis.martingale import Control
from feynkac.analysis.partials import Map
from feynkac.analysis.pilot import REPLICATES, Interval, Pilot, Plan, clock, interval
from feynkac.analysis.rounding import FLOAT32, number, to_digit
from feynkac.cards import Card, Shown
from feynkac.errors import InputError
from feynkac.families.family import Family, outputs
from feynkac.sampling.noise.noise import Noise
from feynkac.sampling.schemes.scheme import Scheme
from feynkac.sketches import intervals
from feynkac.suggestions import KnownKeywords

LOOKS = (0.25, 0.25, 0.5)  # shares of the time, with a tolerance
AIM = 1e-4  # half width relative to 1 + |u|, by default

MOST_SHOWN = 40  # of a picture
Verdict = Literal["within", "outside", "undecided"]


@dataclass(frozen=True)
class Effort(KnownKeywords):
    """The effort of a certificate.

    Example:
        >>> Effort(seconds=0.1).seconds
        0.1
    """

    seconds: float = 1.0
    """Approximate limit per input."""
    aim: float | None = None
    """Half width relative to 1 + |u|; None: a third of the network's own error."""
    most_paths: int = 2**24
    """Maximal number of paths per input in one look."""
    steps: int = 16
    """Minimal number of steps of a path with the martingale of a control."""
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not 0.0 < self.confidence < 1.0:
            raise InputError(f"confidence must lie between 0 and 1, got {self.confidence}.")
        if not self.seconds > 0.0:
            raise InputError(f"seconds must be positive, got {self.seconds}.")
        if self.aim is not None and not self.aim > 0.0:
            raise InputError(f"the aim is a half width, a positive number; got {self.aim}.")
        if self.steps < 1 or self.most_paths < 16 * REPLICATES:
            raise InputError(
                f"steps must be at least 1 and most_paths {16 * REPLICATES}, "
                f"got {self.steps} and {self.most_paths}."
            )


@dataclass(frozen=True, repr=False)
class Certificate(Shown):
    """Estimates at N inputs; every tensor is `(N,)`, float64.

    Example:
        >>> import feynkac as fk
        >>> solution = fk.solve(fk.BlackScholes(), steps=2, batch_size=64)
        >>> found = solution.certify(x=9.5, t=0.5, sigma=0.35, strike=[10.0, 11.0])
        >>> found.value.shape, bool((found.half_width > 0).all())
        (torch.Size([2]), True)
    """

    network: Tensor
    """Value of the network."""
    value: Tensor
    """The estimate."""
    statistical: Tensor
    """Half width of its confidence interval."""
    discretisation: Tensor
    """Bound of the scheme's error, after extrapolation; 0 for exact sampling."""
    reduction: Tensor
    """Variance of as many independent paths over that of this estimate."""
    tolerance: float | None
    confidence: float
    paths: Tensor
    """Number of paths per input, including pilots and earlier looks."""
    se: Tensor
    """Standard error of the value."""
    estimators: tuple[str, ...] = ()
    """How each value was found: scheme and steps, noise, control."""

    def card(self) -> Card:
        """The verdicts; of one input, the interval."""
        if not len(self.value):
            return Card("Certificate of 0 inputs")
        one, verdicts = len(self.value) == 1, self.verdicts
        half, apart = self.half_width.max().item(), self.error.abs().max().item()
        network = self.network[0].item()
        found = {v: verdicts.count(v) for v in ("within", "outside", "undecided")}
        counted = ", ".join(f"{count} {v}" for v, count in found.items() if count)
        rows = {
            "network": to_digit(network, max(half, FLOAT32 * abs(network))) if one else "",
            "estimate": to_digit(self.value[0].item(), half) if one else "",
            "largest half width": number(half),
            "largest |network − estimate|": number(apart),
            "confidence": f"{self.confidence:.0%}",
            "paths": f"{int(torch.as_tensor(self.paths).sum())}",
        }
        rows = {name: text for name, text in rows.items() if text}
        value = f": {rows['estimate']} ± {number(half)}, network {rows['network']}" if one else ""
        return Card(
            f"Certificate of {len(self.value)} input{'s' * (not one)}{value} ({counted})",
            [
                f"largest |network − estimate| {number(apart)}, half width at most {number(half)}, "
                f"confidence {self.confidence:.0%}"
            ],
            {"verdict": counted} | rows,
            intervals(
                self.error[:MOST_SHOWN].tolist(),
                self.half_width[:MOST_SHOWN].tolist(),
                "network − estimate",
            ),
        )

    @property
    def half_width(self) -> Tensor:
        """Statistical plus discretisation error."""
        return self.statistical + self.discretisation

    @property
    def error(self) -> Tensor:
        """Network minus estimate."""
        return self.network - self.value

    def record(self) -> list[dict[str, Any]]:
        """As plain data, one record per input."""
        columns = zip(
            self.network.tolist(),
            self.value.tolist(),
            self.half_width.tolist(),
            self.statistical.tolist(),
            self.discretisation.tolist(),
            self.reduction.tolist(),
            self.verdicts,
            torch.as_tensor(self.paths).expand(len(self.value)).tolist(),
            self.estimators or ("",) * len(self.value),
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
            "paths",
            "estimator",
        )
        shared = {"tolerance": self.tolerance, "confidence": self.confidence}
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
    control: Control | None,
    inputs: Tensor,
    generator: torch.Generator,
    tolerance: float | None = None,
    effort: Effort = Effort(),  # noqa: B008  (frozen)
    report: Callable[[float], None] | None = None,
    output: int = 0,
    unit: Tensor | None = None,
) -> Certificate:
    """Check `u` at `inputs`.  Shape: `(N, dim)` → `Certificate` of `(N,)`.

    Args:
        u: what is checked, one number per input.
        family: whose equation it should solve.
        scheme: how paths are simulated, if the family has no better way of its own.
        noise: tried too, if it is a cubature.
        control: v of the martingale, if there is one.
        inputs: where.
        generator: source of randomness.
        tolerance: simulate until the verdict is clear, or the effort is spent.
        effort: limits of time and paths.
        report: called with the fraction done.
        output: which component of the family's u is meant.
        unit: what each value counts, `(N,)`: the certificate is for unit · u.
    """
    if tolerance is not None and not tolerance > 0.0:
        raise InputError(f"a tolerance must be positive, got {tolerance}.")
    if not 0 <= output < outputs(family):
        raise InputError(f"there is no output {output}; there are {outputs(family)}, from 0 on.")
    scheme.check(family)
    with torch.no_grad():
        network = u(inputs).double().squeeze(-1)
        choices = candidates(family, scheme, noise, control, effort.steps, output)
        units = torch.ones_like(network) if unit is None else unit.to(network)
        search = _Search(choices, inputs.double(), generator, network, units, tolerance, effort)
        shares = (1.0,) if tolerance is None else LOOKS
        for number, share in enumerate(shares):
            told = _part(report, number, len(shares))
            search.look(share, 1.0 - (1.0 - effort.confidence) / len(shares), told)
            if not search.undecided:
                break
    if report and search.looks < len(shares):
        report(1.0)
    return search.certificate()


def _part(report: Callable[[float], None] | None, part: int, parts: int) -> Callable[[float], None]:
    """Where one part of equally many stands in the whole."""
    return lambda fraction: report((part + fraction) / parts) if report else None


class _Search:
    """The state of a certificate: what is known at each input so far."""

    def __init__(
        self,
        choices: list[list[Estimator]],
        inputs: Tensor,
        generator: torch.Generator,
        network: Tensor,
        unit: Tensor,
        tolerance: float | None,
        effort: Effort,
    ) -> None:
        self.choices, self.inputs, self.generator, self.unit = choices, inputs, generator, unit
        self.network, self.tolerance, self.effort = network, tolerance, effort
        self.found = Interval(*(torch.full_like(network, torch.nan) for _ in Interval._fields))
        self.reduction = torch.ones_like(network)
        self.spent = torch.zeros(len(network), dtype=torch.int64)
        self.names = [""] * len(network)
        self.looks = 0

    @property
    def undecided(self) -> list[int]:
        """Inputs to look at (again)."""
        if self.looks == 0:
            return list(range(len(self.network)))
        if self.tolerance is None:
            return []
        return [i for i, v in enumerate(self.certificate().verdicts) if v == "undecided"]

    def look(self, share: float, confidence: float, report: Callable[[float], None]) -> None:
        """Estimate all undecided inputs once, in a share of the time."""
        which = self.undecided
        spent = self.spent[which]
        seconds, most = share * self.effort.seconds, self.effort.most_paths
        pilot = Pilot(self.inputs[which], seconds, most, confidence, self.generator, spent)
        aims = dict(zip(which, self._aims(which), strict=True))
        plans = dict(zip(which, pilot.plans(self.choices, list(aims.values())), strict=True))
        self.spent[which] = spent
        wide = [i for i in which if not plans[i].half_width <= aims[i]]
        gridded = self._by_grid({i: plans[i].half_width for i in wide}, aims, 0.5 * seconds)
        groups = defaultdict(list)
        for i in which:
            if i not in gridded:
                groups[plans[i].work].append((i, plans[i]))
        done = len(gridded)
        for group in groups.values():
            self._estimate([i for i, _ in group], [plan for _, plan in group], confidence)
            done += len(group)
            report(done / len(which))
        self.looks += 1

    def _aims(self, which: list[int]) -> list[float]:
        """Half widths to reach: first from the tolerance, then from the margin of the verdict."""
        if self.tolerance is None:
            relative = self.effort.aim or AIM
            return [relative * (1.0 + abs(v)) for v in self.network[which].tolist()]
        limits = (self.tolerance / self.unit[which]).tolist()
        if self.looks == 0:
            return [0.3 * limit for limit in limits]
        error = (self.network - self.found.value)[which].abs().tolist()
        pairs = zip(error, limits, strict=True)
        return [max(0.5 * abs(e - limit), 1e-4 * limit) for e, limit in pairs]

    def _by_grid(self, foretold: dict[int, float], aims: dict[int, float], each: float) -> set[int]:
        """Inputs whose interval comes from a grid, narrower than that of paths is foretold to be.

        Args:
            foretold: half widths of paths.
            aims: those to reach.
            each: seconds per input.
        """
        which, first = list(foretold), self.choices[0][0]
        if not which or first.order is None:  # Sobol' points do well where paths are exact
            return set()
        aimed, time = [aims[i] for i in which], each * len(which)
        found = grid_intervals(first.family, self.inputs[which], aimed, time, first.output)
        if found is None:
            return set()
        now, names = found
        better = [k for k, i in enumerate(which) if not foretold[i] <= now.half_width[k]]
        for k in better:
            for known, new in zip(self.found, now, strict=True):
                known[which[k]] = new[k]
            self.names[which[k]] = names[k]
        return {which[k] for k in better}

    def _estimate(self, which: list[int], plans: list[Plan], confidence: float) -> None:
        """The interval at inputs that share their plan's work."""
        plan, until = plans[0], clock() + 2.0 * sum(plan.seconds for plan in plans)
        sample = plan.estimator.replicates(
            self.inputs[which],
            plan.paths,
            plan.replicates,
            self.generator,
            late=lambda: clock() > until,
        )
        extrapolated = torch.tensor([p.extrapolated for p in plans], device=self.network.device)
        now = interval(plan.estimator, sample, extrapolated, plan.paths, confidence)
        for known, new in zip(self.found, now, strict=True):
            known[which] = new
        paths = plan.paths * len(sample.value)
        variance = sample.second.mean(0) - sample.first.mean(0).square()
        ratio = variance.clamp_min(TINY) / (paths * now.se.square()).clamp_min(TINY)
        self.reduction[which] = ratio
        self.spent[which] += paths
        for i in which:
            self.names[i] = plan.estimator.name

    def certificate(self) -> Certificate:
        """The certificate so far."""
        unit = self.unit
        return Certificate(
            network=unit * self.network,
            value=unit * self.found.value,
            statistical=unit * self.found.statistical,
            discretisation=unit * self.found.discretisation,
            reduction=self.reduction,
            tolerance=self.tolerance,
            confidence=self.effort.confidence,
            paths=self.spent,
            se=unit * self.found.se,
            estimators=tuple(self.names),
        )
