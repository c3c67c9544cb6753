"""A digital payoff that does not say so."""

from dataclasses import dataclass

from feynkac.families.models.black_scholes import BlackScholes


@dataclass(frozen=True)
class UndeclaredJump(BlackScholes):
    def initial(self, x, p):
        return (x > p.strike).to(x.dtype)
