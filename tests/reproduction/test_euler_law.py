"""The law of Euler–Maruyama: QuantLib for one step, quadrature for two, simulation for more."""

import math

import numpy as np
import pytest
import QuantLib as ql  # noqa: N813
from scipy.integrate import quad
from scipy.stats import norm

from feynkac.reproduction.euler_law import Factor, moment, negative_part, put_errors

SETTINGS = [(0.0, 0.6), (0.0, 0.05), (0.3, 0.5), (1.8, 3.118)]
RATIOS = np.array([0.75, 1.0, 1.2])


def one_step(ratio, drift, volatility):
    return ql.bachelierBlackFormula(
        ql.Option.Put, 1.0, ratio * (1 + drift), abs(ratio) * volatility
    )


def limit(ratio, drift, volatility):
    return ql.blackFormula(ql.Option.Put, 1.0, ratio * math.exp(drift), volatility)


def two_steps(ratio, drift, volatility):
    """E of the one-step price from where the first of two steps leads."""
    a, v = drift / 2, volatility / math.sqrt(2)

    def integrand(z):
        return norm.pdf(z) * one_step(ratio * (1 + a + v * z), a, v)

    zero = -(1 + a) / v  # where the state changes its sign
    points = [zero] if -9 < zero < 9 else None
    return quad(integrand, -9, 9, limit=300, points=points, epsabs=1e-11)[0]


@pytest.mark.parametrize(("drift", "volatility"), SETTINGS)
@pytest.mark.parametrize(("steps", "price"), [(1, one_step), (2, two_steps)])
def test_one_and_two_steps_are_those_of_quantlib(drift, volatility, steps, price):
    found = put_errors(RATIOS, drift, volatility, steps)
    exact = [price(r, drift, volatility) - limit(r, drift, volatility) for r in RATIOS]
    np.testing.assert_allclose(found, exact, rtol=0, atol=2e-9)


@pytest.mark.parametrize(("drift", "volatility", "steps"), [(0.0, 0.6, 16), (0.9, 1.5, 5)])
def test_more_steps_are_those_of_simulated_paths(drift, volatility, steps):
    z = np.random.default_rng(0).standard_normal((steps, 400_000))
    product = np.prod(1 + drift / steps + volatility / math.sqrt(steps) * z, axis=0)
    end = np.exp(drift - volatility**2 / 2 + volatility * z.sum(0) / math.sqrt(steps))
    payoffs = np.maximum(1 - 0.9 * product, 0) - np.maximum(1 - 0.9 * end, 0)
    (found,) = put_errors(np.array([0.9]), drift, volatility, steps)
    assert found == pytest.approx(payoffs.mean(), abs=4 * payoffs.std() / 400_000**0.5)
    assert abs(found) > 4 * payoffs.std() / 400_000**0.5


def test_the_error_halves_with_twice_the_steps():
    coarse, fine = (put_errors(RATIOS, 0.0, 0.6, m) for m in (512, 1024))
    np.testing.assert_allclose(coarse / fine, 2.0, rtol=0.02)


def test_without_noise_only_growth_is_left():
    found = put_errors(np.array([0.5, 2.0]), 0.4, 0.0, 2)
    np.testing.assert_allclose(found, [0.5 * (math.exp(0.4) - 1.2**2), 0.0])


@pytest.mark.parametrize("sign", [1, -1])
def test_moments_are_those_of_quadrature(sign):
    factor = Factor(mean=1.2, kappa=0.8)
    zero = -1 / factor.kappa
    ends = (zero, 12) if sign > 0 else (-12, zero)
    exact = quad(lambda z: norm.pdf(z) * abs(1.2 * (1 + 0.8 * z)) ** 0.5, *ends, epsabs=1e-13)[0]
    assert moment(factor, np.array([0.5, 0.5 - 40j]), sign)[0] == pytest.approx(exact, abs=1e-9)


def test_the_negative_part_of_one_factor():
    exact = quad(lambda z: norm.pdf(z) * -(1 + 0.8 * z), -12, -1 / 0.8)[0]
    assert negative_part(Factor(1.2, 0.8), 1) == pytest.approx(1.2 * exact)
    assert negative_part(Factor(1.0, 0.1), 5) == 0.0
