"""What columns mean."""

import pytest

import feynkac as fk


@pytest.mark.parametrize(
    ("bid", "ask"), [("IV (bid)", "IV (ask)"), ("Implied vol [Bid]", "Implied vol [Ask]")]
)
def test_brackets_tell_bid_from_ask(bid, ask):
    columns = {"K": [100], "T": [1], bid: [0.18], ask: [0.22]}
    quotes = fk.read_quotes(columns, spot=100.0)
    assert quotes.volatility.tolist() == pytest.approx([0.2])
    assert quotes.half_spread is not None


def test_brackets_of_prices():
    quotes = fk.read_quotes(
        {"K": [100], "T": [1], "Price (bid)": [7], "Price (ask)": [9]}, spot=1e2
    )
    assert quotes.price.tolist() == [8.0]
