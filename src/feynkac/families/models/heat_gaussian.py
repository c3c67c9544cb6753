r"""Heat equation, Gaussian initial condition (paper, Section 3.3), with c = 1 + 2tγ_σ²:

σ(x) = γ_σ I,  μ = 0,  φ(x) = exp(−‖x‖²),    u = c^{−d/2} exp(−‖x‖²/c).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from feynkac.families.capabilities import AdditiveNoise, ClosedPartials, ExactSampler
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.families.measures.box import Box
from feynkac.families.point import Params


@dataclass(frozen=True)
class HeatGaussian(Family, ExactSampler, AdditiveNoise, ClosedPartials):
    """Heat flow with one diffusion coefficient; inputs x, t, sigma.

    Example:
        >>> HeatGaussian().domain.dim
        152
    """

    dim: int = 150

    @property
    def domain(self) -> Domain:
        """The paper's region, Table 5."""
        return Domain(x=Box(-0.1, 0.1, shape=(self.dim,)), t=Box(0.0, 1.0), sigma=Box(0.0, 0.1))

    def drift(self, x: Tensor, p: Params) -> Tensor:
        """Zero."""
        return torch.zeros_like(x)

    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """γ_σ dw."""
        return p.sigma * dw

    def initial(self, x: Tensor, p: Params) -> Tensor:
        """exp(−‖x‖²)."""
        return (-x.square().sum(-1, keepdim=True)).exp()

    def exact(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """x + √t γ_σ z."""
        return x + t.sqrt() * p.sigma * z

    def closed_form(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """c^{−d/2} exp(−‖x‖²/c)."""
        c = 1.0 + 2.0 * t * p.sigma.square()
        return (-x.square().sum(-1, keepdim=True) / c - self.dim / 2 * c.log()).exp()

    def closed_partials(self, x: Tensor, t: Tensor, p: Params) -> dict[str, Tensor]:
        """The chain rule through c."""
        c = 1.0 + 2.0 * t * p.sigma.square()
        u = self.closed_form(x, t, p)
        by_c = u * (x.square().sum(-1, keepdim=True) / c - self.dim / 2) / c
        return {
            "x": -2.0 * x / c * u,
            "t": by_c * 2.0 * p.sigma.square(),
            "sigma": by_c * 4.0 * t * p.sigma,
        }
