"""Jumps are found and measured; steep, kinked and rough functions have none."""

import math

import pytest
import torch
from small_family import small

import feynkac as fk
from feynkac.checks.checkup import check, require_simulable
from feynkac.checks.discontinuity import coefficient_jumps, largest_jump, segments
from feynkac.checks.finding import Subject
from feynkac.families import Box, Domain, Family, Params
from feynkac.preparation import make_run
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama

START = torch.tensor([[[-1.0, 0.0]], [[0.3, 0.1]]], dtype=torch.float64)
END = torch.tensor([[[2.0, 1.0]], [[0.4, -0.1]]], dtype=torch.float64)


def jump_of(function):
    return largest_jump(lambda x, p: function(x[..., :1]), START, END, Params())


@pytest.mark.parametrize(
    ("function", "size"),
    [
        (lambda x: (x > math.pi / 4).double(), 1.0),
        (lambda x: torch.where(x > 1.234, x + 0.5, x), 0.5 / 3.5),
        (lambda x: x.floor(), 1 / 3),
        (lambda x: 100.0 * x + 0.3 * (x > 0.7), 0.3 / 300.3),
        (lambda x: torch.cat([x, 1e-6 * (x > 0.0)], dim=-1), 1.0),  # relative to each range
    ],
)
def test_a_jump_is_measured_relative_to_the_range(function, size):
    assert jump_of(function) == pytest.approx(size, rel=1e-3)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x - 0.5).clamp_min(0.0),
        lambda x: x.abs().sqrt(),
        lambda x: x.abs() ** 0.4,
        lambda x: (1e4 * (x - 0.3)).tanh(),
        lambda x: (50.0 * x).sin(),
        lambda x: 0.0 * x + 3.0,
        lambda x: torch.where(x > 0.5, torch.nan, x),
    ],
)
def test_continuous_functions_do_not_jump(function):
    assert jump_of(function) == 0.0


class Drifting(Family):
    """S = x + 10t, without noise."""

    domain = Domain(x=Box(0, 1), t=Box(0.5, 1), a=Box(0, 1))

    def drift(self, x, p):
        return 10.0 + 0.0 * x

    def diffusion(self, x, dw, p):
        return 0.01 * dw

    def initial(self, x, p):
        return x


def test_segments_lie_where_paths_start_and_where_they_end():
    start, end, p = segments(Drifting(), EulerMaruyama(steps=3))
    assert start.shape == end.shape == (64, 1, 1)
    assert p.a.shape == (64, 1, 1)
    both = torch.stack([start, end])
    assert ((both[:, :32] >= 0) & (both[:, :32] <= 1)).all()
    assert ((both[:, 32:] > 4) & (both[:, 32:] < 12)).all()
    torch.testing.assert_close(p.a[:32], p.a[32:])


# In a checkup


def step(self, x, p):
    return (x[..., :1] > 0).to(x.dtype)


def test_an_undeclared_jump_fails():
    finding = check(small(initial=step))["jumps"]
    assert finding.verdict == "fail"
    assert "Changed.initial jumps by 100 % of its range, undeclared" in finding.sentence
    assert finding.figures == {"jump": 1.0}


def test_no_jump_is_refused():
    euler = EulerMaruyama(steps=8)
    require_simulable(small(initial=step), euler)
    require_simulable(type("Digital", (fk.HeatGaussian, fk.Jumps), {"initial": step})(2), euler)


def test_values_only_are_fitted_to_an_undeclared_jump():
    settings = {"scheme": EulerMaruyama(steps=4), "noise": fk.Sobol(), "steps": 1}
    assert not make_run(small(initial=step), "fast", dict(settings)).method.slopes
    assert make_run(small(), "fast", dict(settings)).method.slopes


def test_a_jump_that_is_declared_is_looked_for():
    found = check(type("Digital", (fk.HeatGaussian, fk.Jumps), {"initial": step})(2))
    assert found["jumps"].sentence == "φ jumps, as declared"
    smooth = check(type("Smooth", (fk.HeatGaussian, fk.Jumps), {})(2))
    assert smooth["jumps"].verdict == "note"
    assert smooth.passed


@pytest.mark.parametrize(
    ("members", "verdict", "sentence"),
    [
        ({}, "ok", "μ, σ are continuous along paths"),
        (
            {"drift": lambda s, x, p: 0.1 * x.sign()},
            "note",
            "μ jumps along paths: solve fits values only",
        ),
        (
            {
                "drift": lambda s, x, p: 0.1 * x.sign(),
                "diffusion": lambda s, x, dw, p: (1.0 + (x > 0)) * dw,
            },
            "note",
            "μ and σ jump along paths: solve fits values only",
        ),
    ],
)
def test_coefficients_that_jump_are_noted(members, verdict, sentence):
    finding = coefficient_jumps(Subject(small(**members), EulerMaruyama(steps=8)))
    assert (finding.verdict, finding.sentence) == (verdict, sentence)
