r"""One asset with interest r and dividends q (Merton 1973), with Z standard normal:

    dS = (r − q) S dt + σ S dB,   c = r,     S_t = x exp((r − q − ½σ²) t + σ√t Z).

So S_t is lognormal with mean F = x e^{(r − q) t}, and the value of a European payoff is
e^{−rt} times an expectation by Black's formula.
"""

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor

from feynkac.families.capabilities import (
    ClosedForm,
    DiagonalNoise,
    ExactSampler,
    Greek,
    NamedGreeks,
    Pays,
    Rate,
)
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.families.formulas.expected_payoff import black
from feynkac.families.formulas.safe_root import root
from feynkac.families.measures.box import Box
from feynkac.families.point import Params

GREEKS: Mapping[str, Greek] = {
    "delta": Greek(("x",)),
    "gamma": Greek(("x", "x")),
    "vega": Greek(("sigma",)),
    "theta": Greek(("t",), sign=-1.0),
    "rho": Greek(("rate",)),
}


class Lognormal(Family, ExactSampler, Rate, DiagonalNoise, NamedGreeks):
    """Base of options on one asset; parameters sigma, rate, dividend and those of the payoff.

    A subclass adds the domain, see `market`, and the initial condition.
    """

    greeks: ClassVar[Mapping[str, Greek]] = GREEKS

    def drift(self, x: Tensor, p: Params) -> Tensor:
        """(r − q) x."""
        return (p.rate - p.dividend) * x

    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """σ x dw."""
        return p.sigma * x * dw

    def exact(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """x exp((r − q − ½σ²) t + σ√t z)."""
        growth = p.rate - p.dividend - 0.5 * p.sigma.square()
        return x * (growth * t + p.sigma * root(t) * z).exp()

    def forward(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """F = x e^{(r − q) t}.  Shape: x, t `(…, 1)` → `(…, 1)`."""
        return x * ((p.rate - p.dividend) * t).exp()

    def european(self, style: str, x: Tensor, t: Tensor, p: Params, strike: Tensor) -> Tensor:
        """e^{−rt} E[style(S_t − K)].  Shape: x, t, strike `(…, 1)` → `(…, 1)`."""
        forward = self.forward(x, t, p)
        return (-p.rate * t).exp() * black(style, forward, strike, p.sigma * root(t))


class European(Lognormal, Pays, ClosedForm):
    """Base of options that pay at maturity only; a subclass says what, as `payoff`."""

    @property
    def domain(self) -> Domain:
        """That of `market`."""
        return market()

    def initial(self, x: Tensor, p: Params) -> Tensor:
        """The payoff."""
        return self.payoff(x, p.strike)

    def closed_form(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """Black's formula, discounted."""
        return self.european(self.payoff.style, x, t, p, p.strike)


def market(**more: Box) -> Domain:
    """Where asset, time to maturity, volatility, rate, dividend and strike live.

    Example:
        >>> list(market(barrier=Box(70, 85)).measures)
        ['x', 't', 'sigma', 'rate', 'dividend', 'strike', 'barrier']
    """
    return Domain(
        x=Box(90.0, 110.0),
        t=Box(0.0, 1.0),
        sigma=Box(0.1, 0.5),
        rate=Box(0.0, 0.1),
        dividend=Box(0.0, 0.05),
        strike=Box(90.0, 110.0),
        **more,
    )
