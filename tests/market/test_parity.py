"""Forwards and rates from pairs of calls and puts, against chains made by Black's formula."""

import numpy as np
import pytest

from feynkac.analysis.implied_volatility import black_price
from feynkac.market.parity import told_carry
from feynkac.market.reading import read_quotes

SPOT, RATE, DIVIDEND, SIGMA = 100.0, 0.04, 0.015, 0.25
STRIKES = np.arange(80.0, 125.0, 5.0)


def chain(times, noise=0.0):
    """Columns of a sheet with both sides at every strike."""
    draw = np.random.default_rng(3)
    rows = [(t, k, side) for t in times for k in STRIKES for side in ("C", "P")]
    t, strike = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    call = np.array([r[2] == "C" for r in rows])
    forward = SPOT * np.exp((RATE - DIVIDEND) * t)
    price = black_price(forward, strike, t, SIGMA, np.exp(-RATE * t), call).numpy()
    price = price + noise * draw.standard_normal(len(price))
    return {"strike": strike, "years": t, "type": [r[2] for r in rows], "mid": price}


@pytest.mark.parametrize("spot", [SPOT, None])
def test_a_chain_without_rates_tells_them(spot):
    quotes = read_quotes(chain([0.25, 1.0]), spot=spot)
    np.testing.assert_allclose(quotes.forward, SPOT * np.exp((RATE - DIVIDEND) * quotes.t))
    np.testing.assert_allclose(quotes.discount, np.exp(-RATE * quotes.t))
    np.testing.assert_allclose(quotes.volatility, SIGMA, rtol=1e-6)
    assert any(
        "calls and puts at equal strikes tell (rates 4 % to 4 %)" in n for n in quotes.reading.notes
    )


def test_small_errors_of_prices_hardly_move_the_forward():
    quotes = read_quotes(chain([0.5], noise=0.02), spot=SPOT)
    exact = SPOT * np.exp((RATE - DIVIDEND) * 0.5)
    assert quotes.forward[0] == pytest.approx(exact, rel=5e-4)
    assert quotes.discount[0] == pytest.approx(np.exp(-RATE * 0.5), abs=5e-3)


def test_where_pairs_are_noisy_only_the_forward_is_told():
    sheet = chain([0.5], noise=1.0)
    found = told_carry(
        *(sheet[k] for k in ("years", "strike", "mid")),
        ["call" if s == "C" else "put" for s in sheet["type"]],
        SPOT,
    )
    assert found.rate[0] == 0.0
    assert found.forward[0] == pytest.approx(101.3, abs=2.0)


def test_a_rate_that_is_given_counts():
    quotes = read_quotes(chain([0.5]), spot=SPOT, rate=0.01)
    np.testing.assert_allclose(quotes.discount, np.exp(-0.005))


def test_two_pairs_are_too_few():
    sheet = {k: v[:4] for k, v in chain([0.5]).items()}
    assert (
        "no rate is given: 0 is taken (`rate=0.03`)." in read_quotes(sheet, spot=SPOT).reading.notes
    )
