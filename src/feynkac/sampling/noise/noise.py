r"""Where the normals of a path come from: K vectors per input, with weights that sum to one.

    u(λ) ≈ Σ_k w_k φ(S_t(z_k)),    unbiased for every choice here.

`Independent` is plain Monte Carlo; `Antithetic` pairs z with −z. Both need nothing to be known of
the integrand. `sobol.py` and `spherical.py` exploit its smoothness.
"""

import math
from abc import abstractmethod
from typing import ClassVar, NamedTuple

import torch
from pydantic.dataclasses import dataclass
from torch import Tensor

from feynkac.parts import Part


def normals(
    draws: int,
    lead: tuple[int, ...],
    dim: int,
    generator: torch.Generator,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Independent standard normals.  Shape: `(draws, *lead, dim)`."""
    return torch.randn(draws, *lead, dim, generator=generator, dtype=dtype, device=generator.device)


class Shape(NamedTuple):
    """What is asked for: N inputs, about K paths each, `draws` normal vectors of `dim` entries.

    The first `increments` of them drive the path in order of time; None: all of them.
    """

    inputs: int
    paths: int
    draws: int
    dim: int
    increments: int | None = None


class Draw(NamedTuple):
    """Normals z `(draws, N, K, dim)` and weights `(N, K, 1)`."""

    z: Tensor
    weights: Tensor


class Noise(Part):
    """A way to draw normals.

    Example:
        >>> noise, shape = Antithetic(), Shape(inputs=3, paths=4, draws=1, dim=2)
        >>> noise.draw(shape, torch.Generator().manual_seed(0)).z.shape
        torch.Size([1, 3, 4, 2])
    """

    aligned: bool = False
    """Whether its first coordinate is the best one, see `alignment.py`."""
    common: ClassVar[bool] = False
    """Whether the inputs of a draw share a rule: labels of equal inputs then depend."""

    @abstractmethod
    def draw(
        self, shape: Shape, generator: torch.Generator, dtype: torch.dtype = torch.float32
    ) -> Draw:
        """Fresh normals; K may be rounded up to what the method needs."""


@dataclass(frozen=True, config={"extra": "forbid"})
class Independent(Noise):
    """Plain Monte Carlo.

    Example:
        >>> shape = Shape(inputs=3, paths=4, draws=1, dim=2)
        >>> Independent().draw(shape, torch.Generator().manual_seed(0)).weights[0, 0].item()
        0.25
    """

    def draw(
        self, shape: Shape, generator: torch.Generator, dtype: torch.dtype = torch.float32
    ) -> Draw:
        """K independent vectors."""
        z = normals(shape.draws, (shape.inputs, shape.paths), shape.dim, generator, dtype)
        return equally_weighted(z)


@dataclass(frozen=True, config={"extra": "forbid"})
class Antithetic(Noise):
    """Pairs z, −z: exact for odd integrands.

    Example:
        >>> shape = Shape(inputs=1, paths=2, draws=1, dim=1)
        >>> z = Antithetic().draw(shape, torch.Generator().manual_seed(0)).z
        >>> z.sum().item()
        0.0
    """

    def draw(
        self, shape: Shape, generator: torch.Generator, dtype: torch.dtype = torch.float32
    ) -> Draw:
        """⌈K/2⌉ independent pairs."""
        lead = (shape.inputs, -(-shape.paths // 2))
        return mirrored(normals(shape.draws, lead, shape.dim, generator, dtype))


def mirrored(z: Tensor) -> Draw:
    """z and −z with equal weights, stored coordinates first."""
    first = z.movedim(-1, 1)
    return equally_weighted(torch.cat([first, -first], dim=-1).movedim(1, -1))


def equally_weighted(z: Tensor) -> Draw:
    """Weights 1/K."""
    _, inputs, paths, _ = z.shape
    return Draw(z, z.new_full((), 1.0 / paths).expand(inputs, paths, 1))


def of_fewer_steps(z: Tensor, steps: int) -> Tensor:
    """Normals of `steps` steps on the same path.  Shape: `(n, …)` → `(steps, …)`.

    Example:
        >>> of_fewer_steps(torch.tensor([1.0, 3.0, 2.0, 2.0]), 1)
        tensor([4.])
    """
    parts = z.unflatten(0, (steps, -1))  # type: ignore[no-untyped-call]
    return sum(parts.unbind(1)) / math.sqrt(parts.shape[1])  # type: ignore[no-any-return]
