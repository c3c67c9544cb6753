"""The Black–Scholes put: value and Greeks against QuantLib and mpmath, and exact at t = 0."""

import mpmath
import pytest
import QuantLib as ql  # noqa: N813
import torch

from feynkac.analysis.partials import greek_value, partial
from feynkac.families import BlackScholes, Box, Domain

FAMILY = BlackScholes()
AT = {"x": 9.5, "t": 0.5, "sigma": 0.35, "strike": 11.0}


def closed(family=FAMILY, **at):
    """Value and all derivatives the family knows, in float64."""
    point = family.domain.split(family.domain.join(AT | at, extrapolate=True))
    partials = family.closed_partials(*point)
    return {"u": family.closed_form(*point), "gamma": family.closed_gamma(*point), **partials}


def closed_numbers(**at):
    return {name: value.item() for name, value in closed(**at).items()}


def quantlib(x, t, sigma, strike):
    """The same quantities from QuantLib: forward = spot, no discount; Θ = −∂u/∂t."""
    payoff = ql.PlainVanillaPayoff(ql.Option.Put, strike)
    black = ql.BlackCalculator(payoff, x, sigma * t**0.5, 1.0)
    return {
        "u": black.value(),
        "x": black.delta(x),
        "gamma": black.gamma(x),
        "t": -black.theta(x, t),
        "sigma": black.vega(t),
        "strike": black.strikeSensitivity(),
    }


def fifty_digits(x, t, sigma, strike):
    """The formulas of Section 3.1 in exact arithmetic, to all purposes."""
    with mpmath.workdps(50):
        x, t, sigma, strike = map(mpmath.mpf, (x, t, sigma, strike))
        v = sigma * mpmath.sqrt(t)
        h = -(mpmath.log(x / strike) + t * sigma**2 / 2) / v
        density = mpmath.npdf(h)
        exact = {
            "u": strike * mpmath.ncdf(h + v) - x * mpmath.ncdf(h),
            "x": -mpmath.ncdf(h),
            "gamma": density / (x * v),
            "t": x * density * sigma / (2 * mpmath.sqrt(t)),
            "sigma": x * mpmath.sqrt(t) * density,
            "strike": mpmath.ncdf(h + v),
        }
        return {name: float(value) for name, value in exact.items()}


def random_points(count):
    generator = torch.Generator().manual_seed(1973)
    names = FAMILY.domain.measures
    samples = FAMILY.domain.sample(count, generator, torch.float64).tolist()
    return [dict(zip(names, row, strict=True)) for row in samples]


def test_the_domain_is_that_of_the_paper():
    assert FAMILY.domain == Domain(
        x=Box(9, 10), t=Box(0, 1), sigma=Box(0.1, 0.6), strike=Box(10, 12)
    )
    assert BlackScholes(dim=3).domain.measures["x"] == Box(9, 10, shape=(3,))


def test_value_and_greeks_agree_with_quantlib_all_over_the_domain():
    for at in random_points(60):
        assert closed_numbers(**at) == pytest.approx(quantlib(**at), rel=1e-10, abs=0)


def test_named_greeks_agree_with_quantlib():
    """Through autodiff of the closed form, with the signs that traders use."""
    domain = FAMILY.domain
    for at in random_points(10):
        payoff = ql.PlainVanillaPayoff(ql.Option.Put, at["strike"])
        black = ql.BlackCalculator(payoff, at["x"], at["sigma"] * at["t"] ** 0.5, 1.0)
        expected = {
            "delta": black.delta(at["x"]),
            "gamma": black.gamma(at["x"]),
            "vega": black.vega(at["t"]),
            "theta": black.theta(at["x"], at["t"]),
        }
        inputs = domain.join(at)
        found = {n: greek_value(u, domain, g, inputs).item() for n, g in FAMILY.greeks.items()}
        assert found.keys() - expected.keys() == {"vanna", "volga"}  # see test_partials.py
        found = {name: found[name] for name in expected}
        assert found == pytest.approx(expected, rel=1e-10, abs=0)


def u(inputs):
    return FAMILY.closed_form(*FAMILY.domain.split(inputs))


@pytest.mark.parametrize("t", [1e-12, 1e-8, 1e-4, 0.01, 0.3, 1.0])
@pytest.mark.parametrize("sigma", [0.1, 0.35, 0.6])
def test_the_value_is_right_to_the_last_bits_at_any_moneyness(t, sigma):
    for x in (1.0, 5.0, 9.0, 9.999, 10.0, 10.0001, 10.5, 15.0, 30.0):
        at = {"x": x, "t": t, "sigma": sigma, "strike": 10.0}
        error = abs(closed_numbers(**at)["u"] - fifty_digits(**at)["u"])
        assert error < 1e-14, f"{error} at {at}"


@pytest.mark.parametrize(
    ("x", "t", "sigma", "magnitude"),
    [
        (10.0, 1e-12, 0.35, 1e-6),
        (10.0, 1e-8, 0.1, 1e-5),
        (9.0, 1e-4, 0.35, 1.0),
        (5.0, 0.01, 0.6, 5.0),
        (1.0, 1.0, 0.6, 9.0),
        (10.5, 1e-4, 0.35, 1e-46),
        (12.0, 1e-3, 0.2, 1e-184),
        (15.0, 0.3, 0.1, 1e-14),
        (30.0, 1.0, 0.1, 1e-28),
        (40.0, 1.0, 0.6, 0.01),
    ],
)
def test_small_times_and_far_wings_agree_with_mpmath(x, t, sigma, magnitude):
    """Relative accuracy of value and Greeks, however small they are."""
    at = {"x": x, "t": t, "sigma": sigma, "strike": 10.0}
    exact = fifty_digits(**at)
    assert 0.1 < exact["u"] / magnitude < 10.0
    assert closed_numbers(**at) == pytest.approx(exact, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(("x", "value"), [(30.0, 0.0), (1.0, 9.0)])
def test_the_far_ends_of_the_wings_are_the_payoff(x, value):
    """Where Ψ underflows or saturates, nothing overflows on the way."""
    found = closed_numbers(x=x, t=1e-10, sigma=0.1, strike=10.0)
    slope = -1.0 if value else 0.0
    expected = {"u": value, "x": slope, "strike": -slope, "t": 0.0, "sigma": 0.0, "gamma": 0.0}
    assert found == expected


@pytest.mark.parametrize(
    ("x", "strike", "value", "delta", "by_strike"),
    [(9.0, 11.0, 2.0, -1.0, 1.0), (10.0, 10.0, 0.0, -0.5, 0.5), (12.0, 11.0, 0.0, 0.0, 0.0)],
)
def test_at_maturity_everything_is_that_of_the_payoff(x, strike, value, delta, by_strike):
    found = closed_numbers(x=x, t=0.0, strike=strike)
    rest = {"t": 0.0, "sigma": 0.0, "gamma": 0.0}
    assert found == {"u": value, "x": delta, "strike": by_strike, **rest}


@pytest.mark.parametrize("x", [9.0, 10.0, 11.0])
def test_autodiff_of_the_closed_form_is_finite_at_maturity(x):
    """Also at the kink x = strike, and for the second derivative."""
    domain = FAMILY.domain
    inputs = domain.join(AT | {"x": x, "t": 0.0, "strike": 10.0}, extrapolate=True)
    slopes = {name: partial(u, domain, name, inputs).item() for name in domain.measures}
    assert slopes["x"] in ((-1.0, 0.0) if x == 10.0 else (-float(x < 10.0),))
    assert slopes["strike"] == -slopes["x"]
    assert slopes["t"] == slopes["sigma"] == 0.0
    assert greek_value(u, domain, FAMILY.greeks["gamma"], inputs).item() == 0.0


def test_the_value_is_continuous_at_maturity():
    """|u(x, t) − φ(x)| ≤ x σ √(t / 2π), attained at the money up to higher order."""
    for x in (9.0, 9.99, 10.0, 10.01):
        for t in (1e-4, 1e-8, 1e-12):
            gap = closed_numbers(x=x, t=t, strike=10.0)["u"] - max(10.0 - x, 0.0)
            assert -1e-14 <= gap <= x * 0.35 * (t / 6.283) ** 0.5


def test_several_assets_are_the_mean_of_single_ones(generator):
    family = BlackScholes(dim=3)
    inputs = family.domain.sample(50, generator, torch.float64)
    x, t, p = family.domain.split(inputs)
    single = [FAMILY.closed_form(x[:, i : i + 1], t, p) for i in range(3)]
    torch.testing.assert_close(family.closed_form(x, t, p), torch.stack(single).mean(0))


def test_gamma_of_several_assets_is_the_diagonal_of_the_hessian(generator):
    family = BlackScholes(dim=3)
    domain = family.domain
    inputs = domain.sample(20, generator, torch.float64)
    found = family.closed_gamma(*domain.split(inputs))
    autodiff = greek_value(
        lambda v: family.closed_form(*domain.split(v)), domain, family.greeks["gamma"], inputs
    )
    torch.testing.assert_close(found, autodiff, rtol=1e-10, atol=1e-12)


def test_put_call_symmetry_and_parity():
    """Without interest u(K, x) is the call, and put − call = K − x."""
    put = closed_numbers(x=9.5, strike=11.0)["u"]
    mirrored = closed_numbers(x=11.0, strike=9.5)["u"]
    assert put - mirrored == pytest.approx(11.0 - 9.5, rel=1e-13)
