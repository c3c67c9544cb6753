r"""Zero-coupon bonds with the short rate of Cox, Ingersoll and Ross (1985): x = r, and 1 is paid,

    dr = κ(θ − r) dt + σ √r dB,   c = r,   φ = 1,     u = E exp(−∫₀ᵗ r ds) = A e^{−B r}.

With γ = √(κ² + 2σ²), e = e^{−γt} and D = (γ + κ)(1 − e) + 2γe,

    B = 2(1 − e)/D,   ln A = 2κθ/σ² (ln(2γ/D) − ½(γ − κ)t).

Rates are never negative. A step of weak order 2 for all κ, θ, σ > 0 is that of `square_root.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from feynkac.families.capabilities import ClosedForm, Discount, Greek, NamedGreeks, OwnSteps
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.families.formulas.safe_root import root
from feynkac.families.formulas.square_root import constants, transition
from feynkac.families.measures.box import Box
from feynkac.families.models.vasicek import BOND_GREEKS
from feynkac.families.point import Params
from feynkac.families.shapes import Bounded, Convex, Monotone, Shape, Shaped


@dataclass(frozen=True)
class Cir(Family, Discount, OwnSteps, ClosedForm, NamedGreeks, Shaped):
    """Zero-coupon bond, square-root short rate; inputs x (the rate), t, kappa, theta, sigma.

    Example:
        >>> f = Cir()
        >>> at = f.domain.join(dict(x=0.03, t=5.0, kappa=0.5, theta=0.04, sigma=0.1))
        >>> round(f.closed_form(*f.domain.split(at)).item(), 6)
        0.835234
    """

    greeks: ClassVar[Mapping[str, Greek]] = BOND_GREEKS

    @property
    def domain(self) -> Domain:
        """Curves from a day to thirty years."""
        return Domain(
            x=Box(0.0, 0.12),
            t=Box(0.0, 30.0),
            kappa=Box(0.1, 1.5),
            theta=Box(0.01, 0.1),
            sigma=Box(0.02, 0.25),
        )

    def drift(self, x: Tensor, p: Params) -> Tensor:
        """κ(θ − r)."""
        return p.kappa * (p.theta - x)

    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """σ √r dw."""
        return p.sigma * root(x) * dw

    def discount(self, x: Tensor, p: Params) -> Tensor:
        """r."""
        return x

    def initial(self, x: Tensor, p: Params) -> Tensor:
        """1."""
        return torch.ones_like(x)

    def step(self, x: Tensor, h: Tensor, p: Params, z: Tensor) -> Tensor:
        """r_h from one normal."""
        end, _ = transition(x, constants(h, p.kappa, p.theta, p.sigma)).ends(z)
        return end

    def closed_form(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """A e^{−B r}, in float64; D/2γ = 1 − σ²(1 − e)/(γ(γ + κ))."""
        r, time, kappa, theta, sigma = (v.double() for v in (x, t, p.kappa, p.theta, p.sigma))
        square = sigma.square()
        gamma = (kappa.square() + 2.0 * square).sqrt()
        gone, share = -(-gamma * time).expm1(), square / (gamma + kappa)
        inner = (-share * gone / gamma).log1p()
        log_a = -2.0 * kappa * theta / square * (inner + share * time)
        u: Tensor = (log_a - gone / gamma * (-inner).exp() * r).exp()
        return u.to(x.dtype)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Between 0 and 1; the higher the rates and the later, the cheaper the bond."""
        unit = Bounded(lambda x, t, p: 0.0, lambda x, t, p: 1.0, "is between 0 and 1")
        falling = Monotone("x", -1), Monotone("theta", -1), Monotone("t", -1)
        return (unit, *falling, Monotone("sigma", 1), Convex("x"))
