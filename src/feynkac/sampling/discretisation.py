r"""How wrong is a scheme? From two step sizes on the same Brownian paths, for weak order q:

    E Y_n − u  ≈  E[Y_n − Y_2n] · 2^q / (2^q − 1).

Coupled paths make the difference small, so that few of them resolve it.
"""

from math import isfinite

import torch
from torch import Tensor

from feynkac.clock import Allowance, Clock
from feynkac.families.family import Family, outputs
from feynkac.sampling.chunks import path_numbers
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import draw_paths, draws, payoffs
from feynkac.sampling.noise.noise import Noise, of_fewer_steps
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.noise.trapezoid import Trapezoid
from feynkac.sampling.path import weak_order
from feynkac.sampling.reference import NORMALS_AT_ONCE, Estimate, replicated
from feynkac.sampling.schemes.scheme import Scheme

FEWEST_PATHS = 16  # of a pilot
SIMULATIONS = 26  # that `relative_bias` makes: 8 with n steps, 8 with 2n, and 2 more


def estimate_bias(
    family: Family,
    scheme: Scheme,
    noise: Noise,
    inputs: Tensor,
    paths: int,
    generator: torch.Generator,
    replicates: int = 8,
) -> Estimate:
    """Estimated error of `scheme` at each input.  Shape: `(N, dim)` → `Estimate` of `(N, 1)`."""
    order = weak_order(family, scheme)
    if order is None:
        zero = torch.zeros(len(inputs), outputs(family), dtype=torch.float64, device=inputs.device)
        return Estimate(zero, zero)
    fine = refined(scheme)
    noise = Sobol() if isinstance(noise, Trapezoid) else noise  # the rule is for one normal
    rows = max(1, NORMALS_AT_ONCE // (path_numbers(family, fine) * paths))
    found = []
    for block in torch.split(inputs, rows):
        repeats = []
        for _ in range(replicates):
            draw = draw_paths(family, fine, noise, block, paths, generator)
            coarse = payoffs(family, scheme, block, coarsened(draw.z, fine.increments))
            difference = coarse - payoffs(family, fine, block, draw.z)
            repeats.append((difference * draw.weights).double().sum(-2))
        found.append(torch.stack(repeats))
    factor = 2**order / (2**order - 1)
    values = torch.cat(found, dim=1) * factor
    return Estimate(values.mean(0), values.std(0) / replicates**0.5)


def relative_bias(
    family: Family,
    scheme: Scheme,
    noise: Noise,
    inputs: Tensor,
    paths: int,
    generator: torch.Generator,
    replicates: int = 8,
    in_own_unit: bool = False,
) -> Estimate:
    """Estimated error of `scheme` relative to 1 + |u|, as in Eq. (9), or to `own_unit` + |u|."""
    setting = (family, scheme, noise, inputs, paths, generator)
    with torch.no_grad():
        bias = estimate_bias(*setting, replicates)
        values = replicated(*setting, replicates=2).value
    scale = (own_unit(values) if in_own_unit else 1.0) + values.abs()
    return Estimate(bias.value / scale, bias.error / scale)


def own_unit(values: Tensor) -> Tensor:
    """1, or where u varies by far less, ten of its deviations: prices in millions are prices, too.

    Each of several components has its own.  Shape: `(N, outputs)` → `(outputs,)`.

    Example:
        >>> own_unit(torch.tensor([1.0, 3.0])), own_unit(torch.tensor([1e-4, 3e-4]))
        (tensor(1.), tensor(0.0014))
    """
    return (10.0 * values.std(0)).clamp(torch.finfo(values.dtype).tiny, 1.0)


def pilot_bias(
    family: Family,
    scheme: Scheme,
    noise: Noise,
    inputs: Tensor,
    most_paths: int,
    seed: int,
    allowance: Allowance,
    in_own_unit: bool = False,
) -> Estimate | None:
    """`relative_bias` with as many paths as the allowance pays for; None if it pays for none.

    Shape: `(N, dim)` → `Estimate` of `(N, outputs)`.
    """

    def estimate(paths: int) -> Estimate:
        generator = make_generator(seed, "discretisation", device=str(inputs.device))
        setting = (family, scheme, noise, inputs, paths, generator)
        return relative_bias(*setting, in_own_unit=in_own_unit)

    if isfinite(allowance.seconds):
        clock, generator = Clock(), make_generator(seed, "trial", device=str(inputs.device))
        with torch.no_grad():
            for rows, draw in draws(family, scheme, noise, inputs, FEWEST_PATHS, generator):
                payoffs(family, scheme, inputs[rows], draw.z)
        if allowance.times(clock.spent()) < SIMULATIONS:
            return None
    return allowance.afford(estimate, FEWEST_PATHS, most_paths)


def refined(scheme: Scheme) -> Scheme:
    """The same scheme with twice the steps."""
    return scheme.with_steps(2 * scheme.steps)


def coarsened(z: Tensor, increments: int) -> Tensor:
    """Normals of half as many steps on the same path; of the rest every second one stays."""
    return torch.cat([of_fewer_steps(z[:increments], increments // 2), z[increments:][::2]])
