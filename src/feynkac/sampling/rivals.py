r"""Which of two schemes? The first, unless the other disagrees by more than its own error:

    ‖Y_2n − X_2m‖ ≤ ½ ‖X_m − X_2m‖,     ‖·‖ the root mean square over λ, relative to s + |u|,

Y labels of the first with n steps, X of the other with m, all on the same Brownian paths; s is 1,
or less where u is small (`own_unit`).

Schemes made of flows are usually far better than Euler's, but not where a coefficient has a square
root that reaches zero: their flows are not defined there, or converge slowly.
"""

import math

import torch
from torch import Tensor

from feynkac.families.family import Family
from feynkac.sampling.discretisation import own_unit, refined
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import draws, mean_labels
from feynkac.sampling.noise.noise import Draw, of_fewer_steps
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.schemes.scheme import Scheme

PILOT_INPUTS, REPLICATES, PILOT_PATHS = 16, 4, 128
ALIKE = 5e-4  # root mean square of a relative difference that does not matter
SIGNIFICANT = 3.0  # times its noise: a difference that is there


def steadier(family: Family, first: Scheme, other: Scheme) -> Scheme:
    """`first`, unless its labels are not those of `other`, whose error is too small for that.

    Both take one vector of normals per step, and the steps of `other` are a multiple.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> from feynkac.sampling.schemes import ExtrapolatedEuler, NinomiyaVictoir
        >>> flows = NinomiyaVictoir(steps=4, noise="diagonal")
        >>> steadier(BlackScholes(), flows, ExtrapolatedEuler(steps=16)) == flows
        True
    """
    generator = make_generator(0, "rivals")
    inputs = family.domain.sample(PILOT_INPUTS, generator).repeat_interleave(REPLICATES, 0)
    fine = refined(other)
    schemes = (fine, refined(first), other)
    found = [
        [
            mean_labels(family, scheme, inputs[rows], _coupled(draw, scheme, fine))
            for scheme in schemes
        ]
        for rows, draw in draws(family, fine, Sobol(), inputs, PILOT_PATHS, generator)
    ]
    rival, refinement, coarse = (torch.cat(same) for same in zip(*found, strict=True))
    gap, noise = _apart(refinement, rival)
    change, _ = _apart(coarse, rival)
    return other if gap > max(ALIKE, 0.5 * change, SIGNIFICANT * noise) else first


def _coupled(draw: Draw, scheme: Scheme, fine: Scheme) -> Draw:
    """The normals of `fine` for a scheme of fewer steps."""
    if scheme.steps >= fine.steps:
        return draw
    return draw._replace(z=of_fewer_steps(draw.z, scheme.steps))


def _apart(one: Tensor, other: Tensor) -> tuple[float, float]:
    """Root mean square of the relative difference, without that of its noise, and this.

    The difference is infinite if any label is not finite.
    """
    gaps = ((one - other) / (own_unit(other) + other.abs())).unflatten(0, (-1, REPLICATES))  # type: ignore[no-untyped-call]
    noise = float((gaps.var(1) / REPLICATES).mean())
    square = float(gaps.mean(1).square().mean()) - noise
    if not math.isfinite(square):
        return math.inf, 0.0
    return math.sqrt(max(0.0, square)), math.sqrt(noise)
