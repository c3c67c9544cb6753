"""Heat equation with an oscillating start in five dimensions:  φ(x) = ∏ cos(5 xᵢ)."""

from dataclasses import dataclass

import numpy as np
import torch

import feynkac as fk

AREA = "physics"
METHOD = "closed form"


@dataclass(frozen=True)
class HeatCosines(fk.Family):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-1.0, 1.0, shape=(5,)), t=fk.Box(0.0, 0.1), diffusivity=fk.Box(0.05, 0.2)
        )

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return (2.0 * p.diffusivity).sqrt() * dw

    def initial(self, x, p):
        return (5.0 * x).cos().prod(-1, keepdim=True)


def reference(x, t, p):
    decay = np.exp(-25.0 * x.shape[-1] * p.diffusivity * t)
    return decay * np.cos(5.0 * x).prod(-1, keepdims=True)
