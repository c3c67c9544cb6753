"""Underdamped Langevin particle in a harmonic trap:  dx = v dt,  dv = −(γv + kx) dt + √(2γT) dW."""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.linalg import expm

import feynkac as fk

AREA = "physics"
METHOD = "closed form"


@dataclass(frozen=True)
class UnderdampedLangevin(fk.Family, fk.NoiseDimension):
    noise_dim = 1

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-1.5, 1.5, shape=(2,)),
            t=fk.Box(0.0, 3.0),
            friction=fk.Box(0.2, 2.0),
            stiffness=fk.Box(0.5, 3.0),
            temperature=fk.Box(0.1, 1.0),
        )

    def drift(self, x, p):
        place, speed = x[..., :1], x[..., 1:]
        return torch.cat([speed, -p.friction * speed - p.stiffness * place], dim=-1)

    def diffusion(self, x, dw, p):
        return torch.cat([torch.zeros_like(dw), (2.0 * p.friction * p.temperature).sqrt() * dw], -1)

    def initial(self, x, p):
        return (-2.0 * (x[..., :1] - 0.5).square()).exp()


def reference(x, t, p):
    """The place is normal; its variance falls short of T/k by what the start still explains."""
    columns = (c[:, 0] for c in (t, p.friction, p.stiffness, p.temperature))
    return np.array([[value(*row)] for row in zip(x, *columns, strict=True)])


def value(x, t, friction, stiffness, temperature):
    flow = expm(t * np.array([[0.0, 1.0], [-stiffness, -friction]]))
    rest = np.diag([temperature / stiffness, temperature])
    variance = (rest - flow @ rest @ flow.T)[0, 0]
    mean = (flow @ x)[0] - 0.5
    return np.exp(-2.0 * mean**2 / (1.0 + 4.0 * variance)) / np.sqrt(1.0 + 4.0 * variance)
