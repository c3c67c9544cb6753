"""Call on a commodity of Schwartz's first model:  dS = κ(μ − ln S) S dt + σ S dW."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import feynkac as fk
from feynkac.user_files import import_file

black = import_file(f"{Path(__file__).parent}/references/black.py")

AREA = "commodities"
METHOD = "closed form"


@dataclass(frozen=True)
class SchwartzCommodity(fk.Family, fk.Rate):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(15.0, 35.0),
            t=fk.Box(0.05, 2.0),
            kappa=fk.Box(0.3, 2.0),
            mu=fk.Box(2.9, 3.4),
            sigma=fk.Box(0.15, 0.5),
            strike=fk.Box(15.0, 35.0),
            rate=fk.Box(0.0, 0.06),
        )

    def drift(self, x, p):
        return p.kappa * (p.mu - x.log()) * x

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def initial(self, x, p):
        return (x - p.strike).clamp_min(0.0)


def reference(x, t, p):
    decay = np.exp(-p.kappa * t)
    mean = decay * np.log(x) + (p.mu - p.sigma**2 / (2.0 * p.kappa)) * (1.0 - decay)
    variance = p.sigma**2 * (1.0 - decay**2) / (2.0 * p.kappa)
    forward = np.exp(mean + 0.5 * variance)
    return np.exp(-p.rate * t) * black.call(forward, p.strike, np.sqrt(variance))
