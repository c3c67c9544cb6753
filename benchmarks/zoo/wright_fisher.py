"""Heterozygosity 2x(1 − x) under drift and mutation (Wright and Fisher):

dX = (a(1 − X) − bX) dt + √(s X(1 − X)) dW.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm

import feynkac as fk

AREA = "biology"
METHOD = "closed form (moments)"


@dataclass(frozen=True)
class WrightFisher(fk.Family):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(0.0, 1.0),
            t=fk.Box(0.0, 3.0),
            a=fk.Box(0.0, 0.2),
            b=fk.Box(0.0, 0.2),
            s=fk.Box(0.05, 0.5),
        )

    def drift(self, x, p):
        return p.a * (1.0 - x) - p.b * x

    def diffusion(self, x, dw, p):
        return (p.s * x * (1.0 - x)).clamp_min(0.0).sqrt() * dw

    def initial(self, x, p):
        return 2.0 * x * (1.0 - x)


def reference(x, t, p):
    columns = (x, t, p.a, p.b, p.s)
    rows = zip(*(c[:, 0] for c in columns), strict=True)
    return np.array([[value(*row)] for row in rows])


def value(x, t, a, b, s):
    """The first two moments solve a linear system."""
    system = np.array([[0.0, 0.0, 0.0], [a, -a - b, 0.0], [0.0, 2.0 * a + s, -2.0 * (a + b) - s]])
    _, first, second = expm(t * system) @ [1.0, x, x**2]
    return 2.0 * (first - second)
