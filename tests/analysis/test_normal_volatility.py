"""Normal volatilities against mpmath and QuantLib, their gradients, and where there is none."""

import math

import mpmath
import pytest
import QuantLib as ql  # noqa: N813
import torch

import feynkac as fk
from feynkac.analysis.normal_volatility import normal_volatility
from feynkac.analysis.quoted_errors import price_volatility


def time_value(gap, deviation):
    with mpmath.workdps(60):
        z = mpmath.mpf(gap) / mpmath.mpf(deviation)
        return float(deviation * mpmath.npdf(z) - gap * mpmath.ncdf(-z))


def test_round_trips_have_all_digits():
    u = torch.rand(2, 2000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    gap, deviation = 10 ** (8 * u[0] - 6), 10 ** (7 * u[1] - 4)
    kept = gap / deviation < 37
    gap, deviation = gap[kept], deviation[kept]
    pairs = zip(gap.tolist(), deviation.tolist(), strict=True)
    price = torch.tensor([time_value(*pair) for pair in pairs], dtype=torch.float64)
    found = normal_volatility(0.9 * price, -gap, 0.0, 4.0, 0.9)
    assert len(gap) > 1000
    assert (2.0 * found / deviation - 1.0).abs().max() < 2e-14


@pytest.mark.parametrize("call", [True, False])
@pytest.mark.parametrize("forward", [-0.02, 0.01, 0.03, 0.031])
def test_agrees_with_quantlib(forward, call):
    kind = ql.Option.Call if call else ql.Option.Put
    price = ql.bachelierBlackFormula(kind, 0.03, forward, 0.02 * math.sqrt(2.0), 0.95)
    found = normal_volatility(price, forward, 0.03, 2.0, 0.95, call).item()
    assert found == pytest.approx(0.02, rel=1e-10)


def test_at_the_money_it_is_a_multiple_of_the_price():
    found = normal_volatility([1e-200, 1.0, 1e9], 5.0, 5.0, 1.0)
    expected = math.sqrt(2 * math.pi) * torch.tensor([1e-200, 1.0, 1e9], dtype=torch.float64)
    torch.testing.assert_close(found, expected, rtol=1e-15, atol=0.0)


def test_where_there_is_none():
    assert normal_volatility(7.0, 108.0, 100.0, 1.0).isnan()
    assert normal_volatility(9.0, 108.0, 100.0, 0.0).isnan()
    assert normal_volatility(9.0, 108.0, 100.0, 1.0, 0.0).isnan()
    assert normal_volatility(math.nan, 108.0, 100.0, 1.0).isnan()
    assert normal_volatility(8.0, 108.0, 100.0, 1.0) == 0.0


@pytest.mark.parametrize("forward", [95.0, 100.0, 104.0])
def test_derivatives_are_those_of_the_implicit_function(forward):
    values = (7.0, forward, 100.0, 0.5, 0.9)
    at = tuple(torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in values)
    assert torch.autograd.gradcheck(normal_volatility, at)
    if forward != 100.0:
        with torch.random.fork_rng():
            assert torch.autograd.gradgradcheck(normal_volatility, at)


def test_rows_without_a_volatility_do_not_spoil_the_gradient_of_others():
    price = torch.tensor([9.0, 7.0], dtype=torch.float64, requires_grad=True)
    found = normal_volatility(price, 108.0, 100.0, 1.0)
    torch.where(found.isnan(), 0.0, found).sum().backward()
    assert price.grad[0] > 0
    assert price.grad[1] == 0


def test_the_volatility_of_bachelier_s_price_is_its_parameter(generator):
    family = fk.Bachelier(fk.Payoff("put"))
    rows = family.domain.sample(300, generator, torch.float64)
    rows[:, 1] = rows[:, 1].clamp_min(0.2)
    price = family.closed_form(*family.domain.split(rows))
    found = price_volatility(family, price, rows, normal=True)
    near = (rows[:, 0] - rows[:, 4]).abs() < 3.0 * rows[:, 2] * rows[:, 1].sqrt()
    assert near.double().mean() > 0.8  # in the others, prices have too few digits of the time value
    torch.testing.assert_close(found[near], rows[near, 2], rtol=1e-10, atol=0.0)
