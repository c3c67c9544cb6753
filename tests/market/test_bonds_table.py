"""Curves from a table."""

import pytest

import feynkac as fk
from feynkac.errors import InputError

BONDS = {"years": [1, 2, 5], "coupon": ["4 %", "4 %", "3 %"]}


def test_bonds_with_coupons_are_no_zero_bonds():
    with pytest.raises(InputError, match="prices of bonds with coupons; give zero yields"):
        fk.read_quotes(BONDS | {"bond price": [101.0, 102.0, 99.0]})
    notes = fk.read_quotes(BONDS | {"yield": ["3 %", "3 %", "3.1 %"]}).reading.notes
    assert any("as those of bonds without coupons" in note for note in notes)
    zeros = fk.read_quotes(BONDS | {"bond price": [97, 94, 86], "coupon": [0, 0, 0]})
    assert zeros.price.tolist() == [0.97, 0.94, 0.86]


def test_prices_without_strikes_and_asset_are_those_of_bonds():
    quotes = fk.read_quotes({"Maturity": ["1Y", "2Y"], "Price": [97.0, 93.0]})
    assert quotes.price.tolist() == [0.97, 0.93]
    assert any("prices of bonds without coupons" in note for note in quotes.reading.notes)
    with pytest.raises(InputError, match="no column for the strike"):
        fk.read_quotes({"Maturity": ["1Y", "2Y"], "Price": [7.0, 9.0]}, spot=100.0)
