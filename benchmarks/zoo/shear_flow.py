"""A passive tracer in a shear flow:  dx = s y dt + √(2D) dW₁,  dy = √(2D) dW₂."""

from dataclasses import dataclass

import numpy as np
import torch

import feynkac as fk

AREA = "physics"
METHOD = "closed form"


@dataclass(frozen=True)
class ShearFlow(fk.Family):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-1.5, 1.5, shape=(2,)),
            t=fk.Box(0.0, 2.0),
            shear=fk.Box(-2.0, 2.0),
            diffusivity=fk.Box(0.02, 0.3),
        )

    def drift(self, x, p):
        return torch.cat([p.shear * x[..., 1:], torch.zeros_like(x[..., 1:])], dim=-1)

    def diffusion(self, x, dw, p):
        return (2.0 * p.diffusivity).sqrt() * dw

    def initial(self, x, p):
        return (-2.0 * x.square().sum(-1, keepdim=True)).exp()


def reference(x, t, p):
    """Of a normal law with mean m, covariance C:  |I + 4C|^{−½} exp(−2 mᵀ (I + 4C)⁻¹ m)."""
    two, s = 2.0 * p.diffusivity * t, p.shear * t
    a, b, d = 1.0 + 4.0 * two * (1.0 + s**2 / 3.0), 2.0 * two * s, 1.0 + 4.0 * two
    along, across = x[:, :1] + s * x[:, 1:], x[:, 1:]
    determinant = a * d - b**2
    form = (d * along**2 - 2.0 * b * along * across + a * across**2) / determinant
    return np.exp(-2.0 * form) / np.sqrt(determinant)
