"""The residual of the PDE: zero for solutions, large for what is none, whatever the terms are."""

import math

import pytest
import torch

from feynkac.analysis.checkup.residual import residual
from feynkac.families import BlackScholes, Box, Domain, Family, HeatGaussian, HeatParaboloid
from feynkac.families.family import Discount, NoiseDimension, Source, TimeDependent, VectorValued

exact_or_not = pytest.mark.parametrize("exact", [True, False], ids=["autograd", "differences"])


class Rich(Family, Discount, Source, TimeDependent, NoiseDimension, VectorValued):
    """dS = a dt + s√(1 + t) (dB₁ + dB₂) with c = r and f = (0, x); t is the time of the PDE."""

    noise_dim = 2
    outputs = 2
    domain = Domain(x=Box(1, 2), t=Box(0, 1), a=Box(0.5, 1), s=Box(0.5, 1), r=Box(0.1, 0.5))

    def drift(self, x, p):
        return p.a + 0.0 * x

    def diffusion(self, x, dw, p):
        return p.s * (1.0 + p.t).sqrt() * dw.sum(-1, keepdim=True)

    def initial(self, x, p):
        return torch.cat([x.cos(), 0.0 * x], dim=-1)

    def discount(self, x, p):
        return p.r

    def source(self, x, p):
        return torch.cat([0.0 * x, x], dim=-1)


def rich_solution(x, t, p, discounted=True):
    """By hand: cos(x + at) e^{−s²(t + t²/2) − rt}, and ∫ (x + as) e^{−rs} ds.

    The variance of S_t − x is 2s²(t + t²/2).
    """
    rate = p.r if discounted else 0.0 * p.r
    first = (x + p.a * t).cos() * (-p.s.square() * (t + t.square() / 2) - rate * t).exp()
    grown = (1.0 - (-p.r * t).exp()) / p.r
    second = x * grown + p.a * (grown / p.r - t * (-p.r * t).exp() / p.r)
    return torch.cat([first, second], dim=-1)


def inside(family, generator, count=50):
    """Inputs away from t = 0."""
    point = family.domain.split(family.domain.sample(count, generator, torch.float64))
    return point._replace(t=point.t.clamp_min(0.1))


@exact_or_not
def test_every_term_of_the_equation_counts(exact, generator):
    family = Rich()
    found = residual(family, rich_solution, inside(family, generator), exact)
    assert found.left.shape == (50, 2)
    assert found.largest < (1e-12 if exact else 1e-6)


@exact_or_not
@pytest.mark.parametrize(
    "missing", [{"discount": lambda s, x, p: 0.0 * x}, {"source": lambda s, x, p: 0.0 * x}]
)
def test_a_missing_term_is_noticed(missing, exact, generator):
    family = type("Poor", (Rich,), missing)()
    found = residual(family, rich_solution, inside(family, generator), exact)
    assert found.largest > 0.1


@exact_or_not
@pytest.mark.parametrize("family", [BlackScholes(2), HeatParaboloid(2), HeatGaussian(3)], ids=repr)
def test_closed_forms_solve_their_equation_and_slowed_ones_do_not(family, exact, generator):
    point = inside(family, generator)
    found = residual(family, family.closed_form, point, exact)
    assert found.largest < (1e-12 if exact else 1e-5)

    def slow(x, t, p):
        return family.closed_form(x, 0.99 * t, p)

    assert residual(family, slow, point, exact).largest > 0.004


def test_both_sides_are_the_numbers_of_the_heat_equation(generator):
    family = HeatParaboloid(2)
    point = inside(family, generator)
    found = residual(family, family.closed_form, point, exact=True)
    trace = point.p.sigma.square().sum((-2, -1))[..., None]
    torch.testing.assert_close(found.left, trace)
    torch.testing.assert_close(found.right, trace)
    torch.testing.assert_close(found.size, 2.0 * trace)


def test_without_gradients_only_differences_work(generator):
    family = HeatParaboloid(2)
    point = inside(family, generator)

    def detached(x, t, p):
        return family.closed_form(x.detach(), t.detach(), p)

    assert residual(family, detached, point, exact=True) is None
    assert residual(family, detached, point, exact=False).largest < 1e-6


def test_nan_counts_as_infinite(generator):
    family = HeatParaboloid(2)

    def nowhere(x, t, p):
        return family.closed_form(x, t, p) * math.nan

    assert residual(family, nowhere, inside(family, generator), exact=True).largest > 1e9
