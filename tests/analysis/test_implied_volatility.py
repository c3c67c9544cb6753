"""Implied volatilities against mpmath and QuantLib, their gradients, and where there is none."""

import math

import mpmath
import pytest
import QuantLib as ql  # noqa: N813
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from feynkac.analysis.implied_volatility import (
    black_price,
    black_vega,
    implied_volatility,
    why_no_volatility,
)
from feynkac.errors import InputError

DAY = 1.0 / 365.0
EPS = torch.finfo(torch.float64).eps


def exact_time_value(forward, strike, t, sigma):
    """Of the option out of the money, to fifty digits."""
    with mpmath.workdps(50 + 40):
        F, K, v = mpmath.mpf(forward), mpmath.mpf(strike), mpmath.mpf(sigma) * mpmath.sqrt(t)
        d1 = mpmath.log(F / K) / v + v / 2
        if F <= K:
            return F * mpmath.ncdf(d1) - K * mpmath.ncdf(d1 - v)
        return K * mpmath.ncdf(v - d1) - F * mpmath.ncdf(-d1)


def condition(forward, strike, t, sigma):
    """Relative change of σ per relative change of the price: price/(σ vega)."""
    value = black_price(forward, strike, t, sigma, call=forward <= strike)
    return value / (sigma * black_vega(forward, strike, t, sigma))


def inputs(count=3000):
    """Moneyness 1e−3 to 1e3 (some of it next to 1), volatility 1e−4 to 10, a day to 30 years."""
    numbers = torch.Generator().manual_seed(0)
    u = torch.rand(4, count, generator=numbers, dtype=torch.float64)
    wide, narrow = 10 ** (6 * u[0] - 3), 1 + (2 * u[0] - 1) * 10 ** (-8 * u[3])
    moneyness = torch.where(torch.arange(count) % 2 == 0, wide, narrow)
    return 100.0 * moneyness, 10 ** (5 * u[1] - 4), DAY * (30.0 / DAY) ** u[2]


def test_round_trips_of_exact_prices_have_all_digits():
    """As many digits as the price has, times the condition of the question, of 1e-12 and better."""
    F, sigma, t = inputs()
    rows = zip(F.tolist(), t.tolist(), sigma.tolist(), strict=True)
    exact = torch.tensor(
        [float(exact_time_value(f, 100.0, b, s)) for f, b, s in rows], dtype=torch.float64
    )
    kept = exact > 1e-290  # the price has all its digits
    F, sigma, t, exact = F[kept], sigma[kept], t[kept], exact[kept]
    kept = exact < torch.minimum(F, torch.tensor(100.0)) * (1.0 - 1e-14)
    F, sigma, t, exact = F[kept], sigma[kept], t[kept], exact[kept]
    found = implied_volatility(exact, F, 100.0, t, call=F <= 100.0)
    error = (found / sigma - 1.0).abs()
    conditions = condition(F, torch.tensor(100.0), t, sigma)
    assert len(F) > 1000
    assert (error <= 32 * EPS * (1.0 + conditions)).all()
    assert error[conditions < 10.0].max() < 1e-13
    assert ((conditions < 10.0).sum() / len(F)) > 0.8


def test_prices_agree_with_mpmath():
    F, sigma, t = inputs(1000)
    rows = zip(F.tolist(), t.tolist(), sigma.tolist(), strict=True)
    exact = torch.tensor(
        [float(exact_time_value(f, 100.0, b, s)) for f, b, s in rows], dtype=torch.float64
    )
    found = black_price(F, 100.0, t, sigma, call=F <= 100.0)
    kept = exact > 1e-290
    rounding = 16 * EPS * (1.0 + -(exact[kept] / 100.0).clamp_max(1.0).log())  # of exp(−h²/2)
    rounding *= 1.0 + 16.0 / (F[kept] / 100.0).log().abs().clamp(1e-3, 1.0)
    assert ((found / exact - 1.0).abs()[kept] <= rounding).all()
    assert (found[~kept] < 1e-289).all()


@pytest.mark.parametrize("call", [True, False])
@pytest.mark.parametrize("moneyness", [1e-3, 0.5, 0.99, 1.0, 1.0001, 1.3, 1e3])
def test_agrees_with_quantlib(call, moneyness):
    kind = ql.Option.Call if call else ql.Option.Put
    for t in (DAY, 0.5, 30.0):
        for sigma in (0.05, 0.3, 1.0, 3.0):
            F, v, D = 100.0 * moneyness, sigma * math.sqrt(t), 0.9
            theirs = ql.blackFormula(kind, 100.0, F, v, D)
            ours = black_price(F, 100.0, t, sigma, D, call).item()
            assert ours == pytest.approx(theirs, rel=1e-11, abs=1e-13 * (F + 100.0))
            out = call == (moneyness <= 1.0)
            if out and 1e-3 < theirs < 0.999 * D * min(F, 100.0):
                found = implied_volatility(theirs, F, 100.0, t, D, call).item()
                back = ql.blackFormulaImpliedStdDev(
                    kind, 100.0, F, theirs, D, 0.0, v, 1e-15, 1000
                ) / math.sqrt(t)
                assert found == pytest.approx(back, rel=1e-11)
                assert found == pytest.approx(sigma, rel=1e-10)


@settings(max_examples=300, deadline=None)
@given(
    st.floats(math.log(1e-3), math.log(1e3)),
    st.floats(math.log(1e-4), math.log(10.0)),
    st.floats(math.log(DAY), math.log(30.0)),
    st.floats(0.1, 1.5),
    st.booleans(),
)
def test_the_price_of_the_implied_volatility_is_the_price(log_moneyness, log_sigma, log_t, D, call):
    F, sigma, t = 100.0 * math.exp(log_moneyness), math.exp(log_sigma), math.exp(log_t)
    price = black_price(F, 100.0, t, sigma, D, call)
    found = implied_volatility(price, F, 100.0, t, D, call)
    assert found.isnan() == bool(why_no_volatility(price, F, 100.0, t, D, call))
    assert not found.isnan() or price >= D * (F if call else 100.0) * (1.0 - EPS)
    if not found.isnan():
        again = black_price(F, 100.0, t, found, D, call)
        assert (again - price).abs() <= 1e-13 * price + 4 * EPS * (F + 100.0) * D


def test_at_the_money_it_is_exact():
    sigma = 10.0 ** torch.arange(-150, 1, dtype=torch.float64)
    price = 100.0 * torch.erf(sigma / math.sqrt(8.0))
    assert torch.allclose(implied_volatility(price, 100.0, 100.0, 1.0), sigma, rtol=1e-14, atol=0)


def test_puts_and_calls_have_one_volatility():
    put = black_price(100.0, 120.0, 0.5, 0.3, 0.97, call=False)
    call = put + 0.97 * (100.0 - 120.0)
    both = implied_volatility(torch.stack([put, call]), 100.0, 120.0, 0.5, 0.97, [False, True])
    assert torch.allclose(both, torch.tensor(0.3, dtype=torch.float64), rtol=1e-6)


@pytest.mark.parametrize(
    ("quote", "reason"),
    [
        ((9.0, 110.0, 100.0, 1.0), "below the intrinsic value"),
        ((-1.0, 90.0, 100.0, 1.0), "below the intrinsic value"),
        ((110.0, 110.0, 100.0, 1.0), "not below the forward of a call, the strike of a put"),
        ((1e9, 110.0, 100.0, 1.0), "not below the forward of a call, the strike of a put"),
        ((12.0, 110.0, 100.0, 0.0), "no time to maturity"),
        ((12.0, 110.0, 100.0, -1.0), "no time to maturity"),
        ((12.0, 0.0, 100.0, 1.0), "forward or strike is not positive"),
        ((12.0, 110.0, -1.0, 1.0), "forward or strike is not positive"),
        ((math.nan, 110.0, 100.0, 1.0), "not a finite number"),
        ((12.0, math.inf, 100.0, 1.0), "not a finite number"),
        ((12.0, 110.0, 100.0, 1.0, 0.0), "the discount factor is not positive"),
    ],
)
def test_where_there_is_none_the_reason_is_given(quote, reason):
    assert implied_volatility(*quote).isnan()
    assert why_no_volatility(*quote) == {reason: 1}


def test_where_there_is_one_no_reason_is_given():
    assert why_no_volatility([10.0, 12.0], 110.0, 100.0, 1.0) == {}
    assert implied_volatility(10.0, 110.0, 100.0, 1.0) == 0.0  # the intrinsic value


def test_a_put_is_bounded_by_its_strike():
    assert implied_volatility(100.0, 200.0, 100.0, 1.0, call=False).isnan()
    assert implied_volatility(99.0, 200.0, 100.0, 1.0, call=False) > 4.0
    assert implied_volatility(101.0, 200.0, 100.0, 1.0, call=True) > 0.0


def leaves(*values):
    return tuple(torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in values)


@pytest.mark.parametrize("call", [True, False])
@pytest.mark.parametrize("strike", [80.0, 100.0, 125.0])
def test_derivatives_are_those_of_the_implicit_function(strike, call):
    price = black_price(100.0, strike, 0.5, 0.3, 0.95, call).item()
    at = leaves(price, 100.0, strike, 0.5, 0.95)

    def sigma(*values):
        return implied_volatility(*values, call=call)

    def value(sigma, forward, strike, t, discount):
        return black_price(forward, strike, t, sigma, discount, call)

    assert torch.autograd.gradcheck(sigma, at)
    assert torch.autograd.gradcheck(value, leaves(0.3, 100.0, strike, 0.5, 0.95))
    if strike != 100.0:  # where the forward is the strike, a difference of slopes sees a kink
        with torch.random.fork_rng():  # it draws numbers
            assert torch.autograd.gradgradcheck(sigma, at)
            assert torch.autograd.gradgradcheck(value, leaves(0.3, 100.0, strike, 0.5, 0.95))
    (slope,) = torch.autograd.grad(sigma(*at), at[:1])
    vega = black_vega(100.0, strike, 0.5, 0.3, 0.95)
    assert slope.item() == pytest.approx(1.0 / vega.item(), rel=1e-10)


def test_rows_without_a_volatility_do_not_spoil_the_gradient_of_others():
    (price,) = leaves([8.0, 120.0, -1.0])
    found = implied_volatility(price, 100.0, 100.0, 1.0)
    torch.where(found.isnan(), 0.0, found).sum().backward()
    assert price.grad[0] > 0
    assert price.grad[1:].tolist() == [0.0, 0.0]


def test_transforms_of_torch_work():
    slope = torch.func.grad(lambda price: implied_volatility(price, 100.0, 95.0, 0.5))
    prices = torch.tensor([8.0, 9.0], dtype=torch.float64)
    each = torch.stack([slope(price) for price in prices])
    assert torch.allclose(torch.func.vmap(slope)(prices), each)
    across = torch.func.vmap(lambda price: implied_volatility(price, 100.0, 95.0, 0.5))(prices)
    assert torch.allclose(across, implied_volatility(prices, 100.0, 95.0, 0.5))


def test_many_rows_are_those_of_single_ones():
    F, sigma, t = (v.repeat(12)[:40_000] for v in inputs(4000))
    price = black_price(F, 100.0, t, sigma)
    together = implied_volatility(price.reshape(200, 200), F.reshape(200, 200), 100.0, 1.0)
    assert together.shape == (200, 200)
    few = implied_volatility(price[37:39], F[37:39], 100.0, 1.0)
    assert torch.allclose(together.flatten()[37:39], few, rtol=1e-14, equal_nan=True)


def test_float32_and_integers_are_read_as_float64():
    found = implied_volatility(torch.tensor([8], dtype=torch.int64), 100, 100, 1)
    assert found.dtype == torch.float64
    assert implied_volatility(torch.tensor([8.0]), 100, 100, 1) == found


def test_a_series_is_read_by_position_whatever_its_index():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"price": [1.0, 7.9656, 9.0], "K": [1.0, 100.0, 101.0]}, index=[2, 5, 0]
    )
    some = frame[frame.K > 50.0]
    found = implied_volatility(some.price, 100.0, some.K, 1.0)
    expected = implied_volatility([7.9656, 9.0], 100.0, [100.0, 101.0], 1.0)
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"call": "put"}, "call is True for calls and False for puts, not 'put'"),
        ({"call": -1}, "call is True for calls and False for puts, not -1"),
        ({"price": "7.9"}, "expected numbers, got '7.9'"),
        ({"strike": [100.0, 101.0]}, r"do not broadcast: they have shapes \(3,\), "),
    ],
)
def test_what_are_no_numbers_or_flags_is_said(arguments, message):
    asked = {"price": [7.9, 8.0, 8.1], "forward": 100.0, "strike": 100.0, "t": 1.0} | arguments
    with pytest.raises(InputError, match=message):
        implied_volatility(**asked)
