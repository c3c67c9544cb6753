"""Call under Heston's model by full truncation, calibrated boxes: also where ν² > 4κθ."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import feynkac as fk
from feynkac.user_files import import_file

fourier = import_file(f"{Path(__file__).parent}/references/fourier.py")

AREA = "equity"
METHOD = "Fourier"


@dataclass(frozen=True)
class HestonCall(fk.Family):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box([80.0, 0.01], [120.0, 0.15]),
            t=fk.Box(0.1, 2.0),
            kappa=fk.Box(0.5, 4.0),
            theta=fk.Box(0.02, 0.12),
            nu=fk.Box(0.1, 1.0),
            rho=fk.Box(-0.9, 0.0),
            strike=fk.Box(80.0, 120.0),
        )

    def drift(self, x, p):
        v = x[..., 1:].clamp_min(0.0)
        return torch.cat([torch.zeros_like(v), p.kappa * (p.theta - v)], dim=-1)

    def diffusion(self, x, dw, p):
        root = x[..., 1:].clamp_min(0.0).sqrt()
        first, other = dw[..., :1], dw[..., 1:]
        second = p.rho * first + (1.0 - p.rho**2).sqrt() * other
        return torch.cat([root * x[..., :1] * first, p.nu * root * second], dim=-1)

    def initial(self, x, p):
        return (x[..., :1] - p.strike).clamp_min(0.0)


def reference(x, t, p):
    return np.concatenate([block(x[i], t[i], p, i) for i in np.array_split(np.arange(len(x)), 8)])


def block(x, t, p, rows):
    kappa, theta, nu, rho = (v[rows] for v in (p.kappa, p.theta, p.nu, p.rho))

    def psi(z):
        """In the form that has no jumps of the logarithm (Albrecher et al. 2007)."""
        shifted = kappa - 1j * rho * nu * z
        d = np.sqrt(shifted**2 + nu**2 * (1j * z + z**2))
        g, decay = (shifted - d) / (shifted + d), np.exp(-d * t)
        log = np.log((1.0 - g * decay) / (1.0 - g))
        first = kappa * theta / nu**2 * ((shifted - d) * t - 2.0 * log)
        return np.exp(first + (shifted - d) * (1.0 - decay) / (1.0 - g * decay) / nu**2 * x[:, 1:])

    return fourier.call(x[:, :1], p.strike[rows], psi)
