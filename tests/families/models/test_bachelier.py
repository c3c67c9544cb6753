"""Bachelier's forward: against QuantLib, its PDE, its law and its limits."""

import math

import pytest
import QuantLib as ql  # noqa: N813
import torch
from oracles import interior, residuals, value
from scipy.stats import norm

from feynkac.analysis.partials import greek_value
from feynkac.families import Box, Domain
from feynkac.families.catalogue import family_fields
from feynkac.families.models.bachelier import Bachelier
from feynkac.families.payoff import Payoff

CALL, PUT, DIGITAL = (Bachelier(Payoff(style)) for style in ("call", "put", "digital"))
AT = {"x": 100.0, "t": 0.5, "sigma": 20.0, "rate": 0.05, "strike": 105.0}
every_style = pytest.mark.parametrize("family", [CALL, PUT, DIGITAL], ids=str)


def random_points(count, generator):
    rows = CALL.domain.sample(count, generator, torch.float64).tolist()
    return [dict(zip(CALL.domain.measures, row, strict=True)) for row in rows]


def quantlib(family, x, t, sigma, rate, strike):
    deviation, factor = sigma * math.sqrt(t), math.exp(-rate * t)
    if family is DIGITAL:
        return factor * norm.cdf((x - strike) / deviation)
    style = ql.Option.Call if family is CALL else ql.Option.Put
    return ql.bachelierBlackFormula(style, strike, x, deviation, factor)


def test_the_domain_is_around_one_hundred():
    assert CALL.domain == Domain(
        x=Box(90, 110), t=Box(0, 1), sigma=Box(5, 25), rate=Box(0, 0.1), strike=Box(90, 110)
    )


@every_style
def test_values_agree_with_quantlib(family, generator):
    for at in random_points(100, generator):
        assert value(family, **at) == pytest.approx(quantlib(family, **at), rel=1e-12, abs=1e-13)


@every_style
def test_the_closed_form_solves_the_pde(family, generator):
    assert residuals(family, interior(family, 200, generator)).abs().max() <= 1e-10


@every_style
@pytest.mark.parametrize("coefficient", ["diffusion", "discount"])
def test_the_residual_notices_a_wrong_coefficient(family, coefficient, generator, monkeypatch):
    right = getattr(Bachelier, coefficient)
    monkeypatch.setattr(Bachelier, coefficient, lambda self, *a: 1.01 * right(self, *a))
    assert residuals(family, interior(family, 200, generator)).abs().max() > 1e-6


def test_exact_samples_are_normal_around_the_forward(generator):
    x, t, p = CALL.domain.split(interior(CALL, 20, generator))
    for level in (0.001, 0.3, 0.5, 0.98):
        end = CALL.exact(x, t, p, torch.full_like(x, norm.ppf(level)))
        expected = norm.ppf(level, loc=x, scale=p.sigma * t.sqrt())
        torch.testing.assert_close(end, torch.as_tensor(expected), rtol=1e-13, atol=0)


def test_at_the_money_the_call_is_the_deviation_over_root_two_pi():
    found = value(CALL, **AT | {"strike": 100.0, "rate": 0.0})
    assert found == pytest.approx(20.0 * math.sqrt(0.5 / (2.0 * math.pi)), rel=1e-14)


def test_rho_is_minus_time_times_the_value():
    inputs = CALL.domain.join(AT)

    def u(inputs):
        return CALL.closed_form(*CALL.domain.split(inputs))

    rho = greek_value(u, CALL.domain, CALL.greeks["rho"], inputs).item()
    assert rho == pytest.approx(-0.5 * value(CALL, **AT), rel=1e-13)


@every_style
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_at_maturity_it_is_the_payoff_with_finite_slopes(family, dtype, generator):
    inputs = family.domain.sample(20, generator, dtype)
    where = family.domain.slices()
    inputs[:, where["t"]] = 0.0
    inputs[10:, where["strike"]] = inputs[10:, where["x"]]
    inputs.requires_grad_()
    x, t, p = family.domain.split(inputs)
    found = family.closed_form(x, t, p)
    assert found.dtype == dtype
    assert torch.equal(found, family.initial(x, p))
    for result in (found, family.exact(x, t, p, torch.ones_like(x))):
        (slope,) = torch.autograd.grad(result.sum() + 0.0 * inputs.sum(), inputs)
        assert slope.isfinite().all()


def test_formulas_broadcast_over_many_paths_of_an_input(generator):
    x, t, p = CALL.domain.split(CALL.domain.sample(6, generator).unsqueeze(-2))
    end = CALL.exact(x, t, p, torch.randn(6, 4, 1, generator=generator))
    for found in (end, CALL.drift(end, p), CALL.discount(end, p), CALL.closed_form(end, t, p)):
        assert found.shape == (6, 4, 1)
        assert found.dtype == torch.float32


def test_the_payoff_is_a_field():
    assert Bachelier() == CALL
    assert family_fields(PUT) == {"payoff": "put:mean"}
