r"""Cash or nothing, with d₂ = (ln(x/K) + (r − q) t)/σ√t − ½σ√t:

dS = (r − q) S dt + σ S dB,   c = r,   φ(x) = 1{x > K},     u = e^{−rt} Ψ(d₂).
"""

from dataclasses import dataclass
from typing import ClassVar

from feynkac.families.capabilities import Jumps
from feynkac.families.models.lognormal import European
from feynkac.families.payoff import Payoff
from feynkac.families.shapes import Bounded, Monotone, Shape, Shaped, strike_shapes


@dataclass(frozen=True)
class Digital(European, Jumps, Shaped):
    """Pays 1 if the asset ends above the strike; inputs as of `BlackScholesMerton`.

    Example:
        >>> f = Digital()
        >>> at = dict(x=100, t=1, sigma=0.2, rate=0.05, dividend=0.02, strike=100)
        >>> round(f.closed_form(*f.domain.split(f.domain.join(at))).item(), 6)
        0.494581
    """

    payoff: ClassVar[Payoff] = Payoff("digital")

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Between 0 and e^{−rt}; more of the asset or a lower strike is better."""
        bond = Bounded(upper=lambda x, t, p: (-p.rate * t).exp(), words="is below the bond")
        return (*strike_shapes(self.payoff), bond, Monotone("x", 1))
