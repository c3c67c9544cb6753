"""Cash or nothing: against QuantLib, as the limit of call spreads, and its jump."""

import pytest
import QuantLib as ql  # noqa: N813
from oracles import dated, quantlib_european, value

from feynkac.families.capabilities import Jumps
from feynkac.families.catalogue import family_fields
from feynkac.families.family import jumps
from feynkac.families.models.black_scholes_merton import BlackScholesMerton
from feynkac.families.models.digital import Digital

FAMILY = Digital()


def test_values_agree_with_quantlib(generator):
    for at in dated(FAMILY, 60, generator):
        payoff = ql.CashOrNothingPayoff(ql.Option.Call, at["strike"], 1.0)
        expected = quantlib_european(payoff, at).NPV()
        assert value(FAMILY, **at) == pytest.approx(expected, rel=1e-11, abs=1e-14)


def test_it_is_the_limit_of_call_spreads(generator):
    """(C(K − h) − C(K + h))/2h, with error of order h²."""
    call, h = BlackScholesMerton(), 1e-3
    for at in dated(FAMILY, 10, generator):
        below, above = (value(call, **at | {"strike": at["strike"] + s}) for s in (-h, h))
        assert value(FAMILY, **at) == pytest.approx((below - above) / (2 * h), abs=1e-6)


@pytest.mark.parametrize(("x", "paid"), [(99.9, 0.0), (100.0, 0.0), (100.1, 1.0)])
def test_at_maturity_it_pays_one_above_the_strike(x, paid):
    at = {"x": x, "t": 0.0, "sigma": 0.2, "rate": 0.05, "dividend": 0.0, "strike": 100.0}
    assert value(FAMILY, **at) == paid


def test_it_jumps_and_its_payoff_is_no_setting():
    assert isinstance(FAMILY, Jumps)
    assert jumps(FAMILY)
    assert family_fields(FAMILY) == {}
    assert Digital.name() == "digital"
