r"""Randomised quasi-Monte Carlo: Sobol' points, shifted at random and mirrored.

    u_k = s_k ⊕ Δ,   z_k = Ψ⁻¹(u_k) and −z_k,   Δ uniform and independent for each input.

Each u_k is uniform, so every estimate is unbiased; together they fill the cube evenly. Sobol'
points are best in their first coordinates. Over several time steps these drive the cosine modes of
the path from the slowest to the fastest, which is close to its principal components. Coordinates
beyond the first `MOST_DIMS` are independent normals.
"""

import functools
import math

import torch
from pydantic.dataclasses import dataclass
from torch import Tensor

from feynkac.sampling.noise.noise import Draw, Noise, Shape, mirrored, normals

BITS = 23  # what a float32 in (0, 1) resolves
MOST_DIMS: int = torch.quasirandom.SobolEngine.MAXDIM


@dataclass(frozen=True, config={"extra": "forbid"})
class Sobol(Noise):
    """Digitally shifted, antithetic Sobol' points.

    Example:
        >>> shape = Shape(inputs=2, paths=16, draws=1, dim=1)
        >>> draw = Sobol().draw(shape, torch.Generator().manual_seed(0))
        >>> round(float(draw.weights.sum(1)[0]), 5)
        1.0
    """

    aligned: bool = True

    def draw(
        self, shape: Shape, generator: torch.Generator, dtype: torch.dtype = torch.float32
    ) -> Draw:
        """K rounded up to twice a power of two."""
        half = 2 ** max(0, math.ceil(math.log2(shape.paths / 2)))
        device, dims = generator.device, shape.draws * shape.dim
        points = _points(half, min(dims, MOST_DIMS)).to(device)
        size = (shape.inputs, 1, points.shape[-1])
        shift = torch.randint(2**BITS, size, generator=generator, dtype=torch.int32, device=device)
        bits = points.T.unsqueeze(1).contiguous() ^ shift.permute(2, 0, 1)  # coordinates first
        z = math.sqrt(2.0) * torch.erfinv(2.0 * ((bits.to(dtype) + 0.5) * 2.0**-BITS) - 1.0)
        if dims > MOST_DIMS:
            rest = normals(1, (shape.inputs, half), dims - MOST_DIMS, generator, dtype)
            z = torch.cat([z, rest[0].movedim(-1, 0)])
        z = z.unflatten(0, (shape.draws, shape.dim))  # type: ignore[no-untyped-call]
        increments = shape.draws if shape.increments is None else shape.increments
        z = torch.cat([along_modes(z[:increments]), z[increments:]])
        return mirrored(z.movedim(1, -1))


@functools.lru_cache(maxsize=8)
@torch.inference_mode(False)  # what is kept serves autograd later
def _points(count: int, dims: int) -> Tensor:
    """The first Sobol' points as integers.  Shape: `(count, dims)`."""
    engine = torch.quasirandom.SobolEngine(dims, scramble=False)  # type: ignore[no-untyped-call]
    return torch.as_tensor(engine.draw(count, dtype=torch.float64) * 2**BITS).to(torch.int32)


def along_modes(z: Tensor) -> Tensor:
    """Normals of the steps from those of the modes.  Shape: `(m, …)` → `(m, …)`."""
    return z if len(z) == 1 else torch.tensordot(_cosines(len(z)).to(z), z, dims=1)


@functools.lru_cache(maxsize=8)
@torch.inference_mode(False)  # what is kept serves autograd later
def _cosines(count: int) -> Tensor:
    """The orthonormal cosine basis; column m is mode m."""
    step = torch.arange(count, dtype=torch.float64)[:, None] + 0.5
    mode = torch.arange(count, dtype=torch.float64)[None, :]
    basis = torch.cos(math.pi * step * mode / count) * math.sqrt(2.0 / count)
    basis[:, 0] = count**-0.5
    return basis
