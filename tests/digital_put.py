"""A family of a user's own whose payoff jumps; tests find it as `digital_put.py:DigitalPut`."""

from dataclasses import dataclass

import torch

import feynkac as fk


@dataclass(frozen=True)
class DigitalPut(fk.Family, fk.ExactSampler, fk.ClosedForm, fk.Jumps):
    """Pays one below the strike, on the domain of the paper's put: u = ∂(put)/∂K."""

    @property
    def domain(self):
        return fk.BlackScholes().domain

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def initial(self, x, p):
        return (x < p.strike).to(x)

    def exact(self, x, t, p, z):
        return fk.BlackScholes().exact(x, t, p, z)

    def closed_form(self, x, t, p):
        return fk.BlackScholes().closed_partials(x, t, p)["strike"]
