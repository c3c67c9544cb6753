r"""Black, Scholes and Merton (1973), with F = x e^{(r − q) t} and d₁, d₂ = ln(F/K)/σ√t ± ½σ√t:

dS = (r − q) S dt + σ S dB,   c = r,   φ(x) = max(x − K, 0):
u = e^{−rt} (F Ψ(d₁) − K Ψ(d₂));     put and digital likewise, see `expected_payoff.py`.
"""

from dataclasses import dataclass

from torch import Tensor

from feynkac.families.models.lognormal import European
from feynkac.families.payoff import Payoff
from feynkac.families.point import Params
from feynkac.families.quoted import Quote, Quoted, vanilla
from feynkac.families.shapes import (
    Convex,
    Monotone,
    Shape,
    Shaped,
    quoted_shapes,
    strike_shapes,
)


@dataclass(frozen=True)
class BlackScholesMerton(European, Quoted, Shaped):
    """European option with interest and dividends.

    Inputs x, t (time to maturity), sigma, rate, dividend, strike.

    Example:
        >>> f = BlackScholesMerton()
        >>> at = dict(x=100, t=1, sigma=0.2, rate=0.05, dividend=0.02, strike=100)
        >>> round(f.closed_form(*f.domain.split(f.domain.join(at))).item(), 6)
        9.227006
    """

    payoff: Payoff = Payoff("call")

    def quote(self, x: Tensor, t: Tensor, p: Params) -> Quote | None:
        """Forward x e^{(r − q) t}, discount e^{−rt}."""
        return vanilla(self.payoff, self.forward(x, t, p), p.strike, (-p.rate * t).exp())

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Of calls and puts; of digitals, those along strike and asset."""
        sign = -1 if self.payoff.style == "put" else 1
        always = (*strike_shapes(self.payoff), Monotone("x", sign))
        if self.payoff.jumps:
            return always
        rates = Monotone("sigma", 1), Monotone("rate", sign), Monotone("dividend", -sign)
        return (*quoted_shapes(self), *always, Convex("x"), *rates)
