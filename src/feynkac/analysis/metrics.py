r"""How wrong is u? The paper's error  E[ |Φ(Λ) − ū(Λ)| / (1 + |ū(Λ)|) ]  (paper, Eq. 9).

If ū is itself simulated, the share of its noise is removed, and the interval allows for the
remaining bias; see `debiasing.py`. With a closed form nothing changes.
"""

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from feynkac.analysis.debiasing import mean_absolute, root_mean_square
from feynkac.analysis.partials import Map
from feynkac.analysis.quoted_errors import VolatilityErrors, quoted, volatility_errors
from feynkac.analysis.rounding import error_text, number
from feynkac.analysis.warnings import warnings_of
from feynkac.cards import Card, Shown
from feynkac.errors import InputError
from feynkac.families.capabilities import ClosedForm
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.grids.grid import Grid, at_once, grid_reference
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.noise import Independent, Noise
from feynkac.sampling.reference import Estimate, closed_form_values, monte_carlo, replicated
from feynkac.sampling.reference_size import (
    REPLICATES,
    fixed_size,
    paths_of,
    quietest_noise,
    timed_size,
)
from feynkac.sampling.schemes.scheme import Scheme
from feynkac.sketches import bars

ROWS_AT_ONCE = 2**15
KNOWN_INPUTS, KNOWN_NUMBERS = 2**16, 2**24  # with a closed form; numbers of all inputs together
FEWEST_KNOWN = 2**10
GRIDDED_INPUTS, FEWEST_GRIDDED = 2**10, 2**5  # with a grid
GRIDDED_WORK = 2**29  # nodes times steps of all inputs; larger grids get fewer


@dataclass(frozen=True, repr=False)
class Errors(Shown):
    """Errors of a solution, relative to 1 + |ū| unless said otherwise.

    Example:
        >>> import feynkac as fk
        >>> errors = fk.solve(fk.BlackScholes(), steps=20, evaluations=1).error(1000)
        >>> errors.l1 < errors.mean_baseline, errors.l1_low <= errors.l1 <= errors.l1_high
        (True, True)
    """

    l1: float
    """Mean absolute error, Eq. (9), without the noise of the reference."""
    l1_se: float
    """Standard error of `l1` over inputs and noise."""
    l2: float
    """Root mean square error, also without that noise."""
    max: float
    """Largest difference from the reference, including its noise."""
    mean_baseline: float
    """L1 of predicting the mean of ū everywhere."""
    linear_baseline: float
    """L1 of a linear fit of ū to the inputs, each left out of its own fit."""
    reference_se: float
    """Mean standard error of the reference values; 0 for a closed form."""
    inputs: int
    """Number of fresh inputs."""
    l1_low: float
    """Lower end of the 95 % interval of L1."""
    l1_high: float
    """Upper end."""
    max_se: float
    """Standard error of the reference where the largest difference is."""
    worst: dict[str, Any]
    """The input with the largest difference, by name."""
    absolute: float
    """Mean absolute error in the units of u, without the noise of the reference."""
    relative: float
    """The same relative to the standard deviation of ū over the domain, whatever its units."""
    volatility: VolatilityErrors | None = None
    """Errors in implied volatility, if u is the price of a call or put and they were asked for."""

    def card(self) -> Card:
        """L1 and what to compare it with."""
        l1 = error_text(self.l1, self.l1_se, self.l1_low, self.l1_high)
        base = {"linear fit": self.linear_baseline, "mean": self.mean_baseline}
        rows = {
            "L1 error": l1,
            "its 95 % interval": f"{number(self.l1_low)} … {number(self.l1_high)}",
            "L2 error": number(self.l2),
            "largest error seen": number(self.max),
            "in units of u": number(self.absolute),
            **{f"L1 of the {name}": number(value) for name, value in base.items()},
            "s.e. of the reference": number(self.reference_se),
            "inputs": str(self.inputs),
        }
        label = "L1 of network, linear fit, mean"
        return Card(
            f"Errors: L1 {l1} on {self.inputs} inputs",
            [
                f"L2 {rows['L2 error']}, largest {rows['largest error seen']}; L1 of a linear fit "
                f"{rows['L1 of the linear fit']}, of the mean {rows['L1 of the mean']}"
            ],
            rows,
            bars([self.l1, self.linear_baseline, self.mean_baseline], label),
            self.warnings,
        )

    def record(self) -> dict[str, float | int | None]:
        """As plain numbers by name; None for numbers that are not finite, which JSON lacks."""
        plain = {k: v for k, v in asdict(self).items() if k not in ("worst", "volatility")}
        plain |= self.volatility.record() if self.volatility else {}
        return {k: v if math.isfinite(v) else None for k, v in plain.items()}

    @property
    def warnings(self) -> list[str]:
        """Reasons not to trust the solution or these figures, one sentence each."""
        return warnings_of(self.record())


@dataclass(frozen=True)
class Yardstick:
    """Inputs with reference values  u ± statistical ± discretisation error."""

    points: Tensor
    reference: Estimate
    domain: Domain
    bias: Estimate | None = None
    """Estimated discretisation error of the reference, if requested."""
    seconds: float | None = None
    """Approximate time for a measurement, which omits inputs to keep it."""
    family: Family | None = None
    """Whose prices are compared in implied volatility too, if they have one."""

    def measure(self, u: Map) -> Errors:
        """Errors of `u` on the inputs."""
        with torch.no_grad():
            points = self.points if self.seconds is None else self._affordable(u, self.seconds)
            values = torch.cat([u(block) for block in torch.split(points, ROWS_AT_ONCE)])
        reference = Estimate(*(part[: len(points)] for part in self.reference))
        errors = compare(values.double(), reference, points, self.domain)
        if self.family is None or not quoted(self.family):
            return errors
        prices = values.double(), reference.value.double()
        return replace(errors, volatility=volatility_errors(self.family, *prices, points))

    def of_output(self, index: int) -> "Yardstick":
        """For one of several components of u."""
        return replace(self, reference=Estimate(*(v[:, [index]] for v in self.reference)))

    def _affordable(self, u: Map, seconds: float) -> Tensor:
        """The first inputs, as many as `seconds` allow; u is timed on a few."""
        start = time.perf_counter()
        u(self.points[:FEWEST_KNOWN])
        taken = time.perf_counter() - start
        return self.points[: _known_inputs(seconds - taken, taken)]

    def mean_bias(self) -> tuple[float, float]:
        """Mean absolute discretisation error and its standard error, relative to 1 + |u|."""
        if self.bias is None:
            return 0.0, 0.0
        scale = 1.0 + self.reference.value.abs()
        value, error = ((part.abs() / scale).mean().item() for part in self.bias)
        return value, error


def make_yardstick(
    family: Family,
    scheme: Scheme,
    generator: torch.Generator,
    inputs: int | None = None,
    paths: int | None = None,
    report: Callable[[float], None] | None = None,
    noise: Noise | None = None,
    seconds: float | None = None,
    grid: Grid | None = None,
) -> Yardstick:
    """Fresh inputs with reference values.

    Args:
        family: whose closed form is the reference if it has one.
        scheme: simulates the reference otherwise.
        generator: source of inputs and paths.
        inputs: how many; by default 2^16 with a closed form, or fewer of more than 256 numbers,
            else as in `reference_size.py`.
        paths: per input, if the reference is simulated; by default likewise.
        report: called with the fraction done.
        noise: of the simulated reference; by default the one that varies least. Unless it is
            independent, there are 16 replicates.
        seconds: approximate time for the reference and one measurement together, instead of the
            defaults; the figures then depend on the machine.
        grid: gives the reference in place of paths.
    """
    if inputs is not None and inputs < 2:
        raise InputError(f"a standard error needs at least 2 inputs, got {inputs}.")
    half = None if seconds is None or inputs else seconds / 2
    if isinstance(family, ClosedForm):
        count = inputs or _timed_closed_form(family, half, generator)
        points = family.domain.sample(count, generator)
        known = closed_form_values(family, points)
        assert known is not None
        return Yardstick(points, known, family.domain, seconds=half)
    if grid is not None and paths is None:
        points = family.domain.sample(inputs or _gridded_inputs(family, grid, seconds), generator)
        return Yardstick(points, grid_reference(family, grid, points), family.domain)
    points, reference = _simulate(family, scheme, generator, inputs, paths, report, noise, seconds)
    return Yardstick(points, reference, family.domain)


def _gridded_inputs(family: Family, grid: Grid, seconds: float | None) -> int:
    """The number of values from a grid that take `seconds`, a power of two.

    Those that are solved together take the time of one.
    """
    if seconds is None:
        finer = grid.refined()
        bearable = GRIDDED_WORK // (math.prod(finer.nodes) * finer.steps)
        return min(GRIDDED_INPUTS, max(FEWEST_GRIDDED, 1 << bearable.bit_length() - 1))
    start = time.perf_counter()
    count = min(GRIDDED_INPUTS, max(FEWEST_GRIDDED, at_once(grid.refined()) // 2))
    few = family.domain.sample(count, make_generator(0, "trial of the reference"))
    grid_reference(family, grid, few)
    taken = time.perf_counter() - start
    times = max(1.0, (seconds - taken) / taken)
    return int(min(GRIDDED_INPUTS, count * 2 ** math.floor(math.log2(times))))


def known_inputs(family: Family) -> int:
    """Inputs of an evaluation by the closed form: a power of two for which memory is bounded.

    Example:
        >>> from feynkac.families.models.heat_gaussian import HeatGaussian
        >>> known_inputs(HeatGaussian(dim=10_000))
        1024
    """
    affordable = max(FEWEST_KNOWN, KNOWN_NUMBERS // family.domain.dim)
    return min(KNOWN_INPUTS, 1 << affordable.bit_length() - 1)


def _timed_closed_form(family: Family, seconds: float | None, generator: torch.Generator) -> int:
    """The number of values of the closed form that take `seconds`."""
    if seconds is None:
        return known_inputs(family)
    points = family.domain.sample(FEWEST_KNOWN, generator)
    start = time.perf_counter()
    closed_form_values(family, points)
    taken = time.perf_counter() - start
    return min(known_inputs(family), _known_inputs(seconds - taken, taken))


def _known_inputs(seconds: float, taken: float) -> int:
    """The affordable inputs, a power of two, if `FEWEST_KNOWN` inputs took `taken` seconds."""
    doublings = math.floor(math.log2(max(1.0, seconds / max(taken, 1e-9))))
    return min(KNOWN_INPUTS, FEWEST_KNOWN << doublings)


def _simulate(
    family: Family,
    scheme: Scheme,
    generator: torch.Generator,
    inputs: int | None,
    paths: int | None,
    report: Callable[[float], None] | None,
    noise: Noise | None,
    seconds: float | None,
) -> tuple[Tensor, Estimate]:
    start = time.perf_counter()
    scheme.check(family)
    chosen = noise or quietest_noise(family, scheme, str(generator.device))
    size = fixed_size(family, scheme)
    if seconds is not None:
        left = max(0.0, seconds - (time.perf_counter() - start))
        size = timed_size(family, scheme, chosen, left, generator)
    points = family.domain.sample(inputs or size.inputs, generator)
    total = paths or REPLICATES * size.paths
    if isinstance(chosen, Independent):
        return points, monte_carlo(family, scheme, points, total, generator, report)
    each = paths_of(chosen, max(2, total // REPLICATES))
    with torch.no_grad():
        found = replicated(family, scheme, chosen, points, each, generator, REPLICATES, report)
    return points, found


def compare(values: Tensor, reference: Estimate, points: Tensor, domain: Domain) -> Errors:
    """Errors of given values.  Shape: values and reference `(N, outputs)`, points `(N, dim)`."""
    truth = reference.value
    scale = 1.0 + truth.abs()
    difference, noise = (values - truth) / scale, reference.error / scale
    found = mean_absolute(difference, noise)
    absolute = mean_absolute(values - truth, reference.error).value
    spread = truth.std(0).clamp_min(torch.finfo(truth.dtype).tiny)
    worst = int(difference.abs().argmax())
    row = points[worst // truth.shape[-1]]
    return Errors(
        l1=found.value,
        l1_se=found.se,
        l2=max(found.value, root_mean_square(difference, noise)),
        max=difference.abs().max().item(),
        mean_baseline=((truth.mean(0) - truth).abs() / scale).mean().item(),
        linear_baseline=(_linear_residual(points, truth, domain).abs() / scale).mean().item(),
        reference_se=noise.mean().item(),
        inputs=len(values),
        l1_low=found.low,
        l1_high=found.high,
        max_se=noise.flatten()[worst].item(),
        worst=domain.named(row),
        absolute=absolute,
        relative=mean_absolute((values - truth) / spread, reference.error / spread).value,
    )


def _linear_residual(points: Tensor, truth: Tensor, domain: Domain) -> Tensor:
    """Leave-one-out residuals of the linear fit: e / (1 − h), h the leverage."""
    device = points.device
    centred = (points.double() - domain.mean.to(device)) / domain.std.to(device)
    features = centred[:, domain.varies.to(device)]
    features = torch.cat([features, torch.ones_like(features[:, :1])], dim=-1)
    if len(features) <= features.shape[-1]:
        return torch.full_like(truth, torch.nan)
    q, _ = torch.linalg.qr(features)
    leverage = q.square().sum(-1, keepdim=True)
    residual: Tensor = (truth - q @ (q.mT @ truth)) / (1.0 - leverage)
    return residual
