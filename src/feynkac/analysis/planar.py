r"""Where all directions are alike, a path of one step lies in a plane:

    E φ(S(x, z)) = E φ(S(|x|e₁, ζe₁ + χe₂)),    ζ normal,  χ² chi-squared with d − 1 degrees,

if turning x and z together leaves what a path earns as it is: z is its part along x and, in a
direction that does not matter, the length of the rest. Two Sobol' coordinates do in place of d.
"""

from dataclasses import dataclass

import torch
from scipy.special import gammainccinv, gammaincinv
from torch import Tensor

from feynkac.analysis.estimators import (
    NORMALS_AT_ONCE,
    PATHS_AT_ONCE,
    Estimator,
    Sample,
    Sums,
    spelled,
)
from feynkac.families.evaluating import equal, once_per_family
from feynkac.families.family import Family, noise_dim
from feynkac.families.symmetry import is_radial
from feynkac.sampling.labels import payoffs
from feynkac.sampling.noise.noise import Draw, Shape
from feynkac.sampling.noise.stretched import Stretched
from feynkac.sampling.path import label_normals, weak_order
from feynkac.sampling.schemes.scheme import Scheme

FEWEST_DIMENSIONS = 3  # in two, the plane is all there is
TRIALS, TRIAL_PATHS = 16, 8


@dataclass(frozen=True)
class Planar(Estimator):
    """Labels of a family for which `turns_with_noise`, from two coordinates of the noise."""

    @property
    def normals(self) -> int:
        """As many as are held in memory."""
        return noise_dim(self.family)

    @property
    def name(self) -> str:
        """Scheme and noise."""
        return f"{spelled(self)} in a plane"

    def sample(self, inputs: Tensor, paths: int, generator: torch.Generator) -> Sample:
        """One replicate."""
        dim = self.family.domain.state_dim
        ahead = inputs.clone()
        ahead[:, 1:dim] = 0.0
        ahead[:, :1] = inputs[:, :dim].norm(dim=-1, keepdim=True)
        assert isinstance(self.noise, Stretched)
        shape, sums = Shape(len(inputs), paths, 1, 2), Sums(self, ahead)
        most = max(64, min(PATHS_AT_ONCE, NORMALS_AT_ONCE // dim) // len(inputs))
        for draw in self.noise.blocks(shape, most, generator, inputs.dtype):
            z = _in_plane(draw.z, dim)
            earned = payoffs(self.family, self.scheme, ahead, z)[..., self.output]
            sums.add(Draw(z, draw.weights), earned, earned, torch.zeros_like(earned))
        return sums.sample()


def _in_plane(z: Tensor, dim: int) -> Tensor:
    """ζe₁ + χe₂ from two normals.  Shape: `(1, N, K, 2)` → `(1, N, K, d)`."""
    whole = z.new_zeros(*z.shape[:-1], dim)
    whole[..., 0], whole[..., 1] = z[..., 0], _chi(z[..., 1], dim - 1)
    return whole


def _chi(z: Tensor, degrees: int) -> Tensor:
    """The quantile of χ at Φ(z), from the nearer tail.

    Example:
        >>> _chi(torch.tensor([0.0], dtype=torch.float64), 1)  # the median of |normal|
        tensor([0.6745], dtype=torch.float64)
    """
    tail, half = torch.special.ndtr(-z.abs()).cpu().numpy(), 0.5 * degrees
    low, high = (torch.as_tensor(f(half, tail)).to(z) for f in (gammaincinv, gammainccinv))
    return (2.0 * torch.where(z < 0.0, low, high)).sqrt()


@once_per_family
def turns_with_noise(family: Family, scheme: Scheme) -> bool:
    """Whether paths take one exact step, and earn the same if x and z are turned together.

    Example:
        >>> from feynkac.families.models.heat_gaussian import HeatGaussian
        >>> from feynkac.families.models.rainbow import Rainbow
        >>> from feynkac.sampling.schemes.exact import Exact
        >>> turns_with_noise(HeatGaussian(), Exact()), turns_with_noise(Rainbow(), Exact())
        (True, False)
    """
    domain, dim = family.domain, family.domain.state_dim
    one_step = scheme.draws == 1 and weak_order(family, scheme) is None
    as_many = dim == noise_dim(family) == label_normals(family, scheme)
    if dim < FEWEST_DIMENSIONS or not (one_step and as_many and is_radial(family)):
        return False
    generator = torch.Generator().manual_seed(0)
    inputs = domain.sample(TRIALS, generator, torch.float64)
    size = (1, TRIALS, TRIAL_PATHS, dim)
    z = torch.randn(size, generator=generator, dtype=torch.float64)
    square = torch.randn(dim, dim, generator=generator, dtype=torch.float64)
    turn = torch.linalg.qr(square).Q
    turned = inputs.clone()
    turned[:, :dim] = inputs[:, :dim] @ turn.mT
    here, there = ((inputs, z), (turned, z @ turn.mT))
    return equal(payoffs(family, scheme, *here), payoffs(family, scheme, *there))
