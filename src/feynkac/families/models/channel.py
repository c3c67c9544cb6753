r"""A particle carried through a channel whose walls absorb it, with decay on the way:

    dX = U dt + √(2D) dB₁,   dY = √(2D) dB₂,   absorbed at y = ±1,   c = k,
    φ(x, y) = exp(−x²/(2ℓ²)) (1 − y²),   ℓ = ½,

so that u is what a detector with sensitivity φ gets to see of a particle released at (x, y). The
variables separate:  u = e^{−kt} a(x, t) b(y, t)  with

    a = ℓ/s exp(−(x + Ut)²/(2s²)),   s² = ℓ² + 2Dt,
    b = 1 − y² − 2Dt + 8Dt Σ_n (−1)ⁿ [i²erfc((2n+1−y)/√(4Dt)) + i²erfc((2n+1+y)/√(4Dt))].

1 − y² − 2Dt solves the heat equation; the sum over mirror images, each with the second repeated
integral i²erfc of erfc, lifts its value −2Dt at the walls to zero (Carslaw and Jaeger, 1959). It
converges the faster the smaller Dt is, where the series of eigenfunctions does not.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from feynkac.families.capabilities import (
    Absorbing,
    AdditiveNoise,
    ClosedForm,
    ConstantDiscount,
    OwnSteps,
)
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.families.measures.box import Box
from feynkac.families.point import Params

VARIANCE = 0.25  # ℓ²
IMAGES = 4  # the next one is below 1e-15 for Dt ≤ 0.4, twice what the domain has


@dataclass(frozen=True)
class Channel(Family, ConstantDiscount, Absorbing, OwnSteps, AdditiveNoise, ClosedForm):
    """Advection, diffusion and decay between absorbing walls; x = (downstream, across).

    Example:
        >>> f = Channel()
        >>> at = f.domain.join(dict(x=[-1.0, 0.0], t=1.0, velocity=1.0, diffusivity=0.1, decay=0.0))
        >>> round(f.closed_form(*f.domain.split(at)).item(), 6)
        0.597965
    """

    @property
    def domain(self) -> Domain:
        """Channel of half width 1; paths may go beyond the ends in x."""
        return Domain(
            x=Box([-1.0, -0.9], [1.0, 0.9]),
            t=Box(0.0, 1.0),
            velocity=Box(0.0, 2.0),
            diffusivity=Box(0.02, 0.2),
            decay=Box(0.0, 1.0),
        )

    def drift(self, x: Tensor, p: Params) -> Tensor:
        """(U, 0)."""
        return p.velocity * x.new_tensor([1.0, 0.0]).expand_as(x)

    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """√(2D) dw."""
        return (2.0 * p.diffusivity).sqrt() * dw

    def discount_rate(self, p: Params) -> Tensor:
        """k."""
        return p.decay

    def distance(self, x: Tensor, p: Params) -> Tensor:
        """1 − y and 1 + y."""
        y = x[..., 1:]
        return torch.cat([1.0 - y, 1.0 + y], dim=-1)

    def initial(self, x: Tensor, p: Params) -> Tensor:
        """exp(−x²/(2ℓ²)) (1 − y²)."""
        along, y = x[..., :1], x[..., 1:]
        return _gaussian(along, torch.full_like(along, VARIANCE)) * (1.0 - y.square())

    def step(self, x: Tensor, h: Tensor, p: Params, z: Tensor) -> Tensor:
        """Exact in law; walls and decay are not the step's."""
        return x + h * self.drift(x, p) + self.diffusion(x, h.sqrt() * z, p)

    def closed_form(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """e^{−kt} a b."""
        along = _gaussian(x[..., :1] + p.velocity * t, VARIANCE + 2.0 * p.diffusivity * t)
        return (-p.decay * t).exp() * (along * _across(x[..., 1:], p.diffusivity, t))


def _gaussian(x: Tensor, variance: Tensor) -> Tensor:
    """a, by its s²."""
    return (VARIANCE / variance).sqrt() * (-0.5 * x.square() / variance).exp()


def _across(y: Tensor, diffusivity: Tensor, t: Tensor) -> Tensor:
    """b(y, t)."""
    later = t > torch.finfo(t.dtype).tiny
    width = (4.0 * diffusivity * torch.where(later, t, 1.0)).sqrt()
    images = torch.zeros_like(y)
    for n in range(IMAGES):
        near, far = (2 * n + 1 - y) / width, (2 * n + 1 + y) / width
        images = images + (-1) ** n * (_repeated_erfc(near) + _repeated_erfc(far))
    lift = torch.where(later, 4.0 * images, 0.0)
    return 1.0 - y.square() + 2.0 * diffusivity * t * (lift - 1.0)


def _repeated_erfc(z: Tensor) -> Tensor:
    """i²erfc(z) = ∫_z^∞ ∫_v^∞ erfc(w) dw dv."""
    tail = (1.0 + 2.0 * z.square()) * torch.erfc(z)
    return 0.25 * (tail - 2.0 / math.sqrt(math.pi) * z * (-z.square()).exp())
