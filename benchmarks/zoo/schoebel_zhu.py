"""Call under Schöbel and Zhu's model:  dS = v S dW₁,  dv = κ(θ − v) dt + ξ dW₂."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import feynkac as fk
from feynkac.user_files import import_file

fourier = import_file(f"{Path(__file__).parent}/references/fourier.py")

AREA = "equity"
METHOD = "Fourier"
INPUTS = 256


@dataclass(frozen=True)
class SchoebelZhu(fk.Family):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box([80.0, 0.1], [120.0, 0.4]),
            t=fk.Box(0.25, 2.0),
            kappa=fk.Box(0.5, 4.0),
            theta=fk.Box(0.1, 0.4),
            xi=fk.Box(0.1, 0.4),
            rho=fk.Box(-0.9, 0.0),
            strike=fk.Box(80.0, 120.0),
        )

    def drift(self, x, p):
        price, v = x[..., :1], x[..., 1:]
        return torch.cat([torch.zeros_like(price), p.kappa * (p.theta - v)], dim=-1)

    def diffusion(self, x, dw, p):
        price, v = x[..., :1], x[..., 1:]
        second = p.rho * dw[..., :1] + (1.0 - p.rho**2).sqrt() * dw[..., 1:]
        return torch.cat([v * price * dw[..., :1], p.xi * second], dim=-1)

    def initial(self, x, p):
        return (x[..., :1] - p.strike).clamp_min(0.0)


def reference(x, t, p):
    return np.concatenate([block(x[i], t[i], p, i) for i in np.array_split(np.arange(len(x)), 8)])


def block(x, t, p, rows, steps=300):
    kappa, theta, xi, rho = (v[rows] for v in (p.kappa, p.theta, p.xi, p.rho))

    def psi(z):
        """exp(A + B v + C v²), whose Riccati equations are solved by Runge and Kutta's rule."""

        def slope(state):
            _, b, c = state
            along = rho * xi * 1j * z
            return np.stack(
                [
                    kappa * theta * b + 0.5 * xi**2 * (b**2 + 2.0 * c),
                    (along - kappa) * b + 2.0 * xi**2 * b * c + 2.0 * kappa * theta * c,
                    -0.5 * (z**2 + 1j * z) + 2.0 * (along - kappa) * c + 2.0 * xi**2 * c**2,
                ]
            )

        state, h = np.zeros((3, len(x), z.shape[-1]), dtype=complex), t / steps
        for _ in range(steps):
            k1 = slope(state)
            k2 = slope(state + 0.5 * h * k1)
            k3 = slope(state + 0.5 * h * k2)
            state = state + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + slope(state + h * k3))
        a, b, c = state
        v = x[:, 1:]
        return np.exp(a + b * v + c * v**2)

    return fourier.call(x[:, :1], p.strike[rows], psi, highest=150.0, panels=16)
