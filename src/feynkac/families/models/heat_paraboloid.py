r"""Heat equation, paraboloid initial condition (paper, Section 3.3):

σ(x) = γ_σ ∈ R^{d×d},  μ = 0,  φ(x) = ‖x‖²,    u = ‖x‖² + t Tr(γ_σ γ_σ*).
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
class HeatParaboloid(Family, ExactSampler, AdditiveNoise, ClosedPartials):
    """Heat flow with a full matrix of diffusion coefficients; inputs x, t, sigma (d, d).

    Example:
        >>> HeatParaboloid().domain.dim
        111
    """

    dim: int = 10

    @property
    def domain(self) -> Domain:
        """The paper's region, Table 5."""
        return Domain(
            x=Box(0.5, 1.5, shape=(self.dim,)),
            t=Box(0.0, 1.0),
            sigma=Box(0.0, 1.0, shape=(self.dim, self.dim)),
        )

    def drift(self, x: Tensor, p: Params) -> Tensor:
        """Zero."""
        return torch.zeros_like(x)

    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """γ_σ dw.  Shape: `(…, d)` → `(…, d)`."""
        return torch.einsum("...ij,...j->...i", p.sigma, dw)

    def initial(self, x: Tensor, p: Params) -> Tensor:
        """‖x‖²."""
        return x.square().sum(-1, keepdim=True)

    def exact(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """x + √t γ_σ z."""
        return x + t.sqrt() * self.diffusion(x, z, p)

    def closed_form(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """‖x‖² + t Tr(γ_σ γ_σ*)."""
        return self.initial(x, p) + t * _trace(p)

    def closed_partials(self, x: Tensor, t: Tensor, p: Params) -> dict[str, Tensor]:
        """2x, Tr(γ_σ γ_σ*), 2tγ_σ."""
        return {"x": 2.0 * x, "t": _trace(p), "sigma": 2.0 * t[..., None] * p.sigma}


def _trace(p: Params) -> Tensor:
    return p.sigma.square().sum((-2, -1))[..., None]
