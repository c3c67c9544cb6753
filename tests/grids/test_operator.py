"""Formulas that jump between two nodes, against laws of Brownian motion."""

from dataclasses import dataclass

import pytest
import scipy.special
import torch

import feynkac as fk
from feynkac.grids.grid import Grid, read_grid


@dataclass(frozen=True)
class BelowZero(fk.Family):
    """A Brownian motion from an x near which the grid has its nodes."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(-0.5, 1.0), t=fk.Box(0.1, 2.0), level=fk.Box(-0.5, 0.5))

    def drift(self, x, p):
        return 0.0

    def diffusion(self, x, dw, p):
        return dw

    def below(self, x, p):
        return 2.0 * (x < p.level).to(x.dtype)


class Killed(BelowZero, fk.Discount):
    def discount(self, x, p):
        return self.below(x, p)

    def initial(self, x, p):
        return 1.0


class Paid(BelowZero, fk.Source):
    def source(self, x, p):
        return self.below(x, p)

    def initial(self, x, p):
        return 0.0 * x


@pytest.mark.parametrize(
    ("family", "law"),
    [
        # from the level, the time t A below it has the arcsine law (Lévy), of mean ½
        (Killed(), lambda t: scipy.special.ive(0, t)),  # E e^{−2tA} = e^{−t} I₀(t)
        (Paid(), lambda t: t),
    ],
    ids=["discount", "source"],
)
def test_a_jump_between_two_nodes_costs_little(family, law):
    level, t = torch.tensor([-0.37, 0.0, 0.11, 0.234]).double(), torch.tensor([0.3, 1.7]).double()
    level, t = (v.flatten() for v in torch.meshgrid(level, t, indexing="ij"))
    inputs = torch.stack([level, t, level], -1).unsqueeze(1)
    known = torch.as_tensor(law(t.numpy()))
    for grid in (Grid((65,), 24), Grid((129,), 48)):
        found = read_grid(family, grid, inputs).value.flatten()
        assert (found - known).abs().max() < 2e-3  # up to 3e-2 by values at the nodes
