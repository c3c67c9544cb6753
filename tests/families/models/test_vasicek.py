"""Bonds of Vasicek: QuantLib, the PDE, exact steps and simulated paths."""

import pytest
import QuantLib as ql  # noqa: N813
import torch
from oracles import interior, residuals

import feynkac as fk
from feynkac.sampling.schemes import FamilySteps

FAMILY = fk.Vasicek()


def test_agrees_with_quantlib(generator):
    inputs = FAMILY.domain.sample(200, generator, torch.float64)
    ours = FAMILY.closed_form(*FAMILY.domain.split(inputs)).flatten().tolist()
    for (r, t, kappa, theta, sigma), value in zip(inputs.tolist(), ours, strict=True):
        model = ql.Vasicek(r, kappa, theta, sigma, 0.0)
        assert value == pytest.approx(model.discountBond(0.0, t, r), rel=1e-12)


def test_the_closed_form_solves_the_pde(generator):
    assert residuals(FAMILY, interior(FAMILY, 200, generator)).abs().max() < 1e-12


def test_at_time_zero_it_is_one(generator):
    x, t, p = FAMILY.domain.split(FAMILY.domain.sample(50, generator, torch.float64))
    assert (FAMILY.closed_form(x, torch.zeros_like(t), p) == 1.0).all()


def test_two_steps_have_the_law_of_one(generator):
    """Mean and variance of r after h twice are those after 2h."""
    x, _, p = FAMILY.domain.split(FAMILY.domain.sample(20, generator, torch.float64))
    h, zero, one = torch.full_like(x, 0.7), torch.zeros_like(x), torch.ones_like(x)
    middle = FAMILY.step(x, h, p, zero)
    twice, once = FAMILY.step(middle, h, p, zero), FAMILY.step(x, 2 * h, p, zero)
    torch.testing.assert_close(twice, once)
    first = FAMILY.step(FAMILY.step(x, h, p, one), h, p, zero) - twice
    second = FAMILY.step(middle, h, p, one) - twice
    whole = FAMILY.step(x, 2 * h, p, one) - once
    torch.testing.assert_close(first.square() + second.square(), whole.square())


def test_simulated_bonds_agree(generator):
    inputs = FAMILY.domain.sample(8, generator, torch.float64)
    found = fk.monte_carlo(FAMILY, FamilySteps(64), inputs, 2**14, generator)
    exact = FAMILY.closed_form(*FAMILY.domain.split(inputs))
    assert ((found.value - exact).abs() <= 4.5 * found.error + 1e-3).all()
