"""Errors in implied volatility: of known shifts, where they count, and of prices beyond bounds."""

import math

import pytest
import torch

import feynkac as fk
from feynkac.analysis.implied_volatility import black_price, black_vega
from feynkac.analysis.quoted_errors import (
    LEAST_VEGA,
    price_volatility,
    quoted,
    volatility_errors,
    why_no_price_volatility,
)
from feynkac.errors import InputError

FAMILY = fk.BlackScholesMerton()


def inputs(count, generator, family=FAMILY):
    return family.domain.sample(count, generator, torch.float64)


def closed(rows, family=FAMILY):
    return family.closed_form(*family.domain.split(rows))


@pytest.mark.parametrize("family", [FAMILY, fk.BlackScholes()], ids=repr)
def test_the_volatility_of_a_lognormal_price_is_its_parameter(family, generator):
    rows = inputs(500, generator, family)
    found = price_volatility(family, closed(rows, family), rows)
    sigma = rows[:, family.domain.slices()["sigma"]].flatten()
    t = rows[:, 1]
    assert (found / sigma - 1.0).abs()[t > 0.2].max() < 1e-7


def test_a_shift_of_volatility_is_found_in_basis_points(generator):
    rows = inputs(2000, generator)
    shifted = rows.clone()
    shifted[:, 2] += 3e-4
    found = volatility_errors(FAMILY, closed(shifted), closed(rows), rows)
    assert found.median == pytest.approx(3.0, rel=1e-4)
    assert found.tail == pytest.approx(3.0, rel=1e-3)
    assert 0.9 < found.share < 1.0


def test_the_share_is_that_of_inputs_with_vega(generator):
    rows = inputs(2000, generator)
    x, t, p = FAMILY.domain.split(rows)
    quote = FAMILY.quote(x, t, p)
    vega = black_vega(quote.forward, quote.strike, t, p.sigma, quote.discount)
    counts = vega >= LEAST_VEGA * quote.discount * (quote.forward * quote.strike).sqrt()
    found = volatility_errors(FAMILY, closed(rows), closed(rows), rows)
    assert found.share == pytest.approx(counts.double().mean().item(), abs=1e-3)
    assert found.median == 0.0


def test_a_price_below_its_bound_counts_by_its_distance(generator):
    """Halfway between bound and truth: the error of the price over vega."""
    at = {"x": 110.0, "t": 0.5, "sigma": 0.2, "rate": 0.0, "dividend": 0.0, "strike": 95.0}
    rows = FAMILY.domain.join({name: torch.full((4,), v) for name, v in at.items()})
    truth = closed(rows)
    low = torch.full_like(truth, 14.0)  # the intrinsic value is 15
    assert why_no_price_volatility(FAMILY, low, rows) == {"below the intrinsic value": 4}
    found = volatility_errors(FAMILY, low, truth, rows)
    vega = black_vega(110.0, 95.0, 0.5, 0.2).item()
    assert found.median == pytest.approx((truth[0].item() - 14.0) / vega * 1e4, rel=1e-6)


def test_where_no_volatility_counts_there_is_none(generator):
    rows = inputs(16, generator)
    rows[:, 1] = 0.0
    found = volatility_errors(FAMILY, closed(rows), closed(rows), rows)
    assert math.isnan(found.median)
    assert found.share == 0.0


def test_a_family_that_is_not_quoted_says_so(generator):
    family = fk.OrnsteinUhlenbeck(1)
    rows = inputs(2, generator, family)
    with pytest.raises(InputError, match="OrnsteinUhlenbeck has no implied volatility"):
        price_volatility(family, closed(rows, family), rows)
    assert not quoted(family)
    assert not quoted(fk.Digital())
    assert not quoted(fk.BlackScholes(dim=2))
    assert quoted(fk.Sabr())


def test_a_smile_of_heston_is_that_of_quoted_prices(generator):
    family = fk.Heston()
    rows = inputs(200, generator, family)
    rows[:, 2] = rows[:, 2].clamp_min(0.1)
    prices = closed(rows, family)
    sigma = price_volatility(family, prices, rows)
    x, t, p = family.domain.split(rows)
    forward, discount = x[:, :1] * (p.rate * t).exp(), (-p.rate * t).exp()
    again = black_price(forward, p.strike, t, sigma[:, None], discount)
    torch.testing.assert_close(again, prices, rtol=1e-10, atol=1e-10)
    assert 0.1 < sigma.min() < sigma.max() < 0.5
