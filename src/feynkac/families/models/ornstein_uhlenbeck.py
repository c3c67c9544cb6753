r"""Mean reversion (Uhlenbeck and Ornstein 1930), and a call on the mean of the coordinates:

    dXᵢ = κ(θ − Xᵢ) dt + σ dBᵢ,   φ(x) = max(x̄ − K, 0),     x̄ = (x₁ + … + x_d)/d.

X̄_t is normal, so u is Bachelier's formula for it:

    E X̄_t = x̄ + (1 − e^{−κt})(θ − x̄),   Var X̄_t = v²/d,   v² = σ² (1 − e^{−2κt})/2κ.
"""

from dataclasses import dataclass

from torch import Tensor

from feynkac.families.capabilities import AdditiveNoise, ClosedForm, ExactSampler
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.families.formulas.expected_payoff import bachelier
from feynkac.families.formulas.safe_root import root
from feynkac.families.measures.box import Box
from feynkac.families.payoff import Payoff
from feynkac.families.point import Params
from feynkac.families.shapes import Monotone, Shape, Shaped, strike_shapes


@dataclass(frozen=True)
class OrnsteinUhlenbeck(Family, ExactSampler, AdditiveNoise, ClosedForm, Shaped):
    """Call on the mean of `dim` mean-reverting numbers; inputs x, t, kappa, theta, sigma, strike.

    Example:
        >>> f = OrnsteinUhlenbeck()
        >>> at = f.domain.join(dict(x=0.2, t=1, kappa=1, theta=0.5, sigma=0.5, strike=0.3))
        >>> round(f.closed_form(*f.domain.split(at)).item(), 6)
        0.114048
    """

    dim: int = 5

    @property
    def domain(self) -> Domain:
        """Numbers around zero."""
        return Domain(
            x=Box(-1.0, 1.0, shape=(self.dim,)),
            t=Box(0.0, 1.0),
            kappa=Box(0.5, 2.0),
            theta=Box(-0.5, 0.5),
            sigma=Box(0.2, 1.0),
            strike=Box(-0.5, 0.5),
        )

    def drift(self, x: Tensor, p: Params) -> Tensor:
        """κ(θ − x)."""
        return p.kappa * (p.theta - x)

    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """σ dw."""
        return p.sigma * dw

    def initial(self, x: Tensor, p: Params) -> Tensor:
        """max(x̄ − K, 0)."""
        return (x.mean(-1, keepdim=True) - p.strike).clamp_min(0.0)

    def exact(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """x + (1 − e^{−κt})(θ − x) + v z."""
        return _mean(x, t, p) + _deviation(t, p) * z

    def closed_form(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """Bachelier's formula for X̄_t."""
        mean = _mean(x.mean(-1, keepdim=True), t, p)
        return bachelier("call", mean, p.strike, _deviation(t, p) / self.dim**0.5)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Of a call; it rises with its mean and its deviation."""
        rising = [Monotone(entry, 1) for entry in self.domain.entries[: self.dim]]
        growing = [Monotone(name, 1) for name in ("theta", "sigma")]
        return (*strike_shapes(Payoff("call")), *rising, *growing)


def _mean(x: Tensor, t: Tensor, p: Params) -> Tensor:
    """E X_t from x, exactly x at t = 0."""
    return x - (-p.kappa * t).expm1() * (p.theta - x)


def _deviation(t: Tensor, p: Params) -> Tensor:
    """v, of one coordinate."""
    return p.sigma * root(-(-2.0 * p.kappa * t).expm1() / (2.0 * p.kappa))
