"""Families of a user's own where nothing moves; tests find them as `still.py:Still`, …"""

from dataclasses import dataclass

import torch

import feynkac as fk


@dataclass(frozen=True)
class Still(fk.Family):
    """u(x, t) = x, or NaN where x < hole."""

    hole: float = 0.0

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(0.0, 1.0), t=fk.Box(0.0, 1.0))

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return torch.zeros_like(dw)

    def initial(self, x, p):
        return torch.where((x > 0.0) & (x < self.hole), torch.nan, x)


@dataclass(frozen=True)
class Holey(Still):
    """Breaks in training, seldom enough to pass the checks before it."""

    hole: float = 0.001


@dataclass(frozen=True)
class Unwritten(Still):
    """With a field that cannot be written down."""

    hole: object = torch.zeros(())


class Lacking(fk.Family):
    """Has nothing that a family needs."""
