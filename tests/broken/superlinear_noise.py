"""σ(x) = x²."""

from dataclasses import dataclass

from feynkac.families.models.black_scholes import BlackScholes


@dataclass(frozen=True)
class SuperlinearNoise(BlackScholes):
    def diffusion(self, x, dw, p):
        return p.sigma * x.square() * dw
