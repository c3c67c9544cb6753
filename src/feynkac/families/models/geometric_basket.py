r"""An option on the geometric mean of correlated assets (see `correlated_assets.py`):

    G = (S₁ ⋯ S_d)^{1/d},   ln G_t ~ N(mean ln x_i + (r − ½ mean σ_i²) t,  v²),

    v² = t/d² ((1 − ρ) Σ σ_i² + ρ (Σ σ_i)²).

So G_t is lognormal, and u is e^{−rt} times an expectation by Black's formula: a test of any method
in many dimensions.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.capabilities import ClosedForm
from feynkac.families.formulas.expected_payoff import black
from feynkac.families.formulas.safe_root import root
from feynkac.families.models.correlated_assets import CorrelatedAssets
from feynkac.families.payoff import Payoff
from feynkac.families.point import Params


@dataclass(frozen=True)
class GeometricBasket(CorrelatedAssets, ClosedForm):
    """European option on the geometric mean of `dim` assets.

    Example:
        >>> GeometricBasket().domain.dim
        104
    """

    dim: int = 50
    payoff: Payoff = Payoff("call", on="geometric")

    def __post_init__(self) -> None:
        if self.payoff.on != "geometric":
            raise InputError(
                f"GeometricBasket pays on the geometric mean, got the payoff {self.payoff}; "
                f"say {self.payoff.style}:geometric, or take MultiAsset."
            )

    def closed_form(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """Black's formula with the mean and variance of G, in float64."""
        time, sigma, rho, rate, K = (v.double() for v in (t, p.sigma, p.rho, p.rate, p.strike))
        mean_square = sigma.square().mean(-1, keepdim=True)
        square_mean = sigma.mean(-1, keepdim=True).square()
        variance = time * ((1.0 - rho) * mean_square / self.dim + rho * square_mean)
        now = x.double().log().mean(-1, keepdim=True)
        forward = (now + (rate - 0.5 * mean_square) * time + 0.5 * variance).exp()
        u = (-rate * time).exp() * black(self.payoff.style, forward, K, root(variance))
        return torch.where(t > 0, u.to(x.dtype), self.initial(x, p))
