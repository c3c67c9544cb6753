r"""The fast method: smooth networks fitted to means and slopes of many paths per input.

With few inputs, Gauss–Newton steps in the space of the samples; with many, Muon. The border is
where all slopes of a batch of useful size no longer fit into one linear system.
"""

import functools
import math
from math import isfinite

import torch
from torch import Tensor

from feynkac.clock import Allowance, Clock
from feynkac.families.affine_linear import AffineLinear
from feynkac.families.family import ExactSampler, Family, OwnSteps, TimeDependent, jumps, noise_dim
from feynkac.methods.setup import Setup
from feynkac.networks.smooth import Smooth
from feynkac.sampling.discretisation import pilot_bias, refined
from feynkac.sampling.labels import differential_labels, draw_paths
from feynkac.sampling.noise.noise import Antithetic, Noise, make_generator
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.noise.spherical import SphericalRadial
from feynkac.sampling.noise.trapezoid import Trapezoid
from feynkac.sampling.path import integrates_noise, label_normals, weak_order
from feynkac.sampling.reference import Estimate
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.family_steps import FamilySteps
from feynkac.sampling.schemes.fields import noise_kind
from feynkac.sampling.schemes.log_ode import LogOde
from feynkac.sampling.schemes.ninomiya_victoir import NinomiyaVictoir
from feynkac.sampling.schemes.scheme import Scheme
from feynkac.training.optimisers.gauss_newton import GaussNewton
from feynkac.training.optimisers.muon import Muon
from feynkac.training.schedules import LinearDecay

FEW_INPUTS = 12
FEW_FLOWS = 3  # dimensions in which flows by Runge–Kutta are affordable
ROWS = 500  # values and slopes in one Gauss–Newton system
SMALL_BIAS = 8e-4  # of a scheme, root mean square relative to 1 + |u|
PILOT_NORMALS, MOST_PILOT_PATHS = 2**21, 2**12  # of the estimate of that error
MOST_DOUBLINGS = 4
SCHEME_SHARE = 0.6  # of the pilots' time; the rest is for the noise
PILOT_INPUTS = 16  # of the estimate of the labels' variance
NORMALS = 2048  # drawn for one input, if there are many inputs
MOST_CUBATURE_PATHS = 128
QUIET, FEWEST = 1e-5, 16  # relative variance of labels without noise to speak of; nodes


def fast_setup(
    family: Family,
    scheme: Scheme | None = None,
    allowance: Allowance = Allowance(),  # noqa: B008  (whole)
) -> Setup:
    """Sizes from the number of inputs; scheme and noise from pilots, small trial simulations.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> fast_setup(BlackScholes()).optimiser.kind
        'gauss-newton'
    """
    inputs = family.domain.dim
    chosen = scheme or default_scheme(family, allowance.share(SCHEME_SHARE))
    chosen.check(family)
    few = inputs <= FEW_INPUTS
    paths = 512 if few else _affordable_paths(chosen.draws * label_normals(family, chosen))
    noise = choose_noise(family, chosen, paths, allowance)
    if isinstance(noise, Trapezoid):
        paths = _enough_nodes(family, chosen, paths, allowance)
    if few:
        return Setup(
            architecture=Smooth(width=64, depth=3, products=32),
            scheme=chosen,
            noise=noise,
            optimiser=GaussNewton(),
            schedule=LinearDecay(warmup=10, hold=0.1),
            batch_size=max(32, ROWS // (1 if jumps(family) else 1 + inputs)),
            paths=paths,
            steps=1000,
            balance=True,
        )
    width = min(512, max(128, 64 * -(-2 * inputs // 64)))
    return Setup(
        architecture=Smooth(width=width, depth=2, products=width // 2),
        scheme=chosen,
        noise=noise,
        optimiser=Muon(),
        schedule=LinearDecay(warmup=30, hold=0.0),
        batch_size=256,
        paths=paths,
        steps=5000,
        balance=True,
    )


def _affordable_paths(normals: int) -> int:
    """A power of two from 16 to 128, so that an input costs about `NORMALS` normals."""
    return int(min(128, max(16, 2 ** round(math.log2(NORMALS / normals)))))


def default_scheme(
    family: Family,
    allowance: Allowance = Allowance(),  # noqa: B008  (whole)
) -> Scheme:
    """A scheme that suits the family, its steps doubled until their error seems small enough.

    The pilot that decides may take seconds. Without an allowance it is made once per family.
    """
    try:
        hash(family)
    except TypeError:  # a list among its fields
        return _chosen_scheme(family, allowance)
    return _chosen_scheme(family, allowance) if isfinite(allowance.left) else _remembered(family)


@functools.lru_cache(maxsize=64)
def _remembered(family: Family) -> Scheme:
    return _chosen_scheme(family, Allowance())


def _chosen_scheme(family: Family, allowance: Allowance) -> Scheme:
    """Each refinement takes twice the time of the one before, so a third of what is left."""
    scheme = suitable_scheme(family)
    for _ in range(MOST_DOUBLINGS if scheme.order != 1 else MOST_DOUBLINGS // 2):
        if not allowance.left or _bias(family, scheme, allowance.share(1 / 3)) < SMALL_BIAS:
            break
        scheme = refined(scheme)
    return scheme


def suitable_scheme(family: Family) -> Scheme:
    """Its own, or exact sampling, or weak order 2 where flows are cheap, or Euler–Maruyama."""
    if isinstance(family, OwnSteps):
        return FamilySteps(steps=1 if weak_order(family, FamilySteps()) is None else 4)
    if isinstance(family, ExactSampler) and not isinstance(family, TimeDependent):
        return Exact()
    if isinstance(family, AffineLinear):
        return LogOde(steps=2)
    noise = noise_kind(family)
    if noise in ("diagonal", "additive") or noise_dim(family) <= FEW_FLOWS:
        return NinomiyaVictoir(steps=4, noise=noise)
    return EulerMaruyama(steps=25)


def _bias(family: Family, scheme: Scheme, allowance: Allowance, inputs: int = 32) -> float:
    """Root mean square of the scheme's error relative to 1 + |u|; 0 if noise may explain it all,
    or if there is no time to find out."""
    if weak_order(family, scheme) is None:
        return 0.0
    normals = inputs * scheme.draws * label_normals(family, scheme)
    most = min(MOST_PILOT_PATHS, max(256, PILOT_NORMALS // normals))

    points = family.domain.sample(inputs, make_generator(0, "steps"))
    found = pilot_bias(family, scheme, Sobol(), points, most, 0, allowance)
    return 0.0 if found is None else _significant(found)


def _significant(found: Estimate) -> float:
    """Root mean square of what was estimated, the noise's share taken off; 0 if that is all."""
    variance = found.error.square()
    square = found.value.square() - variance
    noise = (4.0 * square.clamp_min(0.0) + 2.0 * variance) * variance
    mean, error = float(square.mean()), float(noise.sum().sqrt()) / square.numel()
    return math.sqrt(mean) if mean > 2.0 * error else 0.0


def choose_noise(
    family: Family,
    scheme: Scheme,
    paths: int = 64,
    allowance: Allowance = Allowance(),  # noqa: B008  (whole)
) -> Noise:
    """The noise whose labels of about `paths` paths vary least, measured on 16 inputs.

    At the median input: a scheme that overshoots at a few of them must not decide. On fewer inputs
    where time is short, and without a measurement where there is none.
    """
    normals = scheme.draws * label_normals(family, scheme)
    candidates: list[Noise] = [Antithetic(), Sobol()]
    if 2 * normals + 1 <= MOST_CUBATURE_PATHS:
        candidates.append(SphericalRadial())
    one = normals == 1 and integrates_noise(family, scheme)
    if one:
        candidates.append(Trapezoid())
    inputs = _pilot_inputs(family, scheme, paths, allowance, len(candidates))

    def typical(noise: Noise) -> float:
        return float(_variances(family, scheme, noise, paths, inputs).median(0).values.mean())

    if not inputs:
        return Trapezoid() if one else Sobol()
    return min(candidates, key=typical)


def _pilot_inputs(
    family: Family, scheme: Scheme, paths: int, allowance: Allowance, pilots: int
) -> int:
    """How many of 16 inputs so many pilots can afford."""
    if not isfinite(allowance.left):
        return PILOT_INPUTS
    clock = Clock()
    _variances(family, scheme, Sobol(), paths, inputs=2)
    return min(PILOT_INPUTS, 2 * (allowance.times(clock.spent()) // pilots))


def _enough_nodes(family: Family, scheme: Scheme, most: int, allowance: Allowance) -> int:
    """So many that the trapezoidal rule's labels have no noise to speak of."""
    nodes = FEWEST
    while nodes < most and _variances(family, scheme, Trapezoid(), nodes).mean() > QUIET:
        nodes = 2 * nodes if allowance.left else most
    return nodes


def _variances(
    family: Family,
    scheme: Scheme,
    noise: Noise,
    paths: int,
    inputs: int = PILOT_INPUTS,
    repeats: int = 8,
) -> Tensor:
    """Of a label and its slopes, relative to their mean variance over the inputs.

    Shape: `(inputs, 1 + dim)`, or `(inputs, 1)` where slopes are not used.
    """
    generator = make_generator(0, "pilot")
    domain = family.domain
    points = domain.sample(inputs, generator).repeat_interleave(repeats, 0)
    draw = draw_paths(family, scheme, noise, points, paths, generator)
    values, slopes = differential_labels(family, scheme, points, draw)
    both = torch.cat([values, slopes * domain.std.to(slopes)], dim=-1)
    labels = (values if jumps(family) else both).unflatten(0, (inputs, repeats))  # type: ignore[no-untyped-call]
    scale = labels.mean(1).var(0).mean().clamp_min(torch.finfo(labels.dtype).tiny)
    variances: Tensor = labels.var(1) / scale
    return variances
