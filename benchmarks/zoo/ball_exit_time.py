"""Mean time min(τ, t) to leave a ball in five dimensions:  dX = √(2D) dW,  f = 1,  u = 0 at R."""

from dataclasses import dataclass

import numpy as np
import torch

import feynkac as fk

AREA = "physics"
METHOD = "Bessel series"


@dataclass(frozen=True)
class BallExitTime(fk.Family, fk.Source, fk.Absorbing):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-0.4, 0.4, shape=(5,)),
            t=fk.Box(0.0, 1.0),
            diffusivity=fk.Box(0.2, 1.0),
            radius=fk.Box(1.0, 1.5),
        )

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return (2.0 * p.diffusivity).sqrt() * dw

    def initial(self, x, p):
        return torch.zeros_like(x[..., :1])

    def source(self, x, p):
        return torch.ones_like(x[..., :1])

    def distance(self, x, p):
        return p.radius - x.norm(dim=-1, keepdim=True)


def reference(x, t, p):
    """(R² − r²)/(10 D) minus a series of eigenfunctions r^{−3/2} J_{3/2}(z r/R)."""
    r = np.linalg.norm(x, axis=-1, keepdims=True)
    z = bessel_zeros(1000)
    rho = np.maximum(r / p.radius, 1e-4)
    shape = (np.cos(z * rho) - np.sin(z * rho) / (z * rho)) / (rho**2 * np.sin(z))
    decay = np.exp(-(z**2) * p.diffusivity * t / p.radius**2)
    left = 2.0 * p.radius**2 / p.diffusivity * (shape / z**3 * decay).sum(-1, keepdims=True)
    return (p.radius**2 - r**2) / (10.0 * p.diffusivity) - left


def bessel_zeros(count):
    """Of J_{3/2}(z), where tan z = z; by Newton's method."""
    z = (np.arange(1, count + 1) + 0.5) * np.pi
    z -= 1.0 / z
    for _ in range(8):
        z -= (np.sin(z) - z * np.cos(z)) / (z * np.sin(z))
    return z
