"""Formulas against each other: closed form, PDE, paths, samplers, jumps."""

import dataclasses
import re

import pytest
import torch

import feynkac as fk
from feynkac.analysis.checkup import consistency
from feynkac.analysis.checkup.checkup import examine
from feynkac.analysis.checkup.finding import Subject
from feynkac.families.family import Discount, NoiseDimension, Source, TimeDependent, VectorValued


def changed(base, **members):
    """An instance of `base` with some members replaced."""
    return type("Changed", (base,), members)()


def small(cls=fk.HeatGaussian, **members):
    """A family of two dimensions that is examined in no time, with some members replaced."""
    derived = type("Changed", (cls,), {"__annotations__": {"dim": int}, "dim": 2, **members})
    return dataclasses.dataclass(frozen=True)(derived)()


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
    subject = Subject(family)
    vars(subject)["scheme"] = fk.EulerMaruyama(steps=16)  # in place of the cached one
    return subject


@pytest.mark.slow
@both
def test_discount_source_time_and_several_outputs_pass(family):
    found = examine(family())
    assert found.passed, found.failed


@both
def test_discount_source_time_and_several_outputs_are_understood(family):
    subject = stepped(family())
    equation, expectation = consistency.equation(subject), consistency.expectation(subject)
    assert (equation.verdict, expectation.verdict) == ("ok", "ok")
    assert equation.figures["residual"] < 1e-10


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
    assert consistency.equation(subject).verdict == "fail"
    assert consistency.expectation(subject).verdict == "fail"


def test_a_closed_form_without_gradients_is_examined_by_differences():
    def closed_form(self, x, t, p):
        with torch.no_grad():
            return fk.HeatGaussian(2).closed_form(x, t, p)

    finding = examine(small(closed_form=closed_form))["closed form, PDE"]
    assert finding.verdict == "ok"
    assert finding.sentence.endswith("by central differences")


def test_a_closed_form_with_wrong_gradients_gets_a_note():
    def closed_form(self, x, t, p):
        return fk.HeatGaussian(2).closed_form(x, t.detach(), p)

    finding = examine(small(closed_form=closed_form))["closed form, PDE"]
    assert finding.verdict == "note"
    assert "autograd gives it wrong gradients" in finding.sentence


def test_a_domain_that_begins_later_is_not_looked_at_before():
    def closed_form(self, x, t, p):
        return fk.HeatGaussian(2).closed_form(x, t, p) * (t / t)

    domain = fk.Domain(x=fk.Box(-0.1, 0.1, shape=(2,)), t=fk.Box(0.5, 1), sigma=fk.Box(0, 0.1))
    found = examine(small(closed_form=closed_form, domain=domain))
    assert found.passed, found.failed
    assert "begins at t = 0.5" in found["closed form, t = 0"].sentence


@pytest.mark.parametrize(
    ("members", "name", "verdict", "sentence"),
    [
        ({"drift": lambda s, x, p: 0.1 * x.sign()}, "jumps", "note", "μ jump along paths"),
        (
            {"initial": lambda s, x, p: (x[..., :1] > 0).to(x.dtype)},
            "jumps",
            "fail",
            "jumps by 100 % of its range, undeclared",
        ),
        (
            {"closed_form": lambda s, x, t, p: 1.01 * fk.HeatGaussian(2).closed_form(x, t, p)},
            "closed form, t = 0",
            "fail",
            "at t = 0 is not the initial condition",
        ),
        (
            {"exact": lambda s, x, t, p, z: x + t * p.sigma * z},
            "exact sampler",
            "fail",
            "exact disagrees with steps of drift and diffusion: the square of component . of S − x",
        ),
    ],
)
def test_what_is_wrong_is_found(members, name, verdict, sentence):
    finding = examine(small(**members))[name]
    assert finding.verdict == verdict
    assert re.search(sentence, finding.sentence)


def test_a_jump_that_is_declared_is_looked_for():
    digital = {"initial": lambda s, x, p: (x[..., :1] > 0).to(x.dtype)}
    found = examine(type("Digital", (fk.HeatGaussian, fk.Jumps), digital)(2))
    assert found["jumps"].sentence == "φ jumps, as declared"
    smooth = examine(type("Smooth", (fk.HeatGaussian, fk.Jumps), {})(2))
    assert smooth["jumps"].verdict == "note"
    assert smooth.passed
