"""Feller's branching diffusion:  dX = b X dt + √(2aX) dW,  u = E e^{−λX}."""

from dataclasses import dataclass

import numpy as np

import feynkac as fk

AREA = "biology"
METHOD = "closed form"


@dataclass(frozen=True)
class FellerBranching(fk.Family):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(0.0, 3.0),
            t=fk.Box(0.0, 2.0),
            a=fk.Box(0.2, 1.0),
            b=fk.Box(-1.0, 1.0),
            lam=fk.LogUniform(0.1, 10.0),
        )

    def drift(self, x, p):
        return p.b * x

    def diffusion(self, x, dw, p):
        return (2.0 * p.a * x.clamp_min(0.0)).sqrt() * dw

    def initial(self, x, p):
        return (-p.lam * x).exp()


def reference(x, t, p):
    growth = np.expm1(p.b * t) / p.b
    return np.exp(-p.lam * np.exp(p.b * t) * x / (1.0 + p.lam * p.a * growth))
