"""Where the normals of a path come from."""

from feynkac.sampling.noise.lines import ParallelLines, Rays
from feynkac.sampling.noise.noise import Antithetic, Independent, Noise
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.noise.spherical import SphericalRadial
from feynkac.sampling.noise.stretched import Stretched
from feynkac.sampling.noise.trapezoid import Trapezoid

__all__ = [
    "Antithetic",
    "Independent",
    "Noise",
    "ParallelLines",
    "Rays",
    "Sobol",
    "SphericalRadial",
    "Stretched",
    "Trapezoid",
]
