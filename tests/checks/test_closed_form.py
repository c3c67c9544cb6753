"""Closed forms against PDE, initial condition and paths: solutions pass, all else does not."""

import math

import pytest
import torch
from small_family import small

import feynkac as fk
from feynkac.checks.agreement import expectation
from feynkac.checks.checkup import check
from feynkac.checks.closed_form import equation, residual, start
from feynkac.checks.finding import Subject
from feynkac.families import BlackScholes, Box, Domain, Family, HeatGaussian, HeatParaboloid
from feynkac.families.capabilities import (
    Discount,
    NoiseDimension,
    Source,
    TimeDependent,
    VectorValued,
)

# The residual

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


# In a checkup


def changed(base, **members):
    """An instance of `base` with some members replaced."""
    return type("Changed", (base,), members)()


class Vasicek(fk.Family, Discount, fk.ClosedForm):
    """Zero bonds: dr = κ(θ − r) dt + σ dB, c = r, φ = 1."""

    domain = fk.Domain(
        x=fk.Box(0.0, 0.1),
        t=fk.Box(0.0, 5.0),
        kappa=fk.Box(0.5, 1.5),
        theta=fk.Box(0.02, 0.08),
        sigma=fk.Box(0.01, 0.03),
    )

    def drift(self, x, p):
        return p.kappa * (p.theta - x)

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def initial(self, x, p):
        return torch.ones_like(x)

    def discount(self, x, p):
        return x

    def closed_form(self, x, t, p):
        b = -torch.expm1(-p.kappa * t) / p.kappa
        r = p.theta - p.sigma.square() / (2.0 * p.kappa.square())
        a = r * (b - t) - p.sigma.square() * b.square() / (4.0 * p.kappa)
        return (a - b * x).exp()


class Hours(fk.Family, TimeDependent, Source, NoiseDimension, VectorValued, fk.ClosedForm):
    """dS = √(1 + t) s dB of two normals, f = 1; u = x² + 2s²(t + t²/2) + t, and 3t."""

    domain = fk.Domain(x=fk.Box(-1.0, 1.0), t=fk.Box(0.0, 1.0), s=fk.Box(0.5, 1.0))
    noise_dim = 2
    outputs = 2

    def drift(self, x, p):
        return 0.0 * x

    def diffusion(self, x, dw, p):
        return p.s * (1.0 + p.t).sqrt() * dw.sum(-1, keepdim=True)

    def initial(self, x, p):
        return torch.cat([x.square(), 0.0 * x], dim=-1)

    def source(self, x, p):
        return torch.cat([0.0 * x + 1.0, 0.0 * x + 3.0], dim=-1)

    def closed_form(self, x, t, p):
        first = x.square() + 2.0 * p.s.square() * (t + t.square() / 2) + t
        return torch.cat([first, 3.0 * t + 0.0 * x], dim=-1)


both = pytest.mark.parametrize("family", [Vasicek, Hours], ids=lambda cls: cls.name())


def stepped(family):
    """With Euler's steps, which are quick."""
    return Subject(family, fk.EulerMaruyama(steps=16))


@pytest.mark.slow
@both
def test_discount_source_time_and_several_outputs_pass(family):
    found = check(family())
    assert found.passed, found.failed


@both
def test_discount_source_time_and_several_outputs_are_understood(family):
    subject = stepped(family())
    assert (equation(subject).verdict, expectation(subject).verdict) == ("ok", "ok")
    assert equation(subject).figures["residual"] < 1e-10


@pytest.mark.parametrize(
    ("family", "formula"),
    [
        (Vasicek, {"discount": lambda s, x, p: 0.5 * x}),
        (Hours, {"source": lambda s, x, p: torch.cat([0.0 * x, 0.0 * x + 3.0], dim=-1)}),
    ],
    ids=["half the discount", "no source"],
)
def test_a_closed_form_of_another_equation_fails_twice(family, formula):
    subject = stepped(changed(family, **formula))
    assert equation(subject).verdict == "fail"
    assert expectation(subject).verdict == "fail"


def test_a_closed_form_without_gradients_is_checked_by_differences():
    def closed_form(self, x, t, p):
        with torch.no_grad():
            return fk.HeatGaussian(2).closed_form(x, t, p)

    finding = equation(Subject(small(closed_form=closed_form)))
    assert finding.verdict == "ok"
    assert finding.sentence.endswith("by central differences")


def test_a_closed_form_with_wrong_gradients_gets_a_note():
    def closed_form(self, x, t, p):
        return fk.HeatGaussian(2).closed_form(x, t.detach(), p)

    finding = equation(Subject(small(closed_form=closed_form)))
    assert finding.verdict == "note"
    assert "autograd gives it wrong gradients" in finding.sentence


def test_a_domain_that_begins_later_is_not_looked_at_before():
    def closed_form(self, x, t, p):
        return fk.HeatGaussian(2).closed_form(x, t, p) * (t / t)

    domain = fk.Domain(x=fk.Box(-0.1, 0.1, shape=(2,)), t=fk.Box(0.5, 1), sigma=fk.Box(0, 0.1))
    found = check(small(closed_form=closed_form, domain=domain))
    assert found.passed, found.failed
    assert "begins at t = 0.5" in found["closed form, t = 0"].sentence


def test_a_closed_form_that_does_not_start_from_the_initial_condition_fails():
    def closed_form(self, x, t, p):
        return 1.01 * fk.HeatGaussian(2).closed_form(x, t, p)

    finding = start(Subject(small(closed_form=closed_form)))
    assert finding.verdict == "fail"
    assert "at t = 0 is not the initial condition" in finding.sentence
    assert finding.figures["at 0"] > 1e-3
