"""Strip of five calls on a mean-reverting price of electricity, which may be negative."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import feynkac as fk
from feynkac.user_files import import_file

black = import_file(f"{Path(__file__).parent}/references/black.py")

AREA = "commodities"
METHOD = "closed form"
STRIKES = [0.0, 20.0, 40.0, 60.0, 80.0]


@dataclass(frozen=True)
class PowerStrip(fk.Family, fk.Rate, fk.VectorValued):
    outputs = 5

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-20.0, 100.0),
            t=fk.Box(0.01, 1.0),
            kappa=fk.Box(1.0, 20.0),
            level=fk.Box(20.0, 60.0),
            sigma=fk.Box(20.0, 120.0),
            rate=fk.Box(0.0, 0.05),
        )

    def drift(self, x, p):
        return p.kappa * (p.level - x)

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def initial(self, x, p):
        return (x - torch.tensor(STRIKES, dtype=x.dtype, device=x.device)).clamp_min(0.0)


def reference(x, t, p):
    mean = p.level + (x - p.level) * np.exp(-p.kappa * t)
    deviation = p.sigma * np.sqrt(-np.expm1(-2.0 * p.kappa * t) / (2.0 * p.kappa))
    return np.exp(-p.rate * t) * black.normal_call(mean, np.array(STRIKES), deviation)
