r"""Zero-coupon bonds with the short rate of Vasicek (1977): x = r, and 1 is paid at maturity,

    dr = κ(θ − r) dt + σ dB,   c = r,   φ = 1,     u = E exp(−∫₀ᵗ r ds).

The integral is normal, with B = (1 − e^{−κt})/κ, so that

    u = exp(−θt − (r − θ)B + ½V),   V = σ²/κ² (t − 2B + (1 − e^{−2κt})/2κ).

Rates may be negative. A step of a path is exact; the discount on it is a trapezoidal rule.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from feynkac.families.capabilities import (
    AdditiveNoise,
    ClosedForm,
    Discount,
    Greek,
    NamedGreeks,
    OwnSteps,
)
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.families.formulas.safe_root import root
from feynkac.families.measures.box import Box
from feynkac.families.point import Params
from feynkac.families.shapes import NOT_NEGATIVE, Convex, Monotone, Shape, Shaped

BOND_GREEKS: Mapping[str, Greek] = {
    "delta": Greek(("x",)),
    "gamma": Greek(("x", "x")),
    "vega": Greek(("sigma",)),
    "theta": Greek(("t",), sign=-1.0),
}


@dataclass(frozen=True)
class Vasicek(Family, Discount, OwnSteps, AdditiveNoise, ClosedForm, NamedGreeks, Shaped):
    """Zero-coupon bond, normal short rate; inputs x (the rate), t, kappa, theta, sigma.

    Example:
        >>> f = Vasicek()
        >>> at = f.domain.join(dict(x=0.03, t=5.0, kappa=0.5, theta=0.04, sigma=0.01))
        >>> round(f.closed_form(*f.domain.split(at)).item(), 6)
        0.834287
    """

    greeks: ClassVar[Mapping[str, Greek]] = BOND_GREEKS

    @property
    def domain(self) -> Domain:
        """Curves from a day to thirty years."""
        return Domain(
            x=Box(-0.02, 0.12),
            t=Box(0.0, 30.0),
            kappa=Box(0.1, 1.5),
            theta=Box(0.0, 0.1),
            sigma=Box(0.002, 0.03),
        )

    def drift(self, x: Tensor, p: Params) -> Tensor:
        """κ(θ − r)."""
        return p.kappa * (p.theta - x)

    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """σ dw."""
        return p.sigma * dw

    def discount(self, x: Tensor, p: Params) -> Tensor:
        """r."""
        return x

    def initial(self, x: Tensor, p: Params) -> Tensor:
        """1."""
        return torch.ones_like(x)

    def step(self, x: Tensor, h: Tensor, p: Params, z: Tensor) -> Tensor:
        """r + (1 − e^{−κh})(θ − r) + σ √((1 − e^{−2κh})/2κ) z."""
        deviation = p.sigma * root(-(-2.0 * p.kappa * h).expm1() / (2.0 * p.kappa))
        return x - (-p.kappa * h).expm1() * (p.theta - x) + deviation * z

    def closed_form(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """exp(−θt − (r − θ)B + ½V), in float64."""
        r, time, kappa, theta, sigma = (v.double() for v in (x, t, p.kappa, p.theta, p.sigma))
        held = -(-kappa * time).expm1() / kappa
        rest = time - 2.0 * held - (-2.0 * kappa * time).expm1() / (2.0 * kappa)
        variance = (sigma / kappa).square() * rest
        u: Tensor = (0.5 * variance - theta * time - (r - theta) * held).exp()
        return u.to(x.dtype)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The higher the rates, the cheaper the bond; the wilder, the dearer."""
        falling = Monotone("x", -1), Monotone("theta", -1)
        return (NOT_NEGATIVE, *falling, Monotone("sigma", 1), Convex("x"))
