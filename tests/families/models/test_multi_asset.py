"""Options on several assets: simulated prices against QuantLib and Margrabe's formula."""

import math

import pytest
import QuantLib as ql  # noqa: N813
import torch
from oracles import market, maturity
from scipy.stats import norm

from feynkac.errors import InputError
from feynkac.families.catalogue import family_fields
from feynkac.families.family import jumps
from feynkac.families.models.multi_asset import MultiAsset
from feynkac.families.payoff import Payoff
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.reference import replicated
from feynkac.sampling.schemes.exact import Exact

TWO = {
    "x": [95.0, 105.0],
    "t": 0.6,
    "sigma": [0.2, 0.35],
    "rho": 0.4,
    "rate": 0.03,
}
FIVE = {
    "x": [92.0, 97.0, 100.0, 104.0, 109.0],
    "t": 1.0,
    "sigma": [0.4, 0.15, 0.25, 0.1, 0.3],
    "rho": 0.7,
    "rate": 0.05,
}


def simulated(payoff, at):
    """Value and standard error from 16 × 4096 exact quasi-random paths."""
    family = MultiAsset(len(at["x"]), payoff)
    inputs = family.domain.join(at).unsqueeze(0)
    generator = make_generator(1978, str(payoff))
    estimate = replicated(family, Exact(), Sobol(), inputs, 4096, generator)
    return estimate.value.item(), estimate.error.item()


def assert_agrees(payoff, at, expected, sharp=2e-3):
    """Within 4 standard errors, which must be small enough to mean something."""
    value, error = simulated(payoff, at)
    assert error < sharp * expected
    assert abs(value - expected) < 4.0 * error


def processes(at):
    assets = zip(at["x"], at["sigma"], strict=True)
    common = {"rate": at["rate"], "dividend": 0.0}
    return [market({"x": x, "sigma": sigma, **common}) for x, sigma in assets]


def option(basket, style, at):
    kind = ql.Option.Call if style == "call" else ql.Option.Put
    return ql.BasketOption(basket(ql.PlainVanillaPayoff(kind, at["strike"])), maturity(at))


def choi(basket, style, at):
    """QuantLib's quadrature for sums and differences of lognormal numbers."""
    dim = len(at["x"])
    rho = ql.Matrix(dim, dim, at["rho"])
    for i in range(dim):
        rho[i][i] = 1.0
    found = option(basket, style, at)
    found.setPricingEngine(ql.ChoiBasketEngine(processes(at), rho, 15.0))
    return found.NPV()


@pytest.mark.parametrize("style", ["call", "put"])
@pytest.mark.parametrize(
    ("on", "basket"), [("max", ql.MaxBasketPayoff), ("min", ql.MinBasketPayoff)]
)
def test_best_and_worst_of_two_agree_with_stulz(style, on, basket):
    at = TWO | {"strike": 98.0}
    expected = option(basket, style, at)
    expected.setPricingEngine(ql.StulzEngine(*processes(at), at["rho"]))
    assert_agrees(Payoff(style, on=on), at, expected.NPV())


@pytest.mark.parametrize("style", ["call", "put"])
@pytest.mark.parametrize("at", [TWO, FIVE], ids=["two", "five"])
def test_baskets_agree_with_quantlib(style, at):
    at = at | {"strike": 102.0}
    expected = choi(lambda payoff: ql.AverageBasketPayoff(payoff, len(at["x"])), style, at)
    assert_agrees(Payoff(style, on="mean"), at, expected)


@pytest.mark.parametrize("style", ["call", "put"])
def test_a_spread_agrees_with_quantlib(style):
    at = TWO | {"strike": 4.0}
    expected = choi(ql.SpreadBasketPayoff, style, at)
    assert_agrees(Payoff(style, on="spread"), at, expected)


def test_an_exchange_agrees_with_margrabe():
    """A spread with strike 0: Black's formula with the variance of ln(S₁/S₂), without interest."""
    at = TWO | {"strike": 0.0}
    (a, b), (x, y) = at["sigma"], at["x"]
    v = math.sqrt((a * a + b * b - 2.0 * at["rho"] * a * b) * at["t"])
    d = math.log(x / y) / v + v / 2
    assert_agrees(Payoff("call", on="spread"), at, x * norm.cdf(d) - y * norm.cdf(d - v))


def test_a_digital_basket_is_the_slope_of_the_call():
    """−∂C/∂K of QuantLib's call, by central differences."""
    at = TWO | {"strike": 101.0}

    def call(strike):
        return choi(lambda p: ql.AverageBasketPayoff(p, 2), "call", at | {"strike": strike})

    expected = (call(100.9) - call(101.1)) / 0.2
    assert_agrees(Payoff("digital", on="mean"), at, expected, sharp=5e-3)


def test_the_tests_above_would_notice_a_wrong_correlation():
    expected = choi(ql.SpreadBasketPayoff, "call", TWO | {"strike": 4.0, "rho": 0.42})
    value, error = simulated(Payoff("call", on="spread"), TWO | {"strike": 4.0})
    assert abs(value - expected) > 4.0 * error


def test_more_assets_raise_the_best_and_lower_the_worst():
    two = TWO | {"strike": 98.0}
    one = {"x": [105.0], "sigma": [0.35]}
    for on, sign in (("max", 1.0), ("min", -1.0)):
        payoff = Payoff("call", on=on)
        assert sign * (simulated(payoff, two)[0] - simulated(payoff, two | one)[0]) > 0.5


def test_fields_and_jumps():
    family = MultiAsset(3, Payoff("digital", on="min"))
    assert family_fields(family) == {"dim": 3, "payoff": "digital:min"}
    assert jumps(family)
    assert not jumps(MultiAsset())


def test_a_spread_of_one_asset_is_refused():
    with pytest.raises(InputError, match="a spread needs two assets, got dim=1; set dim=2"):
        MultiAsset(1, Payoff("call", on="spread"))


def test_pathwise_slopes_agree_with_quantlib():
    """∂u/∂x of the basket, through the exact sampler and discount."""
    family = MultiAsset(2)
    at = TWO | {"strike": 102.0}
    inputs = family.domain.join(at)[None, None].requires_grad_()
    x, t, p = family.domain.split(inputs)
    z = torch.randn(2**17, 3, generator=make_generator(0, "slopes"), dtype=torch.float64)
    value = (-p.rate * t).exp() * family.initial(family.exact(x, t, p, z), p)
    (slopes,) = torch.autograd.grad(value.mean(), inputs)
    for asset, slope in enumerate(slopes.flatten()[:2].tolist()):
        up, down = (
            at | {"x": [v + e * (i == asset) for i, v in enumerate(at["x"])]} for e in (0.1, -0.1)
        )
        ends = [choi(lambda o: ql.AverageBasketPayoff(o, 2), "call", a) for a in (up, down)]
        assert slope == pytest.approx((ends[0] - ends[1]) / 0.2, abs=5e-3)
