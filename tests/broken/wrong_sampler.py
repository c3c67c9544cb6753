"""Exact draws with the mean of another drift."""

from dataclasses import dataclass

from feynkac.families.models.black_scholes import BlackScholes


@dataclass(frozen=True)
class WrongSampler(BlackScholes):
    def exact(self, x, t, p, z):
        v = p.sigma * t.sqrt()
        return x * (v * z).exp()  # − ½v² is missing
