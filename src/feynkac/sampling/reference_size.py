r"""What a simulated reference takes: which noise, how many inputs and paths.

    standard error of u(λ)  =  deviation of one replicate's mean / √R,    R = 16 replicates.

The noise is the one that a pilot finds quietest, whatever a network was trained with. The size is
fixed (so that a seed gives the same figures on every machine), or follows from timing small pieces.
"""

import math
import time
from typing import NamedTuple

import torch

from feynkac.families.evaluating import once_per_family
from feynkac.families.family import Family
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.candidates import candidate_noises
from feynkac.sampling.noise.noise import Antithetic, Noise
from feynkac.sampling.noise.trapezoid import Trapezoid
from feynkac.sampling.path import integrates_noise, label_normals
from feynkac.sampling.reference import replicated
from feynkac.sampling.schemes.scheme import Scheme

REPLICATES = 16
NORMALS = 2**27  # of all paths, if the size is fixed
LEAST_NORMALS = 16  # what a path costs, however few it has
FEWEST_PATHS, MOST_PATHS = 2**4, 2**11  # of one replicate
FEWEST_INPUTS, MOST_INPUTS = 2**5, 2**10
PATHS_PER_INPUT = 2  # ratio of paths to inputs
TRAPEZOID_NODES = 2**6  # more than the rule needs
PILOT_INPUTS, PILOT_PATHS = 16, 2**8
MANY = 0.9  # of the inputs
TRIAL, LONG_TRIAL = 0.02, 0.1  # shares of the seconds: enough to be timed well; the most
RESERVE = 0.8  # share of what is left that is spent
COMPILED = 0.25  # share of the seconds that is spent even if compiling took longer


class ReferenceSize(NamedTuple):
    """Inputs, and paths of one replicate."""

    inputs: int
    paths: int


@once_per_family
def quietest_noise(family: Family, scheme: Scheme, device: str = "cpu") -> Noise:
    """The noise whose means of about `PILOT_PATHS` paths vary least, measured on 16 inputs.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> from feynkac.sampling.schemes.exact import Exact
        >>> quietest_noise(BlackScholes(), Exact()).kind
        'stretched'
    """

    def typical(noise: Noise) -> tuple[float, float, bool]:
        """At nine of ten inputs less than there: a scheme that overshoots at a few must not decide.

        Of two that are equally quiet, antithetic pairs come last.
        """
        generator = make_generator(0, "pilot of the reference", device=device)
        points = family.domain.sample(PILOT_INPUTS, generator)
        paths = paths_of(noise, PILOT_PATHS)
        with torch.no_grad():
            found = replicated(family, scheme, noise, points, paths, generator, 8)
        error = found.error / (1.0 + found.value.abs())
        return float(error.quantile(MANY)), float(error.mean()), isinstance(noise, Antithetic)

    normals = scheme.draws * label_normals(family, scheme)
    return min(candidate_noises(normals, integrates_noise(family, scheme)), key=typical)


def paths_of(noise: Noise, paths: int) -> int:
    """How many paths one replicate takes; the trapezoidal rule needs few."""
    return min(paths, TRAPEZOID_NODES) if isinstance(noise, Trapezoid) else paths


def fixed_size(family: Family, scheme: Scheme) -> ReferenceSize:
    """A size that depends on the number of normals per path alone.

    Example:
        >>> from feynkac.families.models.basket_put import BasketPut
        >>> from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
        >>> few, many = (fixed_size(BasketPut(), EulerMaruyama(steps)) for steps in (1, 25))
        >>> many.inputs < few.inputs, many.paths < few.paths
        (True, True)
    """
    normals = max(LEAST_NORMALS, scheme.draws * label_normals(family, scheme))
    return _divided(NORMALS / (REPLICATES * normals), MOST_PATHS)


def timed_size(
    family: Family, scheme: Scheme, noise: Noise, seconds: float, generator: torch.Generator
) -> ReferenceSize:
    """As much as fits into about `seconds`, by timing a few paths.

    32 inputs with 16 paths per replicate are the least.
    """
    start = time.perf_counter()
    cost = _cost(family, scheme, noise, seconds, str(generator.device))
    left = max(seconds - (time.perf_counter() - start), COMPILED * seconds)
    total = RESERVE * left / (cost * REPLICATES)
    return _divided(total, paths_of(noise, MOST_PATHS))


def _divided(total: float, most: int) -> ReferenceSize:
    """`total` paths divided among inputs, to see all corners, and paths, to make values sharp."""
    inputs = _power(math.sqrt(total / PATHS_PER_INPUT), FEWEST_INPUTS, MOST_INPUTS)
    return ReferenceSize(inputs, _power(total / inputs, FEWEST_PATHS, most))


def _cost(family: Family, scheme: Scheme, noise: Noise, seconds: float, device: str) -> float:
    """Seconds of a path, from trials that grow while many paths take hardly longer than few."""
    generator = make_generator(0, "trial of the reference", device=device)
    points = family.domain.sample(PILOT_INPUTS, generator)

    def time_paths(paths: int) -> float:
        start = time.perf_counter()
        with torch.no_grad():
            replicated(family, scheme, noise, points, paths, generator, replicates=2)
        return time.perf_counter() - start

    paths, most, before = FEWEST_PATHS, paths_of(noise, MOST_PATHS), math.inf
    while True:
        time_paths(paths)  # may compile
        taken = time_paths(paths)
        cost = taken / (2 * PILOT_INPUTS * paths)
        enough = taken >= TRIAL * seconds and cost > before / 2
        if enough or taken >= LONG_TRIAL * seconds or paths >= most:
            return cost
        paths, before = min(most, 4 * paths), cost


def _power(number: float, least: int, most: int) -> int:
    """The power of two below, within bounds."""
    below = int(2.0 ** math.floor(math.log2(max(1.0, number))))
    return min(most, max(least, below))
