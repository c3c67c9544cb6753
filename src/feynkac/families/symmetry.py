r"""Whether the coordinates of a family may change places, found out by evaluating its formulas:

    μ(πx) = πμ(x),   σσ*(πx) = π σσ*(x) π*,   φ, c and f the same,

at a few random points, for a random permutation π of the coordinates and of the parameters that
belong to them. Users write formulas for many assets and need not know.
"""

import torch
from torch import Tensor

from feynkac.families.capabilities import (
    Absorbing,
    Coupled,
    Discount,
    ExactSampler,
    OwnSteps,
    Reflected,
    Source,
)
from feynkac.families.evaluating import equal
from feynkac.families.family import Family, noise_dim, timed
from feynkac.families.measures.box import Box
from feynkac.families.measures.log_uniform import LogUniform

TRIALS = 4


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
    (drift, spread, *others), (drift_t, spread_t, *others_t) = (
        _formulas(family, values) for values in (inputs, turned)
    )
    pairs = [(drift[:, turn], drift_t), (spread[:, turn][:, :, turn], spread_t)]
    return all(equal(a, b) for a, b in [*pairs, *zip(others, others_t, strict=True)])


def _formulas(family: Family, inputs: Tensor) -> list[Tensor]:
    """μ, σσ*, φ, and c and f if there are such."""
    x, t, p = family.domain.split(inputs)
    p = timed(family, p, t)
    units = torch.eye(noise_dim(family), dtype=x.dtype).unsqueeze(1).expand(-1, len(x), -1)
    columns = family.diffusion(x.expand(len(units), -1, -1), units, p)
    spread = torch.einsum("mni,mnj->nij", columns, columns)
    found = [family.drift(x, p), spread, family.initial(x, p)]
    if isinstance(family, Discount):
        found.append(family.discount(x, p))
    if isinstance(family, Source):
        found.append(family.source(x, p))
    return found
