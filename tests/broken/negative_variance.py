"""The variance θ − 0.02 is negative in part of the domain, and its root is taken."""

from dataclasses import dataclass

import feynkac as fk


@dataclass(frozen=True)
class NegativeVariance(fk.Family):
    @property
    def domain(self):
        return fk.Domain(x=fk.Box(0.5, 1.0), t=fk.Box(0.0, 1.0), theta=fk.Box(0.0, 0.1))

    def drift(self, x, p):
        return -x

    def diffusion(self, x, dw, p):
        return (p.theta - 0.02).sqrt() * dw

    def initial(self, x, p):
        return x.square()
