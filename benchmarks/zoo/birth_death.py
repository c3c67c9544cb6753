"""Chemical Langevin equation of birth and death, φ its generating function:

dX = (k − γX) dt + √(k + γX) dW,   φ(x) = e^{−sx}.
"""

from dataclasses import dataclass

import numpy as np

import feynkac as fk

AREA = "chemistry"
METHOD = "closed form"


@dataclass(frozen=True)
class BirthDeath(fk.Family):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(0.0, 30.0),
            t=fk.Box(0.0, 3.0),
            birth=fk.Box(2.0, 20.0),
            death=fk.Box(0.3, 2.0),
            s=fk.Box(0.01, 0.2),
        )

    def drift(self, x, p):
        return p.birth - p.death * x

    def diffusion(self, x, dw, p):
        return (p.birth + p.death * x).clamp_min(0.0).sqrt() * dw

    def initial(self, x, p):
        return (-p.s * x).exp()


def reference(x, t, p):
    """k + γX is a square-root process with mean 2k, speed γ and volatility γ."""
    decay, slope = np.exp(-p.death * t), p.s / p.death
    below = 1.0 + 0.5 * p.s * (1.0 - decay)
    start = p.birth + p.death * x
    exponent = slope * p.birth - slope * decay * start / below
    return np.exp(exponent - 4.0 * p.birth / p.death * np.log(below))
