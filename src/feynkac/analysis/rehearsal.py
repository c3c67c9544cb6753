"""A rehearsal of training: a few hundred paths, most of them from the corners of the domain.

What overflows or turns into NaN there would do so in training, sooner or later. And an initial
condition that jumps without saying so would be fitted to slopes that are wrong.
"""

import torch
from torch import Tensor

from feynkac.analysis.checkup.discontinuity import largest_jump, segments
from feynkac.errors import InputError
from feynkac.families.conformance import corners
from feynkac.families.family import Family, jumps, noise_dim
from feynkac.families.origin import Origin
from feynkac.families.point import describe
from feynkac.sampling.labels import payoffs
from feynkac.sampling.noise.noise import make_generator, normals
from feynkac.sampling.schemes.scheme import Scheme

CORNERS, PATHS = 64, 8


def rehearse(family: Family, scheme: Scheme) -> None:
    """Raise `InputError` if training with `scheme` would make no sense.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> from feynkac.sampling.schemes.exact import Exact
        >>> rehearse(BlackScholes(), Exact())
    """
    check_paths(family, scheme)
    check_jumps(family, scheme)


def check_jumps(family: Family, scheme: Scheme) -> None:
    """Raise `InputError` if φ jumps and the family does not say so."""
    if jumps(family):
        return
    if jump := largest_jump(family.initial, *segments(family, scheme)):
        raise InputError(
            f"{type(family).__name__}.initial jumps by {100 * jump:.3g} % of its range, "
            "undeclared, so that slopes of labels would be wrong; add Jumps to the base classes."
        )


def check_paths(family: Family, scheme: Scheme) -> None:
    """Raise `InputError` if paths of `scheme` do not stay finite."""
    generator = make_generator(0, "rehearsal")
    domain = family.domain
    inputs = torch.cat([corners(domain, generator, CORNERS), domain.sample(CORNERS, generator)])
    z = normals(scheme.draws, (len(inputs), PATHS), noise_dim(family), generator)
    with torch.no_grad():
        bad = ~payoffs(family, scheme, inputs, z).isfinite().all(-1)
    if not bad.any():
        return
    row, path = bad.nonzero()[-1].tolist()  # not from a corner, if there is a choice
    start = inputs[row : row + 1]
    why = _origin(family, scheme, start, z[:, row : row + 1, path : path + 1])
    raise InputError(
        f"{type(family).__name__} cannot be simulated: {int(bad.sum())} of {bad.numel()} paths are "
        f"not finite, one from {describe(domain.split(start[0]))}{why}; keep the formulas finite "
        "wherever paths go (clamp_min(0.0) under a square root), or take more steps (--scheme)."
    )


def _origin(family: Family, scheme: Scheme, inputs: Tensor, z: Tensor) -> str:
    with torch.no_grad(), Origin() as origin:
        payoffs(family, scheme, inputs, z)
    met = origin.sentence or "a derivative that is not finite, as that of a square root at zero"
    return f", which met {met}"
