r"""Bachelier (1900): a forward price with normal volatility, with d = (x − K)/σ√t:

dF = σ dB,   c = r,   φ(x) = max(x − K, 0):
u = e^{−rt} ((x − K) Ψ(d) + σ√t ψ(d));   put and digital likewise, see `expected_payoff.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from feynkac.families.capabilities import (
    AdditiveNoise,
    ClosedForm,
    ExactSampler,
    Greek,
    NamedGreeks,
    Pays,
    Rate,
)
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.families.formulas.expected_payoff import bachelier
from feynkac.families.formulas.safe_root import root
from feynkac.families.measures.box import Box
from feynkac.families.models.lognormal import GREEKS
from feynkac.families.payoff import Payoff
from feynkac.families.point import Params
from feynkac.families.quoted import Quote, Quoted, vanilla
from feynkac.families.shapes import Convex, Monotone, Shape, Shaped, strike_shapes


@dataclass(frozen=True)
class Bachelier(
    Family, ExactSampler, Rate, Pays, AdditiveNoise, ClosedForm, NamedGreeks, Quoted, Shaped
):
    """European option on a forward with normal noise.

    Inputs x, t (time to maturity), sigma, rate, strike.

    Example:
        >>> f = Bachelier()
        >>> at = f.domain.join(dict(x=100, t=1, sigma=20, rate=0.05, strike=100))
        >>> round(f.closed_form(*f.domain.split(at)).item(), 6)
        7.589713
    """

    payoff: Payoff = Payoff("call")

    greeks: ClassVar[Mapping[str, Greek]] = GREEKS

    @property
    def domain(self) -> Domain:
        """Prices around 100; σ in units of the price."""
        return Domain(
            x=Box(90.0, 110.0),
            t=Box(0.0, 1.0),
            sigma=Box(5.0, 25.0),
            rate=Box(0.0, 0.1),
            strike=Box(90.0, 110.0),
        )

    def drift(self, x: Tensor, p: Params) -> Tensor:
        """Zero."""
        return torch.zeros_like(x)

    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """σ dw."""
        return p.sigma * dw

    def initial(self, x: Tensor, p: Params) -> Tensor:
        """The payoff."""
        return self.payoff(x, p.strike)

    def exact(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """x + σ√t z."""
        return x + p.sigma * root(t) * z

    def closed_form(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """Bachelier's formula, discounted."""
        value = bachelier(self.payoff.style, x, p.strike, p.sigma * root(t))
        return (-p.rate * t).exp() * value

    def quote(self, x: Tensor, t: Tensor, p: Params) -> Quote | None:
        """Forward x, discount e^{−rt}."""
        return vanilla(self.payoff, x, p.strike, (-p.rate * t).exp())

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The forward may be negative, so that a call has no upper bound."""
        sign = -1 if self.payoff.style == "put" else 1
        always = (*strike_shapes(self.payoff), Monotone("x", sign), Monotone("rate", -1))
        if self.payoff.jumps:
            return always
        return (*always, Convex("x"), Monotone("sigma", 1))
