"""Which kinds of noise are worth a try for labels of one family with one scheme."""

from feynkac.sampling.noise.noise import Antithetic, Noise
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.noise.spherical import SphericalRadial
from feynkac.sampling.noise.stretched import Stretched
from feynkac.sampling.noise.trapezoid import Trapezoid

MOST_CUBATURE_PATHS = 2**7


def candidate_noises(normals: int, integrated: bool) -> list[Noise]:
    """The kinds of noise that suit paths with this many normals.

    Args:
        normals: that the label of a path depends on.
        integrated: whether the rest of its noise is integrated in closed form; if one normal is
            left, the label is then a smooth function of it.

    Example:
        >>> [noise.kind for noise in candidate_noises(1, integrated=True)]
        ['antithetic', 'sobol', 'spherical-radial', 'trapezoid']
    """
    found: list[Noise] = [Antithetic(), Sobol()]
    if 2 * normals + 1 <= MOST_CUBATURE_PATHS:
        found.append(SphericalRadial())
    found.append(Trapezoid() if normals == 1 and integrated else Stretched())
    return found
