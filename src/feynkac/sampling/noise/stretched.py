r"""Sobol' points to look closely at one input: in float64, and with a coordinate drawn far out.

    E f(Z) = E[w(C, z) f(C, z)],   C = tan π(U − ½),   w = ψ(C) π (1 + C²) ≤ 1.53,   |C| ≤ far,

ψ the normal density. The first coordinate (the slowest mode of the path, turned towards what the
payoff depends on most) has a Cauchy law, and paths have weights. So deviations of 5 and of 10 are
drawn as a matter of course: an option that hardly ever pays has paths that pay. And w f is bounded
where f is not, as Sobol' points like it: with 4,096 paths the error of a call on one asset is a
thousand times smaller than with the same points and normal z.

`Sobol` resolves 2⁻²³, as float32 does, so that nothing lies beyond 5.3 deviations. Here a point is
uniform in its cell of 2⁻³⁰: each coordinate is exactly uniform, and the estimate unbiased.
"""

import functools
import math
from collections.abc import Iterator

import torch
from pydantic.dataclasses import dataclass
from torch import Tensor

from feynkac.sampling.noise.noise import Draw, Noise, Shape
from feynkac.sampling.noise.sobol import along_modes

BITS = 30  # of torch's Sobol' points
EDGE = 2.0**-60  # no uniform number is 0 or 1


@dataclass(frozen=True, config={"extra": "forbid"})
class Stretched(Noise):
    """Digitally shifted, antithetic Sobol' points, the first coordinate drawn up to `far`.

    Example:
        >>> shape = Shape(inputs=2, paths=64, draws=1, dim=1)
        >>> draw = Stretched().draw(shape, torch.Generator().manual_seed(0))
        >>> float(draw.z.max()) > 5.0
        True
    """

    aligned: bool = True
    far: float = 12.0
    """Deviations; 0: the first coordinate is normal like all others."""

    def draw(
        self, shape: Shape, generator: torch.Generator, dtype: torch.dtype = torch.float64
    ) -> Draw:
        """K rounded up to twice a power of two."""
        (whole,) = self.blocks(shape, shape.paths, generator, dtype)
        return whole

    def blocks(
        self,
        shape: Shape,
        most: int,
        generator: torch.Generator,
        dtype: torch.dtype = torch.float64,
    ) -> Iterator[Draw]:
        """The same draw in blocks of about `most` paths, which stay in the processor's cache.

        Sobol' points are a group under ⊕: a block is the first block, shifted.
        """
        device, dims = generator.device, shape.draws * shape.dim
        all_bits, block_bits = (max(0, math.ceil(math.log2(n / 2))) for n in (shape.paths, most))
        block_bits = min(all_bits, block_bits)
        directions = _directions(dims).to(device)
        size = (shape.inputs, 1, dims)
        shift = torch.randint(2**BITS, size, generator=generator, dtype=torch.int32, device=device)
        inside = torch.rand(size, generator=generator, dtype=dtype, device=device)
        first = points(directions[:block_bits])
        for offset in points(directions[block_bits:all_bits]).unbind(0):
            uniform = ((first ^ (shift ^ offset)) + inside) * 2.0**-BITS
            yield self._draw(uniform.clamp_(EDGE, 1.0 - torch.finfo(dtype).eps), shape, all_bits)

    def _draw(self, uniform: Tensor, shape: Shape, bits: int) -> Draw:
        z = torch.special.ndtri(uniform)
        weights = torch.full_like(z[..., :1], 0.5 ** (bits + 1))
        if self.far:
            z[..., :1] = torch.tan(math.pi * (uniform[..., :1] - 0.5))
            weights = weights * _likelihood(z[..., :1], self.far)
            z[..., :1].clamp_(-self.far, self.far)
        z = z.unflatten(-1, (shape.draws, shape.dim)).movedim(2, 0)
        increments = shape.draws if shape.increments is None else shape.increments
        z = torch.cat([along_modes(z[:increments]), z[increments:]])
        return Draw(torch.cat([z, -z], dim=2), torch.cat([weights, weights], dim=1))


def _likelihood(c: Tensor, far: float) -> Tensor:
    """w, the normal density over Cauchy's; 0 beyond `far`."""
    ratio = math.sqrt(0.5 * math.pi) * (1.0 + c.square()) * (-0.5 * c.square()).exp()
    return torch.where(c.abs() <= far, ratio, 0.0)


def points(directions: Tensor) -> Tensor:
    """All sums (⊕) of directions.  Shape: `(bits, dims)` → `(2^bits, dims)`.

    Example:
        >>> points(torch.tensor([[4], [2]], dtype=torch.int32)).squeeze(-1).tolist()
        [0, 4, 2, 6]
    """
    found = directions.new_zeros(1, directions.shape[-1])
    for direction in directions:
        found = torch.cat([found, found ^ direction])
    return found


@functools.lru_cache(maxsize=16)
def _directions(dims: int) -> Tensor:
    """Sobol' direction numbers as integers below 2^BITS.  Shape: `(BITS, dims)`."""
    engine = torch.quasirandom.SobolEngine(dims, scramble=False)  # type: ignore[no-untyped-call]
    state = torch.as_tensor(engine.sobolstate)
    assert state.shape == (dims, BITS)
    return state.mT.to(torch.int32).contiguous()
