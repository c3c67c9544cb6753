r"""Black, Scholes and Merton (1973), with F = x e^{(r − q) t} and d₁, d₂ = ln(F/K)/σ√t ± ½σ√t:

dS = (r − q) S dt + σ S dB,   c = r,   φ(x) = max(x − K, 0):
u = e^{−rt} (F Ψ(d₁) − K Ψ(d₂));     put and digital likewise, see `expected_payoff.py`.
"""

from dataclasses import dataclass

from feynkac.families.models.lognormal import European
from feynkac.families.payoff import Payoff


@dataclass(frozen=True)
class BlackScholesMerton(European):
    """European option with interest and dividends.

    Inputs x, t (time to maturity), sigma, rate, dividend, strike.

    Example:
        >>> f = BlackScholesMerton()
        >>> at = dict(x=100, t=1, sigma=0.2, rate=0.05, dividend=0.02, strike=100)
        >>> round(f.closed_form(*f.domain.split(f.domain.join(at))).item(), 6)
        9.227006
    """

    payoff: Payoff = Payoff("call")
