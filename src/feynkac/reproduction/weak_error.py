r"""The weak error of Euler–Maruyama,  ū^M(λ) − ū(λ) = E[Y^M | Λ = λ] − ū(λ),  by simulation.

Y^M of all M and a reference with the mean ū run along the same Brownian paths, so that differences
vary little. The replicates of an input are independent: products of two different ones estimate the
square of the weak error without the noise. Standard errors are the jackknife's over the inputs.
Inputs are random ones of the domain, or random corners of it, where the error is larger.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from feynkac.families.domain import Domain
from feynkac.families.family import Family, noise_dim
from feynkac.families.measures.measure import vector
from feynkac.sampling.discretisation import estimate_bias
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import payoffs
from feynkac.sampling.noise.alignment import align
from feynkac.sampling.noise.noise import Shape, of_fewer_steps
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.reference import Estimate, closed_form_values, replicated
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.scheme import Scheme

FINE = 3  # the slope is fitted to so many of the finest M
REPLICATES = 4


@dataclass(frozen=True)
class Case:
    """A family, and how the weak error of Euler–Maruyama is measured on it."""

    title: str
    family: Family
    reference: Scheme
    """Gives the mean ū, up to an error that is measured too."""
    inputs: int
    """In a block."""
    paths: int
    """An input and replicate."""
    finest: int
    """Largest M."""

    @property
    def steps(self) -> list[int]:
        """All M: powers of two."""
        return [2**k for k in range(self.finest.bit_length())]


def time_block(case: Case) -> float:
    """Seconds of a block, after one to warm up."""
    block_errors(case, 0, 0)
    start = time.perf_counter()
    block_errors(case, 0, 0)
    return time.perf_counter() - start


@torch.no_grad()
def block_errors(case: Case, seed: int, block: int, corners: bool = False) -> Tensor:
    """Means of Y^M minus the reference.  Shape: `(inputs, REPLICATES, M)`."""
    kind = ["corners"] if corners else []
    generator = make_generator(seed, "theorem-2", case.title, *kind, block)
    inputs = case.family.domain.sample(case.inputs, generator)
    if corners:
        inputs = nearest_corners(case.family.domain, inputs)
    return torch.stack([_replicate(case, inputs, generator) for _ in range(REPLICATES)], dim=1)


def nearest_corners(domain: Domain, inputs: Tensor) -> Tensor:
    """Each input at an end of its interval, t at the last.  Shape: `(N, dim)` → `(N, dim)`."""
    low = vector([v for box in domain.measures.values() for v in box.low]).to(inputs)
    high = vector([v for box in domain.measures.values() for v in box.high]).to(inputs)
    low[domain.slices()["t"]] = high[domain.slices()["t"]]  # at the first nothing has happened yet
    return torch.where(2 * inputs < low + high, low, high)


def _replicate(case: Case, inputs: Tensor, generator: torch.Generator) -> Tensor:
    family, scheme, finest = case.family, case.reference, case.finest
    rest = scheme.draws - scheme.increments
    shape = Shape(len(inputs), case.paths, finest + rest, noise_dim(family), finest)
    draw = align(family, inputs, Sobol().draw(shape, generator, inputs.dtype))
    path, others = draw.z[:finest], draw.z[finest:]

    def mean(scheme: Scheme, *more: Tensor) -> Tensor:
        z = torch.cat([of_fewer_steps(path, scheme.increments), *more])
        return (payoffs(family, scheme, inputs, z) * draw.weights).double().sum((-2, -1))

    reference = mean(scheme, others)
    return torch.stack([mean(EulerMaruyama(steps=m)) - reference for m in case.steps], dim=-1)


def reference_error(case: Case, seed: int, inputs: int = 16) -> dict[str, float]:
    """How far the reference is from ū in the mean: its own error, or that of the closed form."""
    generator = make_generator(seed, "theorem-2 reference", case.title)
    points = case.family.domain.sample(inputs, generator, torch.float64)
    setting = (case.family, case.reference, Sobol(), points, case.paths, generator)
    truth = closed_form_values(case.family, points)
    found = estimate_bias(*setting) if truth is None else _minus(replicated(*setting), truth)
    error = found.error.square().mean().sqrt() / math.sqrt(inputs)
    return {"reference_error": found.value.mean().item(), "reference_error_se": error.item()}


def _minus(estimate: Estimate, truth: Estimate) -> Estimate:
    return Estimate(estimate.value - truth.value, estimate.error)


def summarise(differences: Tensor, steps: list[int]) -> dict[str, Any]:
    """Norm, slope and largest with standard errors.  Shape: `(inputs, replicates, M)`."""
    total, replicates = differences.sum(1), differences.shape[1]
    squares = (total.square() - differences.square().sum(1)) / (replicates * (replicates - 1))
    return (
        {"steps": steps, "inputs": len(differences)}
        | largest(differences)
        | _with_error("l2", squares, _root)
        | _with_error("l2_slope", squares, lambda square: slope(_root(square), steps))
    )


def largest(differences: Tensor) -> dict[str, list[float]]:
    """The largest |error| of the inputs, for each M.  Shape: `(inputs, replicates, M)`.

    The first half of the replicates chooses the input, the others measure it: no bias upwards.
    """
    chosen, fresh = differences.chunk(2, dim=1)
    place = chosen.mean(1).abs().argmax(0)
    measured = fresh.gather(0, place.expand(1, fresh.shape[1], -1))[0]
    error = measured.std(0) / math.sqrt(len(measured))
    return {"largest": measured.mean(0).abs().tolist(), "largest_se": error.tolist()}


def _root(square: Tensor) -> Tensor:
    """√, of what is negative by chance too."""
    return square.clamp_min(1e-30).sqrt()


def _with_error(name: str, items: Tensor, statistic: Callable[[Tensor], Tensor]) -> dict[str, Any]:
    value, error = jackknife(items, statistic)
    return {name: value.tolist(), f"{name}_se": error.tolist()}


def jackknife(items: Tensor, statistic: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
    """A function of the mean over the first axis, and its standard error.

    Example:
        >>> value, error = jackknife(torch.tensor([[1.0], [3.0]]), torch.square)
        >>> value.item(), error.item()
        (4.0, 4.0)
    """
    count = len(items)
    each = statistic((items.sum(0) - items) / (count - 1))
    spread = (each - each.mean(0)).square().sum(0)
    return statistic(items.mean(0)), (spread * (count - 1) / count).sqrt()


def slope(errors: Tensor, steps: list[int]) -> Tensor:
    """The exponent a of  error ∝ M^a  by least squares, for the finest M.

    Shape: `(…, M)` → `(…,)`.

    Example:
        >>> round(slope(torch.tensor([9.0, 1.0, 0.25, 0.0625]), [1, 2, 4, 8]).item(), 4)
        -2.0
    """
    x = torch.tensor(steps[-FINE:], dtype=errors.dtype).log()
    x = x - x.mean()
    return (errors[..., -FINE:].log() * x).sum(-1) / x.square().sum()
