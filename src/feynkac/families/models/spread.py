r"""A spread option: on S₁ − S₂, two assets with interest r and correlation ρ,

    dS_i = r S_i dt + σ_i S_i dB_i,   B₂ = W,   B₁ = ρ W + √(1 − ρ²) W′,   c = r.

Given S₂ the first price is lognormal. With Z = W(t)/√t,

    S₂ = x₂ exp((r − ½σ₂²) t + σ₂√t Z),
    F  = x₁ exp((r − ½ρ²σ₁²) t + ρσ₁√t Z),   v = σ₁ √((1 − ρ²) t),

a payoff of S₁ − S₂ with strike K is one of S₁ with strike S₂ + K, so that its mean is Black's
formula: labels have only the noise of Z. The closed form integrates over Z as well (Pearson 1995),
by the trapezoidal rule; for K = 0 it is Margrabe's (1978).
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.capabilities import (
    ClosedForm,
    CommutingNoise,
    ConditionalMean,
    ExactSteps,
    Pays,
    Rate,
)
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.families.formulas.correlation import halves, pair
from feynkac.families.formulas.expected_payoff import black
from feynkac.families.formulas.normal_law import pdf
from feynkac.families.formulas.safe_root import root
from feynkac.families.measures.box import Box
from feynkac.families.payoff import Payoff
from feynkac.families.point import Params
from feynkac.families.shapes import Shape, Shaped, strike_shapes

FARTHEST, CLOSED_FORM_NODES = 8.0, 256  # deviations of Z, and nodes on them


@dataclass(frozen=True)
class Spread(Family, ExactSteps, ConditionalMean, Rate, Pays, CommutingNoise, ClosedForm, Shaped):
    """European option on the difference of two assets; inputs x, t, sigma, rho, rate, strike.

    Example:
        >>> f = Spread()
        >>> at = dict(x=[100.0, 96.0], t=1.0, sigma=[0.2, 0.1], rho=0.5, rate=0.05, strike=3.0)
        >>> round(f.closed_form(*f.domain.split(f.domain.join(at))).item(), 6)
        7.450967
    """

    payoff: Payoff = Payoff("call", on="spread")

    def __post_init__(self) -> None:
        if self.payoff.on != "spread":
            raise InputError(
                f"Spread pays on the difference of two assets, got the payoff {self.payoff}; "
                f"say {self.payoff.style}:spread, or take MultiAsset."
            )

    @property
    def domain(self) -> Domain:
        """That of `MultiAsset`."""
        return Domain(
            x=Box(90.0, 110.0, shape=(2,)),
            t=Box(0.0, 1.0),
            sigma=Box(0.1, 0.4, shape=(2,)),
            rho=Box(0.1, 0.9),
            rate=Box(0.0, 0.05),
            strike=Box(0.0, 20.0),
        )

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Along the strike, and u ≥ 0."""
        return strike_shapes(self.payoff)

    def drift(self, x: Tensor, p: Params) -> Tensor:
        """r x."""
        return p.rate * x

    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """σ_i x_i dB_i; the first of the two increments is dW."""
        return p.sigma * x * pair(dw, p.rho).flip(-1)

    def initial(self, x: Tensor, p: Params) -> Tensor:
        """The payoff of x₁ − x₂."""
        return self.payoff(x, p.strike)

    def exact(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """x_i exp((r − ½σ_i²) t + σ_i √t B_i(1))."""
        growth = (p.rate - 0.5 * p.sigma.square()) * t
        return x * (growth + p.sigma * root(t) * pair(z, p.rho).flip(-1)).exp()

    def expected(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """Black's formula given Z = Σ z₁ₖ/√steps."""
        return self._given(x, t, p, z[..., :1].sum(0) / math.sqrt(len(z)))

    def closed_form(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """By quadrature, in float64."""
        now = Params(**{name: getattr(p, name).double().unsqueeze(-2) for name in p})
        far, nodes = FARTHEST, CLOSED_FORM_NODES
        z = torch.linspace(-far, far, nodes, dtype=torch.float64, device=x.device)[:, None]
        weights = 2.0 * far / (nodes - 1) * pdf(z)
        values = self._given(x.double().unsqueeze(-2), t.double().unsqueeze(-2), now, z)
        return torch.where(t > 0, (weights * values).sum(-2).to(x.dtype), self.initial(x, p))

    def _given(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """The value given Z.  Shape: all `(…, 1)`, but x `(…, 2)`."""
        (x1, x2), (v1, v2) = halves(x), halves(p.sigma * root(t))
        common = p.rho * v1
        forward = x1 * (p.rate * t - 0.5 * common.square() + common * z).exp()
        second = x2 * (p.rate * t - 0.5 * v2.square() + v2 * z).exp()
        own = v1 * root(1.0 - p.rho.square())
        return (-p.rate * t).exp() * black(self.payoff.style, forward, p.strike + second, own)
