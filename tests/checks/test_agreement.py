"""Samplers against μ and σ, closed forms against paths: truth passes, small errors do not."""

import re

import pytest
import torch
from small_family import small

from feynkac.checks.agreement import (
    Agreement,
    compare_closed_form,
    compare_sampler,
    exact_sampler,
    own_steps,
)
from feynkac.checks.finding import Subject
from feynkac.families import BlackScholes, HeatGaussian, HeatParaboloid
from feynkac.families.capabilities import OwnSteps
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.family_steps import FamilySteps


def changed(family, **members):
    """`family` with some members replaced."""
    return type("Changed", (type(family),), members)(family.dim)


def test_excess_is_measured_in_what_is_allowed():
    value = torch.tensor([[1.0, 2.0], [3.0, 10.0]])
    found = Agreement(
        quantities=("a", "b"),
        places=("here", "there"),
        ours=value + torch.tensor([[0.0, 0.5], [0.0, 0.0]]),
        theirs=value,
        error=torch.full((2, 2), 0.05),
        bias=torch.full((2, 2), 0.2),
        paths=1000,
    )
    assert found.worst == (0, 1)
    assert found.excess[0, 1].item() == pytest.approx(0.5 / (4 * 0.05 + 0.2 + 10 * 10 / 1000))


# Samplers


@pytest.mark.parametrize("family", [BlackScholes(), HeatParaboloid(3), HeatGaussian(40)], ids=repr)
def test_exact_samplers_agree_with_their_coefficients(family):
    assert compare_sampler(family, Exact()).excess.max() < 1.0


@pytest.mark.parametrize(
    ("family", "exact"),
    [
        (BlackScholes(), lambda s, x, t, p, z: x * (p.sigma * t.sqrt() * z).exp()),
        (BlackScholes(), lambda s, x, t, p, z: x * (1.0 + p.sigma * t.sqrt() * z)),
        (HeatGaussian(2), lambda s, x, t, p, z: x + t.sqrt() * p.sigma * z + 0.001 * t),
        (HeatGaussian(2), lambda s, x, t, p, z: x + 1.02 * t.sqrt() * p.sigma * z),
    ],
    ids=["no correction", "Bachelier", "drift", "2 % more noise"],
)
def test_wrong_samplers_do_not(family, exact):
    found = compare_sampler(changed(family, exact=exact), Exact())
    assert found.excess.max() > 1.0


def test_a_wrong_sampler_fails_with_the_quantity():
    family = small(exact=lambda s, x, t, p, z: x + t * p.sigma * z)
    finding = exact_sampler(Subject(family))
    assert finding.verdict == "fail"
    assert re.match(
        "exact disagrees with steps of drift and diffusion: the square of component . of S − x",
        finding.sentence,
    )
    assert finding.figures["excess"] > 1.0


def test_what_cannot_be_compared_is_noted():
    """Steps that overflow say nothing about a sampler."""
    finding = exact_sampler(Subject(small(drift=lambda s, x, p: x + torch.inf)))
    assert finding.verdict == "note"
    assert "steps of drift and diffusion are not finite" in finding.sentence


def test_means_and_squares_are_those_of_the_textbook():
    """S − x of a geometric Brownian motion: mean 0, mean square x² (e^{σ²t} − 1)."""
    family = BlackScholes()
    found = compare_sampler(family, Exact())
    assert found.quantities == ("S − x", "the square of S − x", "φ(S)")
    for row, place in enumerate(found.places):
        x, t, sigma = (
            float(place.split(f"{name} = ")[1].split(",")[0]) for name in ("x", "t", "sigma")
        )
        square = x**2 * torch.tensor(sigma**2 * t).expm1()
        assert found.theirs[row, 1].item() == pytest.approx(square.item(), rel=0.1)


class Stepping(BlackScholes, OwnSteps):
    """Geometric Brownian motion by its exact step."""

    def step(self, x, h, p, z):
        return self.exact(x, h, p, z)


def test_own_steps_are_compared_as_well():
    assert own_steps(Subject(Stepping())).verdict == "ok"
    wrong = changed(Stepping(), step=lambda s, x, h, p, z: x * (p.sigma * h.sqrt() * z).exp())
    assert compare_sampler(wrong, FamilySteps(steps=16)).excess.max() > 1.0
    assert own_steps(Subject(wrong)).verdict == "fail"


# Closed forms


@pytest.mark.parametrize("family", [BlackScholes(), HeatParaboloid(3), HeatGaussian(40)], ids=repr)
def test_closed_forms_agree_with_paths(family):
    assert compare_closed_form(family, Exact()).excess.max() < 1.0


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_a_closed_form_of_another_volatility_does_not(factor):
    def closed_form(self, x, t, p):
        return BlackScholes().closed_form(x, factor**2 * t, p)

    found = compare_closed_form(changed(BlackScholes(), closed_form=closed_form), Exact())
    assert found.excess.max() > 1.0


def test_the_bias_of_a_coarse_scheme_is_allowed():
    """One Euler step is off by more than chance allows, and knows it."""
    found = compare_closed_form(BlackScholes(), EulerMaruyama(steps=1))
    off = (found.ours - found.theirs).abs()
    assert (off > 4 * found.error).any()
    assert found.excess.max() < 1.0
