"""Constant elasticity of variance: χ² of SciPy, QuantLib, the PDE, its step, and its edges."""

import math

import numpy as np
import pytest
import QuantLib as ql  # noqa: N813
import torch
from oracles import DAYS, TODAY, dated, interior, maturity, residuals, value
from scipy.stats import ncx2

from feynkac.checks.checkup import require_sound
from feynkac.families.models.cev import Cev
from feynkac.families.payoff import Payoff
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.reference import monte_carlo, replicated
from feynkac.sampling.schemes.family_steps import FamilySteps

CALL, PUT, DIGITAL = (Cev(Payoff(style)) for style in ("call", "put", "digital"))
AT = {"x": 100.0, "t": 0.5, "sigma": 0.3, "beta": 0.5, "rate": 0.03, "strike": 105.0}
every_style = pytest.mark.parametrize("family", [CALL, PUT, DIGITAL], ids=str)


def chi_square(style, x, t, sigma, beta, rate, strike):
    """Schroder's formula with SciPy's noncentral χ²."""
    b = 1.0 - beta
    scale = (b * sigma * 100.0**b) ** 2 * t
    k, f = strike ** (2 * b) / scale, x ** (2 * b) / scale
    above = ncx2.cdf(f, 1.0 / b, k)
    call = x * ncx2.sf(k, 2.0 + 1.0 / b, f) - strike * above
    undiscounted = {"call": call, "put": call - x + strike, "digital": above}[style]
    return np.exp(-rate * t) * undiscounted


def quantlib(family, at):
    ql.Settings.instance().evaluationDate = TODAY
    kind = ql.Option.Put if family is PUT else ql.Option.Call
    option = ql.VanillaOption(ql.PlainVanillaPayoff(kind, at["strike"]), maturity(at))
    curve = ql.YieldTermStructureHandle(ql.FlatForward(TODAY, at["rate"], DAYS))
    alpha = at["sigma"] * 100.0 ** (1.0 - at["beta"])
    option.setPricingEngine(ql.AnalyticCEVEngine(at["x"], alpha, at["beta"], curve))
    return option.NPV()


def closed(family, inputs):
    return family.closed_form(*family.domain.split(inputs))


@every_style
def test_it_is_well_formed(family):
    require_sound(family)


@every_style
@pytest.mark.parametrize("t", [None, 1e-5])
def test_values_agree_with_the_noncentral_chi_square(family, t, generator):
    inputs = family.domain.sample(2000, generator, torch.float64)
    if t is not None:
        inputs[:, family.domain.slices()["t"]] = t
    columns = (column[:, None] for column in inputs.numpy().T)
    expected = chi_square(family.payoff.style, *columns)
    np.testing.assert_allclose(closed(family, inputs), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("family", [CALL, PUT], ids=str)
def test_values_agree_with_quantlib(family, generator):
    for at in dated(family, 40, generator):
        assert value(family, **at) == pytest.approx(quantlib(family, at), rel=1e-9, abs=1e-9)


def test_a_digital_option_is_a_probability_of_quantlib(generator):
    for at in dated(DIGITAL, 20, generator):
        alpha = at["sigma"] * 100.0 ** (1.0 - at["beta"])
        law = ql.CEVRNDCalculator(at["x"], alpha, at["beta"])
        expected = math.exp(-at["rate"] * at["t"]) * (1.0 - law.cdf(at["strike"], at["t"]))
        assert value(DIGITAL, **at) == pytest.approx(expected, abs=1e-9)


@every_style
@pytest.mark.parametrize("gap", [0.0, 1e-13, 1e-9, 1e-5, 1e-2])
def test_values_are_right_near_the_money(family, gap):
    """There the integrand has a peak as narrow as the gap."""
    for t in (1.0, 0.01, 1e-4):
        at = AT | {"t": t, "strike": 100.0 + gap}
        assert value(family, **at) == pytest.approx(chi_square(family.payoff.style, **at), abs=1e-6)


@every_style
def test_values_are_right_where_zero_is_reached(family):
    """Far outside of the domain, where the second integral counts."""
    at = AT | {"t": 4.0, "sigma": 1.2, "beta": 0.4}
    law = ql.CEVRNDCalculator(100.0, 1.2 * 100.0**0.6, 0.4)
    assert law.massAtZero(4.0) > 0.3
    assert value(family, **at) == pytest.approx(chi_square(family.payoff.style, **at), abs=1e-7)


@every_style
def test_the_closed_form_solves_the_pde(family, generator):
    assert residuals(family, interior(family, 100, generator)).abs().max() <= 1e-8


@pytest.mark.parametrize("coefficient", ["diffusion", "discount"])
def test_the_residual_notices_a_wrong_coefficient(coefficient, generator, monkeypatch):
    right = getattr(Cev, coefficient)
    monkeypatch.setattr(Cev, coefficient, lambda self, *a: 1.01 * right(self, *a))
    assert residuals(CALL, interior(CALL, 100, generator)).abs().max() > 1e-3


def test_near_beta_one_it_is_black():
    at = AT | {"beta": 1.0 - 1e-4}
    deviation = at["sigma"] * at["t"] ** 0.5
    payoff = ql.PlainVanillaPayoff(ql.Option.Call, at["strike"])
    black = ql.BlackCalculator(payoff, 100.0, deviation, math.exp(-at["rate"] * at["t"]))
    assert value(CALL, **at) == pytest.approx(black.value(), rel=1e-4)


@every_style
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_at_time_zero_it_is_the_payoff_with_finite_derivatives(family, dtype, generator):
    inputs = family.domain.sample(20, generator, dtype)
    inputs[:, family.domain.slices()["t"]] = 0.0
    inputs[10:, family.domain.slices()["strike"]] = inputs[10:, :1]
    inputs.requires_grad_()
    x, _, p = family.domain.split(inputs)
    u = closed(family, inputs)
    assert torch.equal(u, family.initial(x, p))
    (first,) = torch.autograd.grad(u.sum() + 0.0 * inputs.sum(), inputs, create_graph=True)
    (second,) = torch.autograd.grad(first.sum() + 0.0 * inputs.sum(), inputs)
    assert first.isfinite().all()
    assert second.isfinite().all()


@every_style
def test_single_precision_agrees_with_double(family, generator):
    inputs = family.domain.sample(200, generator)
    found = closed(family, inputs)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), closed(family, inputs.double()), rtol=1e-6, atol=0)


def test_what_is_at_zero_stays_there(generator):
    x = torch.tensor([[0.0], [-1.0]], requires_grad=True)
    _, t, p = CALL.domain.split(CALL.domain.sample(2, generator))
    moved = CALL.diffusion(x, torch.ones(2, 1), p)
    end = CALL.step(x, t, p, torch.ones(2, 1))
    (slopes,) = torch.autograd.grad((moved + end + CALL.initial(x, p)).sum(), x)
    assert moved.tolist() == end.tolist() == [[0.0], [0.0]]
    assert slopes.isfinite().all()
    assert PUT.initial(x, p).tolist() == p.strike.tolist()


def test_a_step_that_meets_zero_has_finite_gradients(generator):
    inputs = CALL.domain.sample(50, generator).requires_grad_()
    x, t, p = CALL.domain.split(inputs)
    end = CALL.step(0.01 * x, t, p, torch.randn(50, 1, generator=generator))
    (slopes,) = torch.autograd.grad(end.sum(), inputs)
    assert 0 < (end == 0.0).sum() < 50
    assert slopes.isfinite().all()


@pytest.mark.parametrize("family", [CALL, PUT], ids=str)
@pytest.mark.parametrize("steps", [1, 2])
def test_steps_agree_with_the_closed_form(family, steps, generator):
    """Even one: its error is hardly above the noise, 3e-5 of 1 + u."""
    inputs = family.domain.sample(16, generator, torch.float64)
    u = closed(family, inputs)
    noise = make_generator(0, "cev", steps)
    found = replicated(family, FamilySteps(steps=steps), Sobol(), inputs, 4096, noise)
    assert (found.error / (1.0 + u)).mean() < 1e-4
    assert ((found.value - u).abs() < 4.0 * found.error + 1e-4 * (1.0 + u)).all()


def test_steps_agree_with_the_closed_form_of_a_digital_option(generator):
    inputs = DIGITAL.domain.sample(8, generator, torch.float64)
    u = closed(DIGITAL, inputs)
    found = monte_carlo(DIGITAL, FamilySteps(steps=2), inputs, 2**17, generator)
    assert ((found.value - u).abs() < 4.0 * found.error).all()


def test_the_step_is_of_weak_order_two():
    """E F_h² of one step by Gauss–Hermite quadrature against χ²: the error is ∝ h³."""
    nodes, weights = map(torch.tensor, np.polynomial.hermite_e.hermegauss(60))
    at = AT | {"sigma": 0.4, "beta": 0.7}
    _, _, p = CALL.domain.split(CALL.domain.join(at))
    x = torch.tensor([[100.0]], dtype=torch.float64)

    def error(h):
        end = CALL.step(x, torch.tensor([[h]], dtype=torch.float64), p, nodes[:, None])
        return (weights @ end.square()).item() / weights.sum().item() - mean_square(at, h)

    errors = [error(h) for h in (1.0, 0.5, 0.25)]
    assert abs(errors[0]) < 1e-4 * 100.0**2
    assert errors[0] / errors[1] == pytest.approx(8.0, rel=0.01)
    assert errors[1] / errors[2] == pytest.approx(8.0, rel=0.01)


def mean_square(at, h):
    """E F_h² = ∫ 2K P(F_h > K) dK, with SciPy's χ²."""
    K, dK = np.polynomial.legendre.leggauss(800)
    K, dK = 500.0 * (K + 1.0), 500.0 * dK
    above = chi_square("digital", **at | {"t": h, "rate": 0.0, "strike": K})
    return float((2.0 * K * above * dK).sum())
