"""The root of a state that is positive in the domain, but not along paths."""

from dataclasses import dataclass

import feynkac as fk


@dataclass(frozen=True)
class FallsBelowZero(fk.Family, fk.ExactSampler):
    @property
    def domain(self):
        return fk.Domain(x=fk.Box(0.1, 0.2), t=fk.Box(0.0, 1.0), sigma=fk.Box(0.1, 0.2))

    def drift(self, x, p):
        return 0.0 * x

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def exact(self, x, t, p, z):
        return x + p.sigma * t.sqrt() * z

    def initial(self, x, p):
        return x.sqrt()
