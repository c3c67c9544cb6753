"""The largest and smallest of lognormal numbers: Black, Stulz, SciPy's normal law, v = 0."""

import numpy as np
import pytest
import QuantLib as ql  # noqa: N813
import torch
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from feynkac.families.formulas.expected_payoff import black
from feynkac.families.formulas.extremes import all_below, extreme
from feynkac.families.payoff import INDICES, STYLES

FORWARD, DEVIATION = [92.0, 100.0, 97.0, 108.0], [0.4, 0.1, 0.2, 0.15]
every_style = pytest.mark.parametrize("style", STYLES)
either = pytest.mark.parametrize("on", ["max", "min"])
dependence = pytest.mark.parametrize("rho", [None, 0.1, 0.5, 0.9])
every_strike = pytest.mark.parametrize("strike", [85.0, 105.0])


def tensors(*values):
    return [None if v is None else torch.tensor(v, dtype=torch.float64) for v in values]


def value(style, on, forward, strike, deviation, rho=None, nodes=48):
    at = tensors(forward, [strike], deviation, None if rho is None else [rho])
    return extreme(style, on, *at, nodes=nodes).item()


@every_style
@either
@dependence
@every_strike
def test_one_number_is_priced_by_black(style, on, rho, strike):
    expected = black(style, *tensors([100.0], [strike], [0.25])).item()
    assert value(style, on, [100.0], strike, [0.25], rho) == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("style", ["call", "put"])
@either
@dependence
@every_strike
def test_two_numbers_agree_with_stulz(style, on, rho, strike):
    """QuantLib's engine in a market without interest, after a year."""
    today, days = ql.Date(1, 7, 2021), ql.Actual365Fixed()
    ql.Settings.instance().evaluationDate = today
    flat = ql.YieldTermStructureHandle(ql.FlatForward(today, 0.0, days))
    processes = []
    for forward, deviation in ((95.0, 0.2), (105.0, 0.38)):
        sigma = ql.BlackConstantVol(today, ql.NullCalendar(), deviation, days)
        spot = ql.QuoteHandle(ql.SimpleQuote(forward))
        vol = ql.BlackVolTermStructureHandle(sigma)
        processes.append(ql.BlackScholesMertonProcess(spot, flat, flat, vol))
    kind = ql.PlainVanillaPayoff(ql.Option.Call if style == "call" else ql.Option.Put, strike)
    basket = ql.MaxBasketPayoff(kind) if on == "max" else ql.MinBasketPayoff(kind)
    option = ql.BasketOption(basket, ql.EuropeanExercise(today + 365))
    option.setPricingEngine(ql.StulzEngine(*processes, rho or 0.0))
    found = value(style, on, [95.0, 105.0], strike, [0.2, 0.38], rho)
    assert found == pytest.approx(option.NPV(), rel=2e-6, abs=2e-6)


@either
@every_strike
def test_several_independent_numbers_agree_with_scipy_s_quadrature(on, strike):
    forward, deviation = np.array(FORWARD), np.array(DEVIATION)

    def chance_above(s):
        d = np.log(forward / s) / deviation - deviation / 2
        return norm.cdf(d).prod() if on == "min" else 1.0 - norm.cdf(-d).prod()

    call, _ = quad(chance_above, strike, 1000.0, points=[130.0, 200.0], limit=200)
    assert value("call", on, FORWARD, strike, DEVIATION) == pytest.approx(call, rel=1e-5, abs=1e-5)
    digital = value("digital", on, FORWARD, strike, DEVIATION)
    assert digital == pytest.approx(chance_above(strike), abs=1e-7)


@pytest.mark.parametrize("rho", [0.1, 0.9])
@pytest.mark.parametrize(
    "alphas", [[0.3, -0.2, 1.5], [-3.0, 4.0, 0.0], [2.5, 2.4, 2.6]], ids=["mixed", "far", "high"]
)
def test_the_joint_law_is_scipy_s(alphas, rho):
    matrix = torch.full((3, 3), rho).fill_diagonal_(1.0).numpy()
    expected = multivariate_normal.cdf(alphas, cov=matrix, abseps=1e-8, releps=1e-8, rng=0)
    found = all_below(tensors(*([alpha] for alpha in alphas)), *tensors([rho]))
    assert found.item() == pytest.approx(expected, abs=1e-6)


@either
@dependence
@every_strike
def test_call_minus_put_is_the_mean_less_the_strike(on, rho, strike):
    """E I is a call with a strike of nearly nothing."""
    call, put = (value(style, on, FORWARD, strike, DEVIATION, rho) for style in ("call", "put"))
    mean = value("call", on, FORWARD, 1e-3, DEVIATION, rho) + 1e-3
    assert call - put == pytest.approx(mean - strike, abs=2e-5)


@either
@pytest.mark.parametrize("rho", [None, 0.5])
def test_a_digital_is_minus_the_slope_of_the_call_in_its_strike(on, rho):
    forward, strike, deviation, corr = tensors(
        FORWARD, [101.0], DEVIATION, None if rho is None else [rho]
    )
    strike.requires_grad_()
    call = extreme("call", on, forward, strike, deviation, corr, nodes=48)
    (slope,) = torch.autograd.grad(call, strike)
    digital = extreme("digital", on, forward, strike, deviation, corr)
    torch.testing.assert_close(-slope, digital, rtol=0, atol=2e-6)


@pytest.mark.parametrize(
    ("style", "on", "rho"),
    [
        ("call", "max", None),
        ("put", "min", None),
        ("digital", "max", None),
        ("put", "max", 0.6),
        ("digital", "min", 0.6),
    ],
)
def test_derivatives_agree_with_finite_differences(style, on, rho):
    at = tensors(FORWARD, [99.0], DEVIATION, None if rho is None else [rho])
    given = [v.requires_grad_() for v in at if v is not None]
    torch.autograd.gradcheck(
        lambda *v: extreme(style, on, *v), given, eps=1e-6, atol=1e-6, rtol=1e-6
    )


@every_style
@either
@dependence
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_without_deviation_it_is_the_payoff(style, on, rho, dtype):
    forward = torch.tensor([[90.0, 110.0], [120.0, 130.0], [70.0, 80.0]], dtype=dtype)
    strike = torch.full((3, 1), 100.0, dtype=dtype)
    corr = None if rho is None else torch.full_like(strike, rho)
    forward.requires_grad_()
    deviation = torch.zeros_like(forward).requires_grad_()
    found = extreme(style, on, forward, strike, deviation, corr)
    assert torch.equal(found, STYLES[style](INDICES[on](forward) - strike))
    slopes = torch.autograd.grad(found.sum(), (forward, deviation), allow_unused=True)
    assert all(slope is None or slope.isfinite().all() for slope in slopes)


@every_style
@either
@pytest.mark.parametrize("deviation", [1e-4, 1e-2, 0.38])
def test_single_precision_agrees_with_double(style, on, deviation, generator):
    forward = 90.0 + 20.0 * torch.rand(200, 5, generator=generator, dtype=torch.float64)
    forward, strike = forward.float(), torch.full((200, 1), 100.0)
    v = torch.full_like(forward, deviation)
    found = extreme(style, on, forward, strike, v)
    double = extreme(style, on, forward.double(), strike.double(), v.double())
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), double, rtol=2e-6, atol=1e-4)


def test_leading_axes_broadcast(generator):
    forward = 90.0 + 20.0 * torch.rand(4, 3, 2, generator=generator, dtype=torch.float64)
    strike = torch.full((4, 1, 1), 100.0, dtype=torch.float64)
    v, rho = torch.full((4, 1, 2), 0.2, dtype=torch.float64), torch.full_like(strike, 0.4)
    for corr in (None, rho):
        found = extreme("put", "min", forward, strike, v, corr)
        one = extreme(
            "put", "min", forward[2, 1], strike[2, 0], v[2, 0], None if corr is None else corr[2, 0]
        )
        assert found.shape == (4, 3, 1)
        torch.testing.assert_close(found[2, 1], one)
