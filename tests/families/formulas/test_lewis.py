"""Expected payoffs by Fourier integral, of laws whose expected payoffs are known otherwise."""

import math

import pytest
import QuantLib as ql  # noqa: N813
import torch

from feynkac.families.formulas.lewis import expectation

STYLES = {
    "call": lambda K: ql.PlainVanillaPayoff(ql.Option.Call, K),
    "put": lambda K: ql.PlainVanillaPayoff(ql.Option.Put, K),
    "digital": lambda K: ql.CashOrNothingPayoff(ql.Option.Call, K, 1.0),
}
every_style = pytest.mark.parametrize("style", STYLES)


def black(style, forward, strike, variance):
    return ql.BlackCalculator(STYLES[style](strike), forward, variance**0.5).value()


def numbers(*values):
    return [torch.tensor([v], dtype=torch.float64) for v in values]


def value(style, forward, strike, log_f):
    return expectation(style, *numbers(forward, strike), log_f).item()


def normal(variance):
    """ln f of a lognormal number."""
    return lambda z: -0.5 * variance * z * (z + 1j)


@every_style
@pytest.mark.parametrize("strike", [20.0, 80.0, 100.0, 125.0, 500.0])
@pytest.mark.parametrize("variance", [1e-9, 1e-4, 0.04, 1.0, 25.0])
def test_a_lognormal_number(style, strike, variance):
    found = value(style, 100.0, strike, normal(variance))
    assert found == pytest.approx(black(style, 100.0, strike, variance), abs=1e-9)


@every_style
@pytest.mark.parametrize("strike", [80.0, 99.9, 100.0, 125.0])
@pytest.mark.parametrize("variances", [(0.02, 0.06), (1e-6, 1.0), (1e-8, 0.1)], ids=str)
def test_a_mixture_of_two_lognormal_numbers(style, strike, variances):
    """As if the volatility were drawn by a coin: f has a narrow peak and a wide foot."""

    def log_f(z):
        return sum(0.5 * normal(v)(z).exp() for v in variances).log()

    found = value(style, 100.0, strike, log_f)
    expected = sum(black(style, 100.0, strike, v) for v in variances) / 2
    assert found == pytest.approx(expected, abs=1e-9)


@every_style
def test_jumps_of_merton(style):
    """Lognormal jumps (1976): a Poisson mixture of Black's values, skewed and with fat tails."""
    rate, size, spread, v = 0.5, -0.1, 0.1, 0.02
    mean = math.exp(size + spread**2 / 2) - 1.0

    def log_f(u):
        jump = (1j * u * size - 0.5 * (spread * u) ** 2).exp() - 1.0
        return -0.5 * v * u * (u + 1j) + rate * (jump - 1j * u * mean)

    def after(n):
        forward = 100.0 * math.exp(n * (size + spread**2 / 2) - rate * mean)
        chance = math.exp(-rate) * rate**n / math.factorial(n)
        return chance * black(style, forward, 95.0, v + n * spread**2)

    found = value(style, 100.0, 95.0, log_f)
    assert found == pytest.approx(sum(after(n) for n in range(30)), abs=1e-8)


@every_style
@pytest.mark.parametrize("forward", [90.0, 110.0])
def test_far_from_the_strike_it_is_the_payoff(style, forward):
    found = value(style, forward, 100.0, normal(1e-6))
    assert found == pytest.approx(max(STYLES[style](100.0)(forward), 0.0), abs=1e-9)


@every_style
def test_a_forward_of_zero_has_the_value_and_slope_of_the_payoff(style):
    forward, strike = numbers(0.0, 100.0)
    found = expectation(style, forward.requires_grad_(), strike, normal(0.04))
    (slope,) = torch.autograd.grad(found.sum() + 0.0 * forward.sum(), forward)
    assert found.item() == (100.0 if style == "put" else 0.0)
    assert slope.item() == (-1.0 if style == "put" else 0.0)


@every_style
def test_slopes_are_those_of_black(style):
    """∂/∂F and ∂²/∂F², by autograd through the integral."""
    forward, strike = numbers(110.0, 100.0)
    forward.requires_grad_()
    found = expectation(style, forward, strike, normal(0.04))
    (delta,) = torch.autograd.grad(found.sum(), forward, create_graph=True)
    (gamma,) = torch.autograd.grad(delta.sum(), forward)
    oracle = ql.BlackCalculator(STYLES[style](100.0), 110.0, 0.2)
    assert delta.item() == pytest.approx(oracle.deltaForward(), abs=1e-12)
    assert gamma.item() == pytest.approx(oracle.gammaForward(), abs=1e-12)
