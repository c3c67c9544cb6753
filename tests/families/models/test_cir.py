"""Bonds of Cox, Ingersoll and Ross: QuantLib, the PDE, Riccati's equation, simulated paths."""

import mpmath
import pytest
import QuantLib as ql  # noqa: N813
import torch
from oracles import interior, residuals

import feynkac as fk
from feynkac.sampling.schemes import FamilySteps

FAMILY = fk.Cir()


def test_agrees_with_quantlib_where_the_rate_stays_positive(generator):
    inputs = FAMILY.domain.sample(300, generator, torch.float64)
    ours = FAMILY.closed_form(*FAMILY.domain.split(inputs)).flatten().tolist()
    compared = 0
    for (r, t, kappa, theta, sigma), value in zip(inputs.tolist(), ours, strict=True):
        if sigma**2 < 2.0 * kappa * theta:  # QuantLib's constraint
            model = ql.CoxIngersollRoss(r, theta, kappa, sigma)
            assert value == pytest.approx(model.discountBond(0.0, t, r), rel=1e-10)
            compared += 1
    assert compared > 200


def test_agrees_with_many_digits_also_where_the_rate_meets_zero(generator):
    """The textbook's formula, evaluated with fifty digits."""
    inputs = FAMILY.domain.sample(100, generator, torch.float64)
    inputs[:30, 4] = 0.25
    inputs[:30, 2] = 0.1
    ours = FAMILY.closed_form(*FAMILY.domain.split(inputs)).flatten().tolist()
    with mpmath.workdps(50):
        for row, value in zip(inputs.tolist(), ours, strict=True):
            r, t, kappa, theta, sigma = map(mpmath.mpf, row)
            g = mpmath.sqrt(kappa**2 + 2 * sigma**2)
            below = (g + kappa) * mpmath.expm1(g * t) + 2 * g
            power = 2 * kappa * theta / sigma**2
            first = (2 * g * mpmath.exp((kappa + g) * t / 2) / below) ** power
            bond = first * mpmath.exp(-2 * mpmath.expm1(g * t) / below * r)
            assert value == pytest.approx(float(bond), rel=1e-13)


def test_the_closed_form_solves_the_pde(generator):
    assert residuals(FAMILY, interior(FAMILY, 200, generator)).abs().max() < 1e-12


def test_at_time_zero_it_is_one(generator):
    x, t, p = FAMILY.domain.split(FAMILY.domain.sample(50, generator, torch.float64))
    assert (FAMILY.closed_form(x, torch.zeros_like(t), p) == 1.0).all()


def test_steps_have_the_mean_of_the_rate(generator):
    x, _, p = FAMILY.domain.split(FAMILY.domain.sample(50, generator, torch.float64)[:, None])
    h = torch.full_like(x, 0.5)
    z = torch.randn(1, 2**16, 1, generator=generator, dtype=torch.float64)
    ends = FAMILY.step(x, h, p, z)
    assert (ends >= 0).all()
    mean = p.theta + (x - p.theta) * (-p.kappa * h).exp()
    error = ends.std(-2, keepdim=True) / 2**8
    assert ((ends.mean(-2, keepdim=True) - mean).abs() <= 5.0 * error + 1e-6).all()


def test_simulated_bonds_agree(generator):
    inputs = FAMILY.domain.sample(8, generator, torch.float64)
    found = fk.monte_carlo(FAMILY, FamilySteps(64), inputs, 2**13, generator)
    exact = FAMILY.closed_form(*FAMILY.domain.split(inputs))
    assert ((found.value - exact).abs() <= 4.5 * found.error + 2e-3).all()
