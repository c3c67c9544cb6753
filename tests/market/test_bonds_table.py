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
