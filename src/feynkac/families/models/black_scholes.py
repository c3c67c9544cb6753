r"""Black–Scholes put (paper, Section 3.1), with v = σ√t and h = −ln(x/K)/v − v/2:

    dS = σ S dB,   φ(x) = max(K − x, 0),     u = K Ψ(h + v) − x Ψ(h).

In `dim` > 1 the assets are independent and φ is the mean of their puts. At t = 0 the formulas
above divide by zero; value and derivatives are then those of the payoff, and finite (at the kink
x = K: Δ = −½, Γ = Θ = 0).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from feynkac.families.capabilities import (
    ClosedPartials,
    DiagonalNoise,
    ExactSampler,
    Greek,
    NamedGreeks,
)
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.families.formulas.normal_law import cdf, pdf
from feynkac.families.formulas.safe_root import positive
from feynkac.families.measures.box import Box
from feynkac.families.point import Params
from feynkac.families.quoted import Quote, Quoted
from feynkac.families.shapes import NOT_NEGATIVE, Convex, Monotone, Shape, Shaped, quoted_shapes


@dataclass(frozen=True)
class BlackScholes(
    Family, ExactSampler, DiagonalNoise, ClosedPartials, NamedGreeks, Quoted, Shaped
):
    """European put without interest; inputs x, t (time to maturity), sigma, strike.

    Example:
        >>> f = BlackScholes()
        >>> at = f.domain.join(dict(x=9.5, t=0.5, sigma=0.35, strike=11.0))
        >>> round(f.closed_form(*f.domain.split(at)).item(), 6)
        1.930283
    """

    dim: int = 1

    greeks: ClassVar[Mapping[str, Greek]] = {
        "delta": Greek(("x",)),
        "gamma": Greek(("x", "x")),
        "vega": Greek(("sigma",)),
        "theta": Greek(("t",), sign=-1.0),
        "vanna": Greek(("x", "sigma")),
        "volga": Greek(("sigma", "sigma")),
    }
    learns_volatility: ClassVar[bool] = False  # the paper's problem stays one

    @property
    def domain(self) -> Domain:
        """The paper's region, Table 5."""
        return Domain(
            x=Box(9.0, 10.0, shape=() if self.dim == 1 else (self.dim,)),
            t=Box(0.0, 1.0),
            sigma=Box(0.1, 0.6),
            strike=Box(10.0, 12.0),
        )

    def drift(self, x: Tensor, p: Params) -> Tensor:
        """Zero."""
        return torch.zeros_like(x)

    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """σ x dw, asset by asset."""
        return p.sigma * x * dw

    def initial(self, x: Tensor, p: Params) -> Tensor:
        """max(K − x, 0), mean over the assets.  Shape: `(…, d)` → `(…, 1)`."""
        return (p.strike - x).clamp_min(0.0).mean(-1, keepdim=True)

    def exact(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """x exp(−½σ²t + σ√t z)."""
        v = p.sigma * t.sqrt()
        return x * (v * z - 0.5 * v.square()).exp()

    def closed_form(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """K Ψ(h + v) − x Ψ(h), mean over the assets."""
        h, v = _h_and_v(x, t, p)
        put = p.strike * cdf(h + v) - x * cdf(h)
        return torch.where(t > 0, put.mean(-1, keepdim=True), self.initial(x, p))

    def closed_partials(self, x: Tensor, t: Tensor, p: Params) -> dict[str, Tensor]:
        """Δ, ∂u/∂t = −Θ, Vega and ∂u/∂K = Ψ(h + v)."""
        h, v = _h_and_v(x, t, p)
        density = x * pdf(h)
        at_maturity = 0.5 * (1.0 + torch.sign(p.strike - x))
        below = torch.where(t > 0, cdf(h), at_maturity)
        exercised = torch.where(t > 0, cdf(h + v), at_maturity)
        by_time = torch.where(t > 0, density * p.sigma * positive(t).rsqrt() / 2, 0.0)
        return {
            "x": -below / self.dim,
            "t": by_time.mean(-1, keepdim=True),
            "sigma": (density * t.sqrt()).mean(-1, keepdim=True),
            "strike": exercised.mean(-1, keepdim=True),
        }

    def closed_gamma(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """Γ = ∂²u/∂x², asset by asset.  Shape: `(…, d)`."""
        h, v = _h_and_v(x, t, p)
        return torch.where(t > 0, pdf(h) / (x * v), 0.0) / self.dim

    def quote(self, x: Tensor, t: Tensor, p: Params) -> Quote | None:
        """The put on one asset."""
        return Quote(x, p.strike, call=False) if self.dim == 1 else None

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Of a put without interest."""
        along_state: list[Shape] = []
        for entry in self.domain.entries[: self.dim]:
            along_state += [Monotone(entry, -1), Convex(entry)]
        growing = [Monotone(name, 1) for name in ("strike", "sigma", "t")]
        bounds = quoted_shapes(self) if self.dim == 1 else (NOT_NEGATIVE,)
        return (*bounds, *growing, Convex("strike"), *along_state)


def _h_and_v(x: Tensor, t: Tensor, p: Params) -> tuple[Tensor, Tensor]:
    """h and v, both as for t = 1 where t = 0, so that no gradient divides by zero."""
    v = p.sigma * positive(t).sqrt()
    return (p.strike / x).log() / v - v / 2, v
