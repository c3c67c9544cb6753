"""The martingale beside a payoff: of mean zero for any control, a good one leaves no variance."""

import math

import pytest
import torch

from feynkac.analysis.martingale import MOST_CURVED, Control, controlled
from feynkac.families import BasketPut, BlackScholes, Box, Domain, HeatParaboloid
from feynkac.sampling.labels import payoffs
from feynkac.sampling.noise.noise import normals
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.log_ode import LogOde
from feynkac.sampling.schemes.milstein import Milstein
from feynkac.sampling.schemes.ninomiya_victoir import NinomiyaVictoir

CASES = [
    pytest.param(BlackScholes(), Exact(), id="exact, 1 asset"),
    pytest.param(BlackScholes(dim=3), Exact(), id="exact, 3 assets"),
    pytest.param(HeatParaboloid(dim=6), Exact(), id="exact, dim 6"),
    pytest.param(BlackScholes(), EulerMaruyama(), id="euler, 1 asset"),
    pytest.param(BlackScholes(dim=3), EulerMaruyama(), id="euler, 3 assets"),
    pytest.param(HeatParaboloid(dim=6), EulerMaruyama(), id="euler, dim 6"),
    pytest.param(BasketPut(), EulerMaruyama(), id="euler, basket"),
    pytest.param(BasketPut(), LogOde(), id="log-ode, basket"),
    pytest.param(BlackScholes(dim=2), NinomiyaVictoir(), id="ninomiya-victoir, 2 assets"),
    pytest.param(BlackScholes(), Milstein(), id="milstein, 1 asset"),
]
ANYWHERE = Domain(x=Box(1e-3, 1e3), t=Box(0, 1), sigma=Box(0.1, 0.6), strike=Box(10, 12))
AT = {"x": 9.5, "t": 0.5, "sigma": 0.35, "strike": 11.0}


def closed(family):
    return lambda inputs: family.closed_form(*family.domain.split(inputs))


def wrong(family, generator):
    """A random smooth function that has nothing to do with u."""
    shape = (family.domain.dim, 5)
    weights = torch.randn(shape, generator=generator, dtype=torch.float64)
    return lambda inputs: (inputs @ weights).sin().sum(-1, keepdim=True)


def simulate(family, scheme, steps, control, inputs, paths, generator):
    lead, dim = (len(inputs), paths), family.domain.state_dim
    z = normals(scheme.with_steps(steps).draws, lead, dim, generator, inputs.dtype)
    payoff, parts = controlled(family, scheme.with_steps(steps), control, inputs, z)
    return payoff, parts.sum(-1, keepdim=True)


def standardised_mean(samples):
    """The mean over the paths in units of its standard error.  Shape: `(N, K, 1)` → `(N,)`."""
    samples = samples.squeeze(-1)
    return samples.mean(-1) / (samples.std(-1) / math.sqrt(samples.shape[-1]))


@pytest.mark.parametrize(("family", "scheme"), CASES)
def test_the_mean_is_zero_even_for_a_wrong_control_known_only_in_the_box(family, scheme, generator):
    control = Control(wrong(family, generator), family.domain)
    inputs = family.domain.sample(6, generator, torch.float64)
    payoff, martingale = simulate(family, scheme, 4, control, inputs, 4096, generator)
    assert payoff.shape == martingale.shape == (6, 4096, 1)
    assert (martingale.std(1) > 0.01).all()
    assert (standardised_mean(martingale).abs() < 4.5).all()


@pytest.mark.parametrize("order", [0, 1])
def test_each_part_has_mean_zero(order, generator):
    family = BlackScholes()
    control = Control(wrong(family, generator), family.domain)
    inputs = family.domain.sample(6, generator, torch.float64)
    z = normals(4, (6, 4096), 1, generator, torch.float64)
    _, parts = controlled(family, Exact(steps=4), control, inputs, z)
    assert (standardised_mean(parts[..., order : order + 1]).abs() < 4.5).all()


@pytest.mark.parametrize("scheme", [Exact(), EulerMaruyama()], ids=lambda s: s.kind)
@pytest.mark.parametrize("family", [BlackScholes(), HeatParaboloid(dim=6)], ids=lambda f: f.name())
def test_the_mean_is_zero_for_the_closed_form(family, scheme, generator):
    inputs = family.domain.sample(6, generator, torch.float64)
    control = Control(closed(family), family.domain)
    _, martingale = simulate(family, scheme, 4, control, inputs, 2**14, generator)
    assert (standardised_mean(martingale).abs() < 4.5).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "rate"), [(EulerMaruyama(), 1.5), (Exact(), 1.0)], ids=["euler", "exact"]
)
def test_with_the_closed_form_the_variance_falls_with_the_steps(scheme, rate, generator):
    """Like n^{-1.5} where ΔS is the step of the path: a smooth payoff's n^{-2}, less its kink.

    Exact steps differ from ΔS by ½ σ²S h (z² − 1), which M does not see; n^{-1} is left of it.
    """
    family = BlackScholes()
    inputs = family.domain.join(AT)[None]
    control = Control(closed(family), ANYWHERE)

    def variance(steps):
        payoff, martingale = simulate(family, scheme, steps, control, inputs, 2**14, generator)
        return ((payoff - martingale).var() / payoff.var()).item()

    few, many = variance(16), variance(128)
    assert math.log2(few / many) / 3 == pytest.approx(rate, abs=0.2)
    assert few < 0.005


def test_without_the_second_order_term_the_variance_falls_like_the_step(generator):
    family = HeatParaboloid(dim=MOST_CURVED + 2)
    inputs = family.domain.sample(1, generator, torch.float64)
    control = Control(closed(family), everywhere(family))

    def variance(steps):
        payoff, martingale = simulate(family, Exact(), steps, control, inputs, 2**13, generator)
        return (payoff - martingale).var().item()

    assert math.log2(variance(2) / variance(32)) / 4 == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("scheme", [Exact(), EulerMaruyama()], ids=lambda s: s.kind)
@pytest.mark.parametrize("dim", [1, 3])
def test_a_quadratic_leaves_no_variance_at_all(dim, scheme, generator):
    family = HeatParaboloid(dim)
    inputs = family.domain.sample(5, generator, torch.float64)
    control = Control(closed(family), everywhere(family))
    payoff, martingale = simulate(family, scheme, 3, control, inputs, 50, generator)
    expected = closed(family)(inputs)[:, None].expand_as(payoff)
    assert payoff.std() > 0.1
    torch.testing.assert_close(payoff - martingale, expected, rtol=1e-11, atol=1e-11)


def everywhere(family):
    x = Box(-1e3, 1e3, shape=family.domain.measures["x"].shape)
    return Domain(**{**family.domain.measures, "x": x})


@pytest.mark.parametrize(("family", "scheme"), CASES)
def test_the_payoff_is_that_of_the_scheme_on_the_same_normals(family, scheme, generator):
    steps, dim = 3, family.domain.state_dim
    inputs = family.domain.sample(4, generator, torch.float64)
    z = normals(scheme.with_steps(steps).draws, (4, 7), dim, generator, torch.float64)
    control = Control(wrong(family, generator), family.domain)
    payoff, _ = controlled(family, scheme.with_steps(steps), control, inputs, z)
    expected = payoffs(family, scheme.with_steps(steps), inputs, z)
    if isinstance(scheme, Exact):  # two ways to the same end
        whole = z.sum(0, keepdim=True) / math.sqrt(steps)
        torch.testing.assert_close(payoffs(family, scheme, inputs, whole), expected)
    torch.testing.assert_close(payoff, expected, rtol=1e-9, atol=1e-9)


def test_the_control_is_only_asked_inside_its_domain(generator):
    family = BlackScholes()
    asked = []

    def watched(inputs):
        asked.append(inputs.detach())
        return closed(family)(inputs)

    inputs = family.domain.sample(20, generator, torch.float64)
    control = Control(watched, family.domain)
    simulate(family, Exact(), 4, control, inputs, 8, generator)
    assert asked
    assert all(family.domain.contains(rows).all() for rows in asked)
