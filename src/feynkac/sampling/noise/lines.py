r"""Lines in the space of a path's normals, on each of which the mean of a payoff is computed:

    E φ(z) = E ∫ φ(b + s w) f(s) ds,

`ParallelLines`: w the direction in which φ varies most, b the part of z across it, f normal;
`Rays`: z = b + s w with w = a ⊗ θ, θ uniform on the sphere, a a profile over the steps, f the
density of the length of m normals. The first suits half-spaces, the second balls.

Lines are made for payoffs that jump (`crossings.py`): a label is then smooth in its input, has less
noise, and has slopes.
"""

import functools
import math
from abc import abstractmethod
from typing import Annotated, NamedTuple

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from feynkac.sampling.noise.noise import Draw, Noise, Shape
from feynkac.sampling.noise.sobol import Sobol

AGREEING = 0.3  # the sum of gradients, relative to that of their lengths
POWER_STEPS = 4
OUTSIDE = 3e-6  # of the law of s lies beyond either end of a line


class Line(NamedTuple):
    """The points b + s w of K lines per input: b and w, each `(draws, N, K, m)`."""

    base: Tensor
    way: Tensor


class Lines(Noise):
    """Draws lines through Sobol' points. Where no lines are known, these are taken themselves."""

    nodes: int
    """Points of each line at which the payoff is evaluated first, beside both ends."""

    def draw(
        self, shape: Shape, generator: torch.Generator, dtype: torch.dtype = torch.float32
    ) -> Draw:
        """Sobol' points."""
        return Sobol().draw(shape, generator, dtype)

    @abstractmethod
    def through(self, z: Tensor, gradients: Tensor) -> Line:
        """Lines through z that suit these gradients of φ in the first vectors of z.

        Shape: z `(draws, N, K, m)`, gradients `(N, P, increments, m)`.
        """

    @abstractmethod
    def probability(self, s: Tensor, dim: int) -> Tensor:
        """The distribution function of s, for m = `dim`."""

    @abstractmethod
    def density(self, s: Tensor, dim: int) -> Tensor:
        """f, its derivative."""

    @abstractmethod
    def span(self, dim: int) -> tuple[float, float]:
        """Where lines end."""


@dataclass(frozen=True, config={"extra": "forbid"})
class ParallelLines(Lines):
    """Lines in the direction in which the payoff varies most.

    Example:
        >>> ParallelLines().probability(torch.tensor(0.0), dim=3).item()
        0.5
    """

    nodes: Annotated[int, Field(ge=2)] = 8

    def through(self, z: Tensor, gradients: Tensor) -> Line:
        """z is turned first, so that s takes the place of its first coordinate."""
        steps = gradients.shape[-2]
        v = principal(gradients.flatten(2))
        first = torch.zeros_like(v)
        first[:, 0] = 1.0
        w = F.normalize(first - v, dim=-1)[:, None, :]
        flat = z[:steps].movedim(0, 2).flatten(2)
        flat = flat - (flat * (2.0 * w)).sum(-1, keepdim=True) * w
        flat = flat - (flat * v[:, None]).sum(-1, keepdim=True) * v[:, None]
        across = flat.view(*flat.shape[:2], steps, -1).movedim(2, 0)
        along = v.view(len(v), 1, steps, -1).movedim(2, 0).expand_as(across)
        rest = z[steps:]
        return Line(torch.cat([across, rest]), torch.cat([along, torch.zeros_like(rest)]))

    def probability(self, s: Tensor, dim: int) -> Tensor:
        """The normal one."""
        found: Tensor = torch.special.ndtr(s)
        return found

    def density(self, s: Tensor, dim: int) -> Tensor:
        """The normal one."""
        found: Tensor = (-0.5 * s.square()).exp() / math.sqrt(2.0 * math.pi)
        return found

    def span(self, dim: int) -> tuple[float, float]:
        """Symmetric."""
        end = float(torch.special.ndtri(torch.tensor(OUTSIDE, dtype=torch.float64)))
        return end, -end


@dataclass(frozen=True, config={"extra": "forbid"})
class Rays(Lines):
    """Rays from the origin of what the payoff depends on.

    Example:
        >>> round(Rays().probability(torch.tensor(2.0), dim=2).item(), 4)  # 1 − e⁻²
        0.8647
    """

    nodes: Annotated[int, Field(ge=2)] = 8

    def through(self, z: Tensor, gradients: Tensor) -> Line:
        """The profile over the steps is that of the gradients."""
        steps = gradients.shape[-2]
        sizes = gradients.square().sum((1, 3)) + torch.finfo(z.dtype).tiny
        profile = F.normalize(sizes.sqrt(), dim=-1).mT[:, :, None, None]
        combined = (z[:steps] * profile).sum(0)
        way, rest = profile * F.normalize(combined, dim=-1), z[steps:]
        return Line(
            torch.cat([z[:steps] - profile * combined, rest]),
            torch.cat([way, torch.zeros_like(rest)]),
        )

    def probability(self, s: Tensor, dim: int) -> Tensor:
        """That of the length of `dim` normals."""
        found: Tensor = torch.special.gammainc(s.new_tensor(0.5 * dim), 0.5 * s.square())
        return found

    def density(self, s: Tensor, dim: int) -> Tensor:
        """Likewise."""
        constant = (0.5 * dim - 1.0) * math.log(2.0) + math.lgamma(0.5 * dim)
        return torch.exp(torch.xlogy(s.new_tensor(dim - 1.0), s) - 0.5 * s.square() - constant)

    def span(self, dim: int) -> tuple[float, float]:
        """From near 0 to far out."""
        return _length_quantile(OUTSIDE, dim), _length_quantile(1.0 - OUTSIDE, dim)


def principal(gradients: Tensor) -> Tensor:
    """The direction of their sum, or their main axis where they cancel.

    Shape: `(N, P, D)` → `(N, D)`.

    Example:
        >>> principal(torch.tensor([[[0.0, 3.0], [0.0, -3.0]]])).abs()
        tensor([[0., 1.]])
    """
    total = gradients.sum(1)
    v = F.normalize(gradients[:, 0] + 1e-3 * total, dim=-1)
    for _ in range(POWER_STEPS):
        v = F.normalize(((gradients @ v.unsqueeze(-1)) * gradients).sum(1), dim=-1)
    agree = total.norm(dim=-1) > AGREEING * gradients.norm(dim=-1).sum(-1)
    return torch.where(agree.unsqueeze(-1), F.normalize(total, dim=-1), v)


@functools.lru_cache(maxsize=32)
def _length_quantile(probability: float, dim: int) -> float:
    """Of the length of `dim` normals, by bisection."""
    low, high = 0.0, math.sqrt(dim) + 10.0
    for _ in range(60):
        middle = torch.tensor(0.5 * (low + high), dtype=torch.float64)
        below = torch.special.gammainc(middle.new_tensor(0.5 * dim), 0.5 * middle.square())
        low, high = (float(middle), high) if below < probability else (low, float(middle))
    return 0.5 * (low + high)
