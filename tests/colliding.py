"""A family of a user's own whose parameters are named like options of a solution's methods."""

from dataclasses import dataclass

import torch

import feynkac as fk


@dataclass(frozen=True)
class Colliding(fk.Family, fk.ExactSampler, fk.ClosedForm):
    """dX = noise dB, φ(x) = value x²:  u = value (x² + noise² t)."""

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(0.5, 1.5),
            t=fk.Box(0.0, 1.0),
            noise=fk.Box(0.1, 0.6),
            value=fk.Box(1.0, 2.0),
        )

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return p.noise * dw

    def initial(self, x, p):
        return p.value * x.square()

    def exact(self, x, t, p, z):
        return x + p.noise * t.sqrt() * z

    def closed_form(self, x, t, p):
        return p.value * (x.square() + p.noise.square() * t)


@dataclass(frozen=True)
class Worse(fk.Family):
    """Nothing moves, and every parameter has the name of an option or argument."""

    @property
    def domain(self):
        names = ("model", "seed", "tolerance", "effort", "report", "extrapolate", "corrected")
        more = ("name", "first", "second", "direction", "free", "values", "known", "at", "self")
        box = fk.Box(0.0, 1.0)
        return fk.Domain(x=box, t=box, **dict.fromkeys(names + more, box))

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return torch.zeros_like(dw)

    def initial(self, x, p):
        return x + p.seed + p.name + p.at + p.self
