r"""Reference values of u: the closed form, or Monte Carlo  u ≈ (1/m) Σ φ(s_j)  (paper, Eq. 10).

Paths are simulated in chunks and folded into running moments, so that memory does not grow with m.
`replicated` does the same with any noise: its paths depend on each other, so that the standard
error comes from independent repetitions of the whole estimate.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.capabilities import ClosedForm
from feynkac.families.family import Family, noise_dim, outputs
from feynkac.sampling.chunks import path_numbers
from feynkac.sampling.labels import draw_paths, payoffs
from feynkac.sampling.noise.noise import Noise, normals
from feynkac.sampling.schemes.scheme import Scheme

NORMALS_AT_ONCE = 2**20  # or entries of states: 8 MB in float64, which stays in cache


class Estimate(NamedTuple):
    """Values with their standard errors, both `(N, 1)`.

    Example:
        >>> Estimate(torch.tensor([1.5]), torch.tensor([0.1])).error.item() < 0.2
        True
    """

    value: Tensor
    error: Tensor


def closed_form_values(family: Family, inputs: Tensor) -> Estimate | None:
    """u from the closed form in float64, with zero error; None if there is none."""
    if not isinstance(family, ClosedForm):
        return None
    value = family.closed_form(*family.domain.split(inputs.double()))
    return Estimate(value, torch.zeros_like(value))


def monte_carlo(
    family: Family,
    scheme: Scheme,
    inputs: Tensor,
    paths: int,
    generator: torch.Generator,
    report: Callable[[float], None] | None = None,
) -> Estimate:
    """Mean of `paths` payoffs at each input.  Shape: `(N, dim)` → `Estimate` of `(N, 1)`.

    Args:
        family: what to simulate.
        scheme: how to simulate it; its discretisation error is not in the standard error.
        inputs: flat inputs; their dtype is that of the simulation.
        paths: m, at least 2.
        generator: source of randomness.
        report: called with the fraction done.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> from feynkac.sampling.schemes.exact import Exact
        >>> family = BlackScholes()
        >>> inputs = family.domain.join({"x": [9.5], "t": 0.5, "sigma": 0.35, "strike": 11.0})
        >>> found = monte_carlo(family, Exact(), inputs, 4096, torch.Generator().manual_seed(0))
        >>> bool(abs(found.value - 1.930283) < 5 * found.error)
        True
    """
    scheme.check(family)
    if paths < 2:
        raise InputError(f"a standard error needs at least 2 paths, got {paths}.")
    rows = max(1, NORMALS_AT_ONCE // (path_numbers(family, scheme) * paths))
    moments = []
    for block in torch.split(inputs, rows):
        moments.append(_moments(family, scheme, block, paths, generator))
        if report:
            report(sum(len(m[0]) for m in moments) / len(inputs))
    mean = torch.cat([m for m, _ in moments])
    squares = torch.cat([s for _, s in moments])
    return Estimate(mean, (squares / (paths - 1) / paths).sqrt())


def replicated(
    family: Family,
    scheme: Scheme,
    noise: Noise,
    inputs: Tensor,
    paths: int,
    generator: torch.Generator,
    replicates: int = 16,
    report: Callable[[float], None] | None = None,
) -> Estimate:
    """Mean of `replicates` estimates of `paths` paths each.  Shape: as `monte_carlo`."""
    scheme.check(family)
    if replicates < 2:
        raise InputError(f"a standard error needs at least 2 replicates, got {replicates}.")
    rows = max(1, NORMALS_AT_ONCE // (path_numbers(family, scheme) * paths))
    found: list[Tensor] = []
    for block in torch.split(inputs, rows):
        found.append(_repeat(family, scheme, noise, block, paths, generator, replicates))
        if report:
            report(sum(part.shape[1] for part in found) / len(inputs))
    values = torch.cat(found, dim=1)
    return Estimate(values.mean(0), values.std(0) / replicates**0.5)


def _repeat(
    family: Family,
    scheme: Scheme,
    noise: Noise,
    inputs: Tensor,
    paths: int,
    generator: torch.Generator,
    replicates: int,
) -> Tensor:
    """Independent estimates.  Shape: `(N, dim)` → `(replicates, N, 1)`."""
    estimates = []
    for _ in range(replicates):
        draw = draw_paths(family, scheme, noise, inputs, paths, generator)
        weighted = payoffs(family, scheme, inputs, draw.z) * draw.weights
        estimates.append(weighted.double().sum(-2))
    return torch.stack(estimates)


def _moments(
    family: Family, scheme: Scheme, inputs: Tensor, paths: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Mean and summed squared deviations, merged chunk by chunk (Chan, Golub and LeVeque)."""
    dim = noise_dim(family)
    size = max(1, min(paths, NORMALS_AT_ONCE // path_numbers(family, scheme)))
    mean = torch.zeros(len(inputs), outputs(family), dtype=torch.float64, device=inputs.device)
    squares = torch.zeros_like(mean)
    done = 0
    while done < paths:
        k = min(size, paths - done)
        z = normals(scheme.draws, (len(inputs), k), dim, generator, inputs.dtype)
        y = payoffs(family, scheme, inputs, z).double()
        step = y.mean(-2) - mean
        squares += (y - y.mean(-2, keepdim=True)).square().sum(-2)
        squares += step.square() * (done * k / (done + k))
        mean += step * (k / (done + k))
        done += k
    return mean, squares
