"""The payoff forgets keepdim."""

from dataclasses import dataclass

from feynkac.families.models.black_scholes import BlackScholes


@dataclass(frozen=True)
class WrongPayoffShape(BlackScholes):
    def initial(self, x, p):
        return (p.strike - x).clamp_min(0.0).mean(-1)
