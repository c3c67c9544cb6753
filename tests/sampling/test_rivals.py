"""Euler's steps where flows fail, flows everywhere else."""

from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.sampling.rivals import steadier

pytestmark = pytest.mark.slow

FLOWS, QUICK = fk.NinomiyaVictoir(steps=4, noise="diagonal"), fk.ExtrapolatedEuler(steps=16)


@dataclass(frozen=True)
class Rates(fk.Family, fk.Discount):
    """Three square-root processes, whose sum is an interest rate."""

    root: str = "clamp"

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box([0.0] * 3, [0.1] * 3),
            t=fk.Box(0.0, 3.0),
            kappa=fk.Box(0.2, 1.5),
            theta=fk.Box(0.01, 0.08),
            sigma=fk.Box(0.05, 0.4),
        )

    def drift(self, x, p):
        return p.kappa * (p.theta - x)

    def diffusion(self, x, dw, p):
        roots = {
            "clamp": lambda: x.clamp_min(0.0).sqrt(),
            "absolute": lambda: x.abs().sqrt(),
            "safe": lambda: fk.safe_root(x),
            "smooth": lambda: x,
        }
        return p.sigma * roots[self.root]() * dw

    def initial(self, x, p):
        return torch.ones_like(x[..., :1])

    def discount(self, x, p):
        return x.sum(-1, keepdim=True)


def bond(family, inputs):
    """Cox, Ingersoll and Ross."""
    x, t, p = family.domain.split(inputs)
    g = (p.kappa.square() + 2.0 * p.sigma.square()).sqrt()
    e = (g * t).expm1()
    below = (g + p.kappa) * e + 2.0 * g
    factor = (2.0 * g * (0.5 * (p.kappa + g) * t).exp() / below).log()
    constant = 2.0 * p.kappa * p.theta / p.sigma.square() * factor
    return (3.0 * constant - 2.0 * e / below * x.sum(-1, keepdim=True)).exp()


@pytest.mark.parametrize("root", ["clamp", "absolute", "safe"])
def test_a_root_that_reaches_zero_is_for_euler_and_accurate(root):
    family = Rates(root)
    assert steadier(family, FLOWS, QUICK) == QUICK
    inputs = family.domain.sample(48, torch.Generator().manual_seed(0), torch.float64)
    generator = torch.Generator().manual_seed(1)
    found = fk.monte_carlo(family, QUICK, inputs, 2**14, generator)
    error = found.value - bond(family, inputs)
    assert (error.square() - found.error.square()).mean() < 6e-4**2


VOLATILE = fk.BlackScholes().on(t=fk.Box(1.0, 2.0), sigma=fk.Box(0.8, 1.2))


@pytest.mark.parametrize(
    "family", [Rates("smooth"), fk.BlackScholes(), fk.BlackScholes(dim=3), VOLATILE], ids=str
)
def test_smooth_noise_is_for_flows(family):
    """Also where labels are noisy, or sixteen steps of Euler's are far off."""
    assert steadier(family, FLOWS, QUICK) == FLOWS
