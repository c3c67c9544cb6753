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


def value(style, forward, strike, variance, decay, log_f):
    return expectation(style, *numbers(forward, strike, variance, decay), log_f).item()


@every_style
@pytest.mark.parametrize("strike", [80.0, 100.0, 125.0])
@pytest.mark.parametrize("wrong", [0.7, 1.0, 1.5])
def test_a_lognormal_number_whatever_variance_is_taken_out(style, strike, wrong):
    """The integral makes up for what Black's formula with a wrong variance lacks."""

    def log_f(u):
        return -0.5 * 0.04 * u * (u + 1j)

    found = value(style, 100.0, strike, wrong * 0.04, 1.0, log_f)
    assert found == pytest.approx(black(style, 100.0, strike, 0.04), abs=1e-8)


@every_style
@pytest.mark.parametrize("strike", [80.0, 100.0, 125.0])
def test_a_mixture_of_two_lognormal_numbers(style, strike):
    """As if the volatility were drawn by a coin."""

    def log_f(u):
        quadratic = -0.5 * u * (u + 1j)
        return (0.5 * (0.02 * quadratic).exp() + 0.5 * (0.06 * quadratic).exp()).log()

    found = value(style, 100.0, strike, 0.04, 1.0, log_f)
    expected = sum(black(style, 100.0, strike, v) for v in (0.02, 0.06)) / 2
    assert found == pytest.approx(expected, abs=1e-8)


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

    found = value(style, 100.0, 95.0, v, 1.0, log_f)
    assert found == pytest.approx(sum(after(n) for n in range(30)), abs=1e-8)


@every_style
@pytest.mark.parametrize("forward", [90.0, 110.0])
def test_far_from_the_strike_nothing_is_added(style, forward):
    def log_f(u):
        return -0.5 * 1e-6 * u * (u + 1j)

    found = value(style, forward, 100.0, 2e-6, 1e3, log_f)
    assert found == pytest.approx(max(STYLES[style](100.0)(forward), 0.0), abs=1e-9)
