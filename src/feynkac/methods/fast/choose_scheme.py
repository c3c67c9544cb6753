r"""Which scheme: one that suits the family, refined until its error seems small enough.

error(λ) ≈ (E Y_h − E Y_{h/2}) / (1 − 2^−order),   on coupled paths of two step sizes.
"""

import math
from math import isfinite

import torch

from feynkac.clock import Allowance
from feynkac.families.affine_linear import is_affine
from feynkac.families.capabilities import (
    Absorbing,
    ExactSampler,
    OwnSteps,
    Source,
    TimeDependent,
)
from feynkac.families.corners import corners
from feynkac.families.evaluating import once_per_family
from feynkac.families.family import Family, noise_dim
from feynkac.sampling.discretisation import FEWEST_PATHS, pilot_bias, refined
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import labels
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.path import ends_only, knows_time, label_normals, weak_order
from feynkac.sampling.reference import Estimate
from feynkac.sampling.rivals import steadier
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.extrapolated import Extrapolated
from feynkac.sampling.schemes.extrapolated_euler import ExtrapolatedEuler
from feynkac.sampling.schemes.extrapolated_flows import ExtrapolatedFlows
from feynkac.sampling.schemes.family_steps import FamilySteps
from feynkac.sampling.schemes.fields import noise_kind
from feynkac.sampling.schemes.gaussian import Gaussian, is_gaussian, vectors_of
from feynkac.sampling.schemes.geometric import Geometric, is_geometric
from feynkac.sampling.schemes.log_gaussian import LogGaussian, logarithms
from feynkac.sampling.schemes.log_ode import LogOde
from feynkac.sampling.schemes.ninomiya_victoir import NinomiyaVictoir
from feynkac.sampling.schemes.scheme import Scheme, require_free

FEW_FLOWS = 3  # dimensions in which flows by Runge–Kutta are affordable
WALLED_STEPS = 16  # to begin with: walls are seen at the steps alone
TRIAL_INPUTS, TRIAL_PATHS = 64, 16  # inside and at corners, to see whether paths stay finite
EXPLODED = 100.0  # times the largest label of more steps
FINER_STEPS = 3  # doublings, to see that: twice the steps may explode as well
FLOW_DOUBLINGS = 2  # 4 steps or 8: with more of them, those of Euler are cheaper
SMALL_BIAS = 8e-4  # of a scheme, root mean square relative to `own_unit` + |u|
PILOT_INPUTS = 32
PILOT_NORMALS, MOST_PILOT_PATHS = 2**21, 2**12  # of the estimate of that error
INPUT_NORMALS = 2**22  # of one input at most: memory
MOST_DOUBLINGS = 4


def choose_scheme(
    family: Family,
    allowance: Allowance = Allowance(),  # noqa: B008  (whole)
) -> Scheme:
    """A scheme that suits the family, its steps doubled until their error seems small enough.

    The pilot that decides may take seconds. Without an allowance it is made once per family.
    """
    return _chosen_scheme(family, allowance) if isfinite(allowance.left) else _remembered(family)


@once_per_family
def _remembered(family: Family) -> Scheme:
    return _chosen_scheme(family, Allowance())


def _chosen_scheme(family: Family, allowance: Allowance) -> Scheme:
    """Each refinement takes twice the time of the one before, so a third of what is left."""
    scheme = _steady(family, suitable_scheme(family))
    fewest = 2 if isinstance(scheme, Extrapolated) else 1
    for _ in range(MOST_DOUBLINGS if scheme.order != 1 else MOST_DOUBLINGS // 2):
        if not allowance.left or _bias(family, scheme, allowance.share(1 / 3)) < SMALL_BIAS:
            break
        scheme = refined(scheme)
    while isinstance(scheme, NinomiyaVictoir | Extrapolated) and scheme.steps >= 2 * fewest:
        fewer = scheme.with_steps(scheme.steps // 2)
        small = _certainly_small(family, fewer, allowance.share(1 / 3))
        if not small or not _is_steady(family, fewer):
            break
        scheme = fewer
    return scheme


def _steady(family: Family, scheme: Scheme, doublings: int = MOST_DOUBLINGS) -> Scheme:
    """`scheme` with so many steps that paths from the corners do not explode, if that helps."""
    finer = scheme
    for _ in range(doublings if scheme.order else 0):
        if _is_steady(family, finer):
            return finer
        finer = refined(finer)
    return scheme


def _is_steady(family: Family, scheme: Scheme) -> bool:
    """Whether labels are finite, and not far beyond those of 2, 4 and 8 times the steps.

    Few paths that explode by their steps alone look like noise where errors are estimated.
    """
    largest, finer = _largest(family, scheme), scheme
    for _ in range(FINER_STEPS if isfinite(largest) else 0):
        finer = refined(finer)
        if not largest <= EXPLODED * _largest(family, finer):
            return False
    return isfinite(largest)


def suitable_scheme(family: Family) -> Scheme:
    """Its own, or exact sampling, or flows where they are few, or extrapolated Euler–Maruyama.

    Flows by Runge–Kutta take many evaluations of the coefficients, but stay where these are
    defined: where Euler's steps do not, and flows are few, they are taken. Through a square root
    that reaches zero Euler's steps are the better ones.
    """
    if isinstance(family, OwnSteps):
        return FamilySteps(steps=1 if weak_order(family, FamilySteps()) is None else 4)
    if isinstance(family, ExactSampler) and not isinstance(family, TimeDependent):
        return Exact()
    require_free(family)
    if is_affine(family):
        return LogOde(steps=2)
    if (ends_only(family) or knows_time(family, Gaussian())) and is_gaussian(family):
        return Gaussian(vectors=vectors_of(family))
    if is_geometric(family) and not isinstance(family, Absorbing | Source):
        return Geometric(steps=1 if weak_order(family, Geometric()) is None else 4)
    if (ends_only(family) or knows_time(family, LogGaussian())) and logarithms(family):
        return LogGaussian(vectors=vectors_of(family))
    noise = noise_kind(family)
    quick: Scheme = ExtrapolatedEuler(steps=16)
    flows: Scheme = NinomiyaVictoir(steps=4, noise=noise)
    if isinstance(family, Absorbing):
        quick, flows = EulerMaruyama(steps=WALLED_STEPS), flows.with_steps(WALLED_STEPS)
    elif noise in ("additive", "diagonal"):
        flows = ExtrapolatedFlows(steps=4, noise=noise)
    if noise == "additive":
        return flows
    if noise == "diagonal":
        if not _is_steady(family, quick):
            flows = _steady(family, flows, FLOW_DOUBLINGS)
        lost = not _stays_finite(family, flows) and _stays_finite(family, quick)
        return quick if lost else steadier(family, flows, quick)
    return quick if noise_dim(family) > FEW_FLOWS or _stays_finite(family, quick) else flows


def _stays_finite(family: Family, scheme: Scheme) -> bool:
    """Whether labels are finite, also those that start at corners of the domain."""
    return isfinite(_largest(family, scheme))


def _largest(family: Family, scheme: Scheme) -> float:
    """Of all labels from some inputs and corners; NaN or infinite if any is."""
    generator = make_generator(0, "finite")
    edge = corners(family.domain, generator, TRIAL_INPUTS)
    inputs = torch.cat([family.domain.sample(TRIAL_INPUTS, generator), edge])
    with torch.no_grad():
        found = labels(family, scheme, inputs, generator, TRIAL_PATHS)
    return float(found.abs().max())


def _bias(family: Family, scheme: Scheme, allowance: Allowance) -> float:
    """Root mean square of the scheme's relative error; 0 if noise may explain it all,
    or if there is no time to find out."""
    found = _estimated(family, scheme, allowance)
    return 0.0 if found is None else _significant(found)


def _certainly_small(family: Family, scheme: Scheme, allowance: Allowance) -> bool:
    """Whether the scheme's error is small, its noise included; False if nobody knows."""
    found = _estimated(family, scheme, allowance)
    if found is None:
        return False
    return float((found.value.square() + found.error.square()).mean().sqrt()) < 0.5 * SMALL_BIAS


def _estimated(family: Family, scheme: Scheme, allowance: Allowance) -> Estimate | None:
    """The scheme's error relative to `own_unit` + |u| at some inputs; None if there is no time."""
    if weak_order(family, scheme) is None:
        return None
    normals = scheme.draws * label_normals(family, scheme)
    fewest = max(FEWEST_PATHS, min(256, INPUT_NORMALS // normals))
    most = min(MOST_PILOT_PATHS, max(fewest, PILOT_NORMALS // (PILOT_INPUTS * normals)))
    points = family.domain.sample(PILOT_INPUTS, make_generator(0, "steps"))
    return pilot_bias(family, scheme, Sobol(), points, most, 0, allowance, in_own_unit=True)


def _significant(found: Estimate) -> float:
    """Root mean square of what was estimated, the noise's share taken off; 0 if that is all."""
    variance = found.error.square()
    square = found.value.square() - variance
    noise = (4.0 * square.clamp_min(0.0) + 2.0 * variance) * variance
    mean, error = float(square.mean()), float(noise.sum().sqrt()) / square.numel()
    return math.sqrt(mean) if mean > 2.0 * error else 0.0
