"""Options with rate and dividend: value and Greeks against QuantLib, parity, maturity."""

import math

import pytest
import QuantLib as ql  # noqa: N813
from oracles import dated, quantlib_european, value

from feynkac.analysis.partials import greek_value
from feynkac.families import BlackScholes
from feynkac.families.catalogue import family_fields
from feynkac.families.family import jumps
from feynkac.families.models.black_scholes_merton import BlackScholesMerton
from feynkac.families.models.lognormal import market
from feynkac.families.payoff import Payoff

CALL, PUT, DIGITAL = (BlackScholesMerton(Payoff(style)) for style in ("call", "put", "digital"))
AT = {"x": 100.0, "t": 0.5, "sigma": 0.3, "rate": 0.05, "dividend": 0.02, "strike": 105.0}
every_style = pytest.mark.parametrize("family", [CALL, PUT, DIGITAL], ids=str)


def quantlib(family, at):
    if family is DIGITAL:
        return quantlib_european(ql.CashOrNothingPayoff(ql.Option.Call, at["strike"], 1.0), at)
    style = ql.Option.Call if family is CALL else ql.Option.Put
    return quantlib_european(ql.PlainVanillaPayoff(style, at["strike"]), at)


def greeks(family, at):
    domain = family.domain
    inputs = domain.join(at)

    def u(inputs):
        return family.closed_form(*domain.split(inputs))

    return {n: greek_value(u, domain, greek, inputs).item() for n, greek in family.greeks.items()}


@every_style
def test_values_agree_with_quantlib(family, generator):
    for at in dated(family, 60, generator):
        assert value(family, **at) == pytest.approx(
            quantlib(family, at).NPV(), rel=1e-11, abs=1e-13
        )


@every_style
def test_greeks_agree_with_quantlib(family, generator):
    for at in dated(family, 20, generator):
        option = quantlib(family, at)
        expected = {
            "delta": option.delta(),
            "gamma": option.gamma(),
            "vega": option.vega(),
            "theta": option.theta(),
            "rho": option.rho(),
        }
        assert greeks(family, at) == pytest.approx(expected, rel=1e-9, abs=1e-11)


def test_call_minus_put_is_the_discounted_gain_of_the_forward(generator):
    for at in dated(CALL, 20, generator):
        spot = at["x"] * math.exp(-at["dividend"] * at["t"])
        strike = at["strike"] * math.exp(-at["rate"] * at["t"])
        assert value(CALL, **at) - value(PUT, **at) == pytest.approx(spot - strike, abs=1e-12)


def test_without_rate_and_dividend_it_is_black_scholes():
    at = {"x": 95.0, "t": 0.5, "sigma": 0.35, "strike": 110.0}
    merton = value(PUT, rate=0.0, dividend=0.0, **at)
    assert merton == pytest.approx(value(BlackScholes(), **at), rel=1e-13)


@pytest.mark.parametrize(
    ("family", "x", "paid"),
    [(CALL, 110.0, 5.0), (CALL, 100.0, 0.0), (PUT, 100.0, 5.0), (DIGITAL, 110.0, 1.0)],
    ids=str,
)
def test_at_maturity_it_is_the_payoff(family, x, paid):
    at = AT | {"x": x, "t": 0.0}
    assert value(family, **at) == paid
    slope = {"call": 1.0, "put": -1.0, "digital": 0.0}[family.payoff.style]
    found = greeks(family, at)
    assert found["delta"] == slope * (paid > 0)
    assert found["gamma"] == found["vega"] == found["rho"] == 0.0


def test_the_value_tends_to_the_payoff_with_the_slope_of_carry():
    """In the money u ≈ φ + t (r K − q x) near maturity."""
    at = AT | {"x": 110.0, "strike": 90.0}
    t = 1e-5
    slope = (value(CALL, **at | {"t": t}) - 20.0) / t
    assert slope == pytest.approx(0.05 * 90.0 - 0.02 * 110.0, rel=1e-4)


def test_the_payoff_is_a_field():
    assert BlackScholesMerton() == CALL
    assert family_fields(PUT) == {"payoff": "put:mean"}
    assert PUT.domain == market()
    assert [jumps(family) for family in (CALL, PUT, DIGITAL)] == [False, False, True]
