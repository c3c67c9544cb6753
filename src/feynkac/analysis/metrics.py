r"""How wrong is u? The paper's error  E[ |Φ(Λ) − ū(Λ)| / (1 + |ū(Λ)|) ]  (paper, Eq. 9).

The standard error is over the inputs. Where the reference is itself a Monte Carlo value, its noise
inflates the measured error; `reference_se` says by how much at most.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from feynkac.analysis.partials import Map
from feynkac.errors import InputError
from feynkac.families.domain import Domain
from feynkac.families.family import ClosedForm, Family
from feynkac.sampling.noise import Independent, Noise
from feynkac.sampling.reference import Estimate, closed_form_values, monte_carlo, replicated
from feynkac.sampling.scheme import Scheme

CHUNK = 2**15
REPLICATES = 16


@dataclass(frozen=True)
class Errors:
    """Errors of a solution, all relative to 1 + |ū|."""

    l1: float
    """Mean absolute error, Eq. (9)."""
    l1_se: float
    """Its standard error over the inputs."""
    l2: float
    """Root mean square error."""
    max: float
    """Largest error seen."""
    mean_baseline: float
    """L1 of predicting the mean of ū everywhere."""
    linear_baseline: float
    """L1 of a linear fit of ū to the inputs, each left out of its own fit."""
    reference_se: float
    """Mean standard error of the reference values; 0 for a closed form."""
    inputs: int
    """Number of fresh inputs."""

    def record(self) -> dict[str, float | int | None]:
        """As plain numbers by name; None for what is not finite, as JSON knows no NaN."""
        return {k: v if math.isfinite(v) else None for k, v in asdict(self).items()}


def measure_errors(
    u: Map,
    family: Family,
    scheme: Scheme,
    generator: torch.Generator,
    inputs: int | None = None,
    paths: int = 2**12,
    report: Callable[[float], None] | None = None,
    noise: Noise = Independent(),  # noqa: B008  (frozen)
) -> Errors:
    """Errors of `u` on fresh inputs.

    Args:
        u: the solution map.
        family: whose closed form is the reference if it has one.
        scheme: simulates the reference otherwise.
        generator: source of inputs and paths.
        inputs: how many; by default 2^16 with a closed form, else 128.
        paths: per input, if the reference is simulated.
        report: called with the fraction done.
        noise: of the simulated reference; unless independent, in 16 replicates.
    """
    yardstick = make_yardstick(family, scheme, generator, inputs, paths, report, noise)
    return yardstick.measure(u)


@dataclass(frozen=True)
class Yardstick:
    """Inputs with reference values  u ± statistical ± discretisation error."""

    points: Tensor
    reference: Estimate
    domain: Domain
    bias: Estimate | None = None
    """Estimated discretisation error of the reference, where that was asked for."""

    def measure(self, u: Map) -> Errors:
        """Errors of `u` on the inputs."""
        with torch.no_grad():
            values = torch.cat([u(block) for block in torch.split(self.points, CHUNK)])
        return compare(values.double(), self.reference, self.points, self.domain)

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
    paths: int = 2**12,
    report: Callable[[float], None] | None = None,
    noise: Noise = Independent(),  # noqa: B008  (frozen)
) -> Yardstick:
    """Fresh inputs with reference values; arguments as `measure_errors`."""
    if inputs is not None and inputs < 2:
        raise InputError(f"a standard error needs at least 2 inputs, got {inputs}.")
    count = inputs or (2**16 if isinstance(family, ClosedForm) else 128)
    points = family.domain.sample(count, generator)
    reference = closed_form_values(family, points) or _simulate(
        family, scheme, noise, points, paths, generator, report
    )
    return Yardstick(points, reference, family.domain)


def _simulate(
    family: Family,
    scheme: Scheme,
    noise: Noise,
    points: Tensor,
    paths: int,
    generator: torch.Generator,
    report: Callable[[float], None] | None,
) -> Estimate:
    if isinstance(noise, Independent):
        return monte_carlo(family, scheme, points, paths, generator, report)
    each = max(2, paths // REPLICATES)
    return replicated(family, scheme, noise, points, each, generator, REPLICATES, report)


def compare(values: Tensor, reference: Estimate, points: Tensor, domain: Domain) -> Errors:
    """Errors of given values.  Shape: values and reference `(N, outputs)`, points `(N, dim)`."""
    truth = reference.value
    scale = 1.0 + truth.abs()
    error = (values - truth).abs() / scale
    return Errors(
        l1=error.mean().item(),
        l1_se=(error.mean(-1).std() / len(error) ** 0.5).item(),
        l2=error.square().mean().sqrt().item(),
        max=error.max().item(),
        mean_baseline=((truth.mean() - truth).abs() / scale).mean().item(),
        linear_baseline=(_linear_residual(points, truth, domain).abs() / scale).mean().item(),
        reference_se=(reference.error / scale).mean().item(),
        inputs=len(error),
    )


def _linear_residual(points: Tensor, truth: Tensor, domain: Domain) -> Tensor:
    """Leave-one-out residuals of the linear fit: e / (1 − h), h the leverage."""
    device = points.device
    features = (points.double() - domain.mean.to(device)) / domain.std.to(device)
    features = torch.cat([features, torch.ones_like(features[:, :1])], dim=-1)
    if len(features) <= features.shape[-1]:
        return torch.full_like(truth, torch.nan)
    q, _ = torch.linalg.qr(features)
    leverage = q.square().sum(-1, keepdim=True)
    residual: Tensor = (truth - q @ (q.mT @ truth)) / (1.0 - leverage)
    return residual
