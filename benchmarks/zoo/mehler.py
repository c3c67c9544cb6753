"""Quantum harmonic oscillator in imaginary time, three dimensions: c = ½ω²|x|², φ = e^{−|x−m|²}."""

from dataclasses import dataclass

import numpy as np
import torch

import feynkac as fk

AREA = "physics"
METHOD = "closed form (Mehler)"


@dataclass(frozen=True)
class Mehler(fk.Family, fk.Discount):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-1.5, 1.5, shape=(3,)),
            t=fk.Box(0.0, 2.0),
            omega=fk.Box(0.3, 2.0),
            centre=fk.Box(-0.5, 0.5, shape=(3,)),
        )

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return dw

    def discount(self, x, p):
        return 0.5 * p.omega**2 * x.square().sum(-1, keepdim=True)

    def initial(self, x, p):
        return (-(x - p.centre).square().sum(-1, keepdim=True)).exp()


def reference(x, t, p):
    """Mehler's kernel against a Gaussian, coordinate by coordinate."""
    w, angle = p.omega, np.maximum(p.omega * t, 1e-9)
    a = 1.0 + 0.5 * w / np.tanh(angle)
    b = 2.0 * p.centre + w * x / np.sinh(angle)
    exponent = b**2 / (4.0 * a) - p.centre**2 - 0.5 * w * x**2 / np.tanh(angle)
    factor = np.sqrt(w / (2.0 * np.sinh(angle) * a))
    return (factor * np.exp(exponent)).prod(-1, keepdims=True)
