r"""Stochastic spherical-radial cubature of degree 3 (Genz and Monahan, 1998):

    E f(Z) ≈ (1 − D/ρ²) f(0) + Σ_j [f(ρ q_j) + f(−ρ q_j)] / (2ρ²),    ρ ~ χ(D + 2),

with q_1 … q_D a random orthonormal basis. Unbiased for every f, and without any error for
polynomials of degree 3: where the payoff of a path is close to such a polynomial in its normals,
labels have almost no noise. It takes 2D + 1 paths, D the number of normals of one path.
"""

from typing import ClassVar

import torch
from pydantic.dataclasses import dataclass
from torch import Tensor

from feynkac.sampling.noise.noise import Draw, Noise, Shape, normals


@dataclass(frozen=True, config={"extra": "forbid"})
class SphericalRadial(Noise):
    """One cubature rule of 2D + 1 points for each input, whatever K was asked for.

    Example:
        >>> shape = Shape(inputs=2, paths=16, draws=1, dim=1)
        >>> draw = SphericalRadial().draw(shape, torch.Generator().manual_seed(0))
        >>> round(float(draw.weights.sum(1)[0]), 5)
        1.0
    """

    common: ClassVar[bool] = True

    def draw(
        self, shape: Shape, generator: torch.Generator, dtype: torch.dtype = torch.float32
    ) -> Draw:
        """An independent radius for each input, and an independently reflected common basis."""
        n, dims = shape.inputs, shape.draws * shape.dim
        square = normals(1, (n,), dims + 2, generator, dtype)[0].square().sum(-1)[:, None, None]
        axis = torch.nn.functional.normalize(normals(n, (1,), dims, generator, dtype), dim=-1)
        basis = _haar(normals(dims, (), dims, generator, dtype))
        reflected = basis - 2.0 * (basis @ axis.mT) * axis
        arms = square.sqrt() * reflected
        z = torch.cat([torch.zeros_like(axis), arms, -arms], dim=1)
        arm = (0.5 / square).expand(n, 2 * dims, 1)
        weights = torch.cat([1.0 - dims / square, arm], dim=1)
        return Draw(z.unflatten(-1, (shape.draws, shape.dim)).movedim(2, 0), weights)  # type: ignore[no-untyped-call]


def _haar(gaussian: Tensor) -> Tensor:
    """A uniformly distributed orthogonal matrix (Mezzadri, 2007)."""
    q, r = torch.linalg.qr(gaussian)
    orthogonal: Tensor = q * r.diagonal().sign()
    return orthogonal
