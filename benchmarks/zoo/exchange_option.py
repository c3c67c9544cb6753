"""Right to exchange one asset for another:  φ = (S₁ − S₂)⁺  (Margrabe)."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import feynkac as fk
from feynkac.user_files import import_file

black = import_file(f"{Path(__file__).parent}/references/black.py")

AREA = "equity"
METHOD = "closed form"


@dataclass(frozen=True)
class ExchangeOption(fk.Family):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(70.0, 130.0, shape=(2,)),
            t=fk.Box(0.0, 2.0),
            sigma=fk.Box(0.1, 0.5, shape=(2,)),
            rho=fk.Box(-0.8, 0.8),
        )

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        first = dw[..., :1]
        second = p.rho * first + (1.0 - p.rho**2).sqrt() * dw[..., 1:]
        return p.sigma * x * torch.cat([first, second], dim=-1)

    def initial(self, x, p):
        return (x[..., :1] - x[..., 1:]).clamp_min(0.0)


def reference(x, t, p):
    one, two = p.sigma[:, :1], p.sigma[:, 1:]
    variance = (one**2 + two**2 - 2.0 * p.rho * one * two) * t
    return black.call(x[:, :1], x[:, 1:], np.sqrt(variance))
