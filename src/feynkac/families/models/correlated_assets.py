r"""Several assets with interest r, any two of them with correlation ρ:

    dS_i = r S_i dt + σ_i S_i dB_i,   dB_i = √ρ dz₀ + √(1 − ρ) dz_i,   c = r,

    S_i(t) = x_i exp((r − ½σ_i²) t + σ_i √t B_i(1)).

The common factor z₀ is one Brownian motion more than there are assets.
"""

from torch import Tensor

from feynkac.families.capabilities import CommutingNoise, ExactSampler, NoiseDimension, Pays, Rate
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.families.formulas.correlation import one_factor
from feynkac.families.formulas.safe_root import root
from feynkac.families.measures.box import Box
from feynkac.families.point import Params
from feynkac.families.shapes import Shape, Shaped, strike_shapes

LEAST_PRICE = 1e-6  # a step of Euler may go below zero


class CorrelatedAssets(Family, NoiseDimension, ExactSampler, Rate, Pays, CommutingNoise, Shaped):
    """Base of options on `dim` assets; inputs x, t, sigma (one per asset), rho, rate, strike.

    A subclass adds the fields `dim` and `payoff`.
    """

    dim: int

    @property
    def domain(self) -> Domain:
        """Prices around 100; the strike of a spread, which is a difference, above zero.

        Where the largest or smallest price counts, assets are ordered by their prices.
        """
        domain = Domain(
            x=Box(90.0, 110.0, shape=(self.dim,)),
            t=Box(0.0, 1.0),
            sigma=Box(0.1, 0.4, shape=(self.dim,)),
            rho=Box(0.1, 0.9),
            rate=Box(0.0, 0.05),
            strike=Box(0.0, 20.0) if self.payoff.on == "spread" else Box(90.0, 110.0),
        )
        return domain.exchanging("x", "sigma") if self.payoff.on in ("max", "min") else domain

    @property
    def noise_dim(self) -> int:
        """The common factor, and one per asset."""
        return self.dim + 1

    def drift(self, x: Tensor, p: Params) -> Tensor:
        """r x."""
        return p.rate * x

    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """σ_i x_i dB_i."""
        return p.sigma * x * one_factor(dw, p.rho)

    def initial(self, x: Tensor, p: Params) -> Tensor:
        """The payoff."""
        return self.payoff(x.clamp_min(LEAST_PRICE), p.strike)

    def exact(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """x_i exp((r − ½σ_i²) t + σ_i √t B_i(1))."""
        growth = (p.rate - 0.5 * p.sigma.square()) * t
        return x * (growth + p.sigma * root(t) * one_factor(z, p.rho)).exp()

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Along the strike, and u ≥ 0."""
        return strike_shapes(self.payoff)
