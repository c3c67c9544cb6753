r"""Overdamped Langevin dynamics in a double well of height a at temperature T:

    dX = −∇V(X) dt + √(2T) dB,   V(x) = a (x₁² − 1)² + ½ Σ_{i≥2} xᵢ²,
    φ(x) = tanh(3x₁) exp(−Σ_{i≥2} xᵢ²/(2d)),

which asks on which side of the barrier the particle is, the more weakly the farther it is from the
axis through both wells. The drift grows like x₁³: explicit schemes overshoot where a path gets far
out. A step of our own cannot: without noise x₁² follows the logistic equation, so that

    x₁(s) = x₁ / √(x₁² + (1 − x₁²) e^{−8as}).

Half a step of this, the noise and the other half have weak order 2; the other coordinates are
Ornstein–Uhlenbeck processes and drawn exactly. Labels need not draw them: with m = e^{−t} xᵢ and
s² = T (1 − e^{−2t}), the mean of exp(−xᵢ(t)²/(2d)) is (1 + s²/d)^{−½} exp(−m²/(2(d + s²))).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from feynkac.families.capabilities import AdditiveNoise, ConditionalMean, OwnSteps
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.families.measures.box import Box
from feynkac.families.point import Params


@dataclass(frozen=True)
class DoubleWell(Family, OwnSteps, ConditionalMean, AdditiveNoise):
    """A particle that may cross a barrier; inputs x, t, height, temperature.

    Example:
        >>> DoubleWell().domain.dim
        5
    """

    dim: int = 2

    @property
    def domain(self) -> Domain:
        """Both wells, x₁ = ±1, and the slopes outside them."""
        return Domain(
            x=Box(-1.5, 1.5, shape=(self.dim,)),
            t=Box(0.0, 1.0),
            height=Box(0.5, 2.0),
            temperature=Box(0.3, 1.0),
        )

    def drift(self, x: Tensor, p: Params) -> Tensor:
        """−∇V: 4a x₁ (1 − x₁²) and −xᵢ."""
        first, others = x[..., :1], x[..., 1:]
        return torch.cat([4.0 * p.height * first * (1.0 - first.square()), -others], dim=-1)

    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """√(2T) dw."""
        return (2.0 * p.temperature).sqrt() * dw

    def initial(self, x: Tensor, p: Params) -> Tensor:
        """tanh(3x₁) exp(−Σ_{i≥2} xᵢ²/(2d))."""
        off_axis = x[..., 1:].square().sum(-1, keepdim=True)
        return (3.0 * x[..., :1]).tanh() * (-0.5 / self.dim * off_axis).exp()

    def step(self, x: Tensor, h: Tensor, p: Params, z: Tensor) -> Tensor:
        """Half the drift, noise, half the drift in x₁; e^{−h} xᵢ + √(T(1 − e^{−2h})) zᵢ."""
        first, others = x[..., :1], x[..., 1:]
        noise = (2.0 * p.temperature * h).sqrt() * z[..., :1]
        half = (-4.0 * p.height * h).exp()
        first = _downhill(_downhill(first, half) + noise, half)
        spread = (-p.temperature * (-2.0 * h).expm1()).sqrt()
        return torch.cat([first, (-h).exp() * others + spread * z[..., 1:]], dim=-1)

    def expected(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """Along a path of x₁, with both halves of the drift between two noises at once."""
        h, first, others = t / len(z), x[..., :1], x[..., 1:]
        half, noise = (-4.0 * p.height * h).exp(), (2.0 * p.temperature * h).sqrt()
        whole, (*normals, last) = half.square(), z[..., :1].unbind(0)
        first = _downhill(first, half)
        for normal in normals:
            first = _downhill(first + noise * normal, whole)
        first = _downhill(first + noise * last, half)
        variance = self.dim - p.temperature * (-2.0 * t).expm1()
        squares = (-2.0 * t).exp() * others.square().sum(-1, keepdim=True)
        size = (variance / self.dim) ** (0.5 - 0.5 * self.dim)
        return (3.0 * first).tanh() * size * (-0.5 * squares / variance).exp()


def _downhill(x: Tensor, left: Tensor) -> Tensor:
    """x₁(s) without noise, given e^{−8as}."""
    return x * (left + (1.0 - left) * x.square()).rsqrt()
