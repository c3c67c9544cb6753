"""Call under a local volatility with a skew in the price and a term structure in the calendar.

dS = r S ds + σ (1 + skew tanh(1 − S/100)) (1 + term e^{−s}) S dW,   s the calendar, 2 − t now.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import feynkac as fk
from feynkac.user_files import import_file

grid = import_file(f"{Path(__file__).parent}/references/grid.py")

AREA = "equity"
METHOD = "finite differences"
INPUTS = 256
END = 2.0


@dataclass(frozen=True)
class LocalVolatility(fk.Family, fk.Rate, fk.TimeDependent):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(70.0, 130.0),
            t=fk.Box(0.05, END),
            sigma=fk.Box(0.1, 0.4),
            skew=fk.Box(0.0, 0.8),
            term=fk.Box(-0.3, 0.5),
            strike=fk.Box(70.0, 130.0),
            rate=fk.Box(0.0, 0.05),
        )

    def volatility(self, x, p):
        calendar = END - p.t
        return (
            p.sigma * (1.0 + p.skew * (1.0 - x / 100.0).tanh()) * (1.0 + p.term * (-calendar).exp())
        )

    def drift(self, x, p):
        return p.rate * x

    def diffusion(self, x, dw, p):
        return self.volatility(x, p) * x * dw

    def initial(self, x, p):
        return (x - p.strike).clamp_min(0.0)


def reference(x, t, p):
    """In y = ln(S/K)."""
    columns = (x, t, p.sigma, p.skew, p.term, p.strike, p.rate)
    rows = zip(*(column[:, 0] for column in columns), strict=True)
    return np.array([[value(*row)] for row in rows])


def value(x, t, sigma, skew, term, strike, rate):
    def coefficients(y, time):
        price = strike * np.exp(y)
        level = sigma * (1.0 + skew * np.tanh(1.0 - price / 100.0))
        a = 0.5 * (level * (1.0 + term * np.exp(time - END))) ** 2
        return a, rate - a, rate, 0.0

    def start(y):
        return strike * np.maximum(np.expm1(y), 0.0)

    at = np.log(x / strike)
    width = abs(at) + 7.0 * 1.8 * sigma * np.sqrt(t)
    return grid.solve(at, (-width, width), t, coefficients, start, nodes=1000, steps=80)
