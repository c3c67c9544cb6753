r"""Whether the coordinates of a family may change places, or space be turned:

    μ(πx) = πμ(x),   σσ*(πx) = π σσ*(x) π*,   φ, c, f and g the same,

found out by evaluating the formulas at a few random points, for a random permutation π of the
coordinates and of the parameters that belong to them, or a random rotation. Users write formulas
for many assets, or for |x|, and need not know.
"""

import torch
from torch import Tensor

from feynkac.families.capabilities import (
    Absorbing,
    BoundaryValue,
    ConstantDiscount,
    Coupled,
    Discount,
    ExactSampler,
    OwnSteps,
    Reflected,
    Source,
)
from feynkac.families.evaluating import equal, once_per_family
from feynkac.families.family import Family, noise_dim, on_the_way, timed
from feynkac.families.levels import has_levels, with_levels
from feynkac.families.measures.box import Box
from feynkac.families.measures.log_uniform import LogUniform

TRIALS, TURNED_TRIALS = 4, 32
REACH = (0.1, 1.0, 10.0)  # how far out directions are compared


def exchangeable_variables(family: Family) -> tuple[str, ...]:
    """The state, with the parameters that have an entry per coordinate; none if that is not so.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> exchangeable_variables(BlackScholes())
        ()
    """
    domain = family.domain
    special = (Absorbing, Coupled, ExactSampler, OwnSteps, Reflected)
    if domain.state_dim < 2 or domain.sampler or isinstance(family, special):
        return ()
    shape = domain.measures["x"].shape
    alike = [name for name, law in domain.measures.items() if law.shape == shape and _even(law)]
    for names in dict.fromkeys((tuple(alike), ("x",))):
        if "x" in names and _symmetric(family, names):
            return ("x", *(name for name in names if name != "x"))
    return ()


@once_per_family
def is_radial(family: Family) -> bool:
    """Whether u is the same in all directions of x, which has two dimensions or more.

    Example:
        >>> from feynkac.families.models.heat_gaussian import HeatGaussian
        >>> from feynkac.families.models.rainbow import Rainbow
        >>> is_radial(HeatGaussian(dim=3)), is_radial(Rainbow())
        (True, False)
    """
    domain, generator = family.domain, torch.Generator().manual_seed(0)
    if domain.state_dim < 2 or domain.exchanged or isinstance(family, Reflected):
        return False
    if not bool(domain.varies[: domain.state_dim].all()):
        return False
    inputs = domain.sample(TURNED_TRIALS * len(REACH), generator, torch.float64)
    factors = torch.tensor(REACH, dtype=torch.float64).repeat(TURNED_TRIALS)
    inputs[:, : domain.state_dim] *= factors[:, None]
    size = (domain.state_dim, domain.state_dim)
    turn = torch.linalg.qr(torch.randn(size, generator=generator, dtype=torch.float64)).Q
    turned = inputs.clone()
    turned[:, : domain.state_dim] = inputs[:, : domain.state_dim] @ turn.mT
    v = torch.randn(len(inputs), domain.state_dim, generator=generator, dtype=torch.float64)
    (drift, start, *others), (drift_t, *others_t) = (
        [*_formulas(family, values, way), *_levels(family, values)]
        for values, way in ((inputs, v), (turned, v @ turn.mT))
    )
    if not _seen_to_vary(family, start):
        return False
    pairs = zip((drift @ turn.mT, start, *others), (drift_t, *others_t), strict=True)
    return all(equal(a, b) for a, b in pairs)


def _seen_to_vary(family: Family, start: Tensor) -> bool:
    """Whether φ does, or else what paths lose or earn on their way; 0 cannot be lost."""
    varying = isinstance(family, Discount) and not isinstance(family, ConstantDiscount)
    lost = (varying or isinstance(family, Absorbing)) and bool(start.any())
    earned = isinstance(family, Source | BoundaryValue)
    return lost or earned or not bool((start == start[:1]).all())


def _levels(family: Family, inputs: Tensor) -> list[Tensor]:
    """Where φ jumps, which its values at a few points may not show."""
    x, t, p = family.domain.split(inputs)
    return [with_levels(family, x, timed(family, p, t))[1]] if has_levels(family) else []


def _even(law: object) -> bool:
    """Whether all entries have one law, which is uniform, or uniform in the logarithm."""
    if not isinstance(law, Box | LogUniform):
        return False
    return len(set(law.low)) == len(set(law.high)) == 1 and law.low < law.high


def _symmetric(family: Family, names: tuple[str, ...]) -> bool:
    domain, generator = family.domain, torch.Generator().manual_seed(0)
    inputs = domain.sample(TRIALS, generator, torch.float64)
    turn = torch.randperm(domain.state_dim, generator=generator)
    turned = inputs.clone()
    for name in names:
        where = domain.slices()[name]
        turned[:, where] = inputs[:, where][:, turn]
    v = torch.randn(len(inputs), domain.state_dim, generator=generator, dtype=torch.float64)
    (drift, *others), (drift_t, *others_t) = (
        _formulas(family, values, way) for values, way in ((inputs, v), (turned, v[:, turn]))
    )
    pairs = zip((drift[:, turn], *others), (drift_t, *others_t), strict=True)
    return all(equal(a, b) for a, b in pairs)


def _formulas(family: Family, inputs: Tensor, v: Tensor) -> list[Tensor]:
    """μ, φ, |σ*v|², and c, f, the distances to walls and g if there are such.

    Random v `(N, d)` tell as much as the matrix σσ*, which is large in many dimensions.
    """
    x, t, p = family.domain.split(inputs)
    p = on_the_way(family, p, t)
    still = x.new_zeros(len(x), noise_dim(family))
    transposed = torch.func.vjp(lambda dw: family.diffusion(x, dw, p).expand_as(x), still)[1]
    spread = transposed(v)[0].square().sum(-1, keepdim=True)
    found = [family.drift(x, p), family.initial(x, p), spread]
    if isinstance(family, Discount):
        found.append(family.discount(x, p))
    if isinstance(family, Source):
        found.append(family.source(x, p))
    if isinstance(family, Absorbing):
        found.append(family.distance(x, p))
    if isinstance(family, BoundaryValue):
        found.append(family.boundary_value(x, p))
    return found
