r"""The trapezoidal rule for one normal, shifted at random:

    E f(Z) = E Σ_k h ψ(z_k) f(z_k),   z_k = h (k + U),   U uniform on (0, 1),   ψ the density of Z.

Unbiased for every f, but for what lies beyond `FARTHEST` deviations. Where f is smooth, its error
falls like exp(−2π²/h²) (Trefethen and Weideman 2014): 26 nodes have no noise to speak of, where 128
Sobol' points, which are dense where Z is likely, still have that of the tails.
"""

import math

import torch
from pydantic.dataclasses import dataclass

from feynkac.errors import InputError
from feynkac.sampling.noise.noise import Draw, Noise, Shape

FARTHEST = 9.0  # deviations: E exp(3Z) is earned around 3, and 10⁻⁹ of it beyond 9


@dataclass(frozen=True, config={"extra": "forbid"})
class Trapezoid(Noise):
    """K nodes, for paths with one normal.

    Example:
        >>> shape = Shape(inputs=2, paths=16, draws=1, dim=1)
        >>> draw = Trapezoid().draw(shape, torch.Generator().manual_seed(0))
        >>> round(float(draw.weights.sum(1)[0]), 4)
        1.0
    """

    def draw(
        self, shape: Shape, generator: torch.Generator, dtype: torch.dtype = torch.float32
    ) -> Draw:
        """An independent shift for each input."""
        if shape.draws * shape.dim != 1:
            raise InputError(
                f"the trapezoidal rule takes paths with one normal, got {shape.draws} × "
                f"{shape.dim}; take Sobol' points."
            )
        device, h = generator.device, 2.0 * FARTHEST / shape.paths
        shift = torch.rand(shape.inputs, 1, 1, generator=generator, dtype=dtype, device=device)
        z = h * (torch.arange(shape.paths, dtype=dtype, device=device)[:, None] + shift) - FARTHEST
        weights = h / math.sqrt(2.0 * math.pi) * (-0.5 * z.square()).exp()
        return Draw(z.unsqueeze(0), weights)
