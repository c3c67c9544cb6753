"""Names of contracts."""

import pytest

import feynkac as fk
from feynkac.errors import InputError
from feynkac.market.contracts import parse_contract

CALL, PUT = "AAPL270702C00090000", "AAPL270702P00090000"


def test_a_chain_of_yahoo_needs_no_maturities():
    columns = {"contractSymbol": [CALL, PUT], "strike": [90, 90], "bid": [12.9, 2.9]}
    columns |= {"ask": [13.1, 3.1], "impliedVolatility": [0.2, 0.2]}
    quotes = fk.read_quotes(columns, spot=100.0, rate=0.0, date="2027-01-01")
    assert quotes.call.tolist() == [True, False]
    assert quotes.t.tolist() == [182 / 365] * 2
    assert "contractSymbol tells the maturity, type." in quotes.reading.notes


def test_names_of_contracts_tell_everything_but_the_value(tmp_path):
    path = tmp_path / "quotes.csv"
    path.write_text("instrument_name,mark_iv\nBTC-2JUL27-60000-C,45\nBTC-2JUL27-5500d5-P,50\n")
    quotes = fk.read_quotes(path, spot=2e4, rate=0.0, date="2027-01-01")
    assert quotes.strike.tolist() == [60000.0, 5500.5]
    assert quotes.call.tolist() == [True, False]
    assert quotes.volatility.tolist() == [0.45, 0.5]


def test_maturities_of_the_sheet_count_more():
    columns = {"contract name": [CALL], "strike": [95], "T": ["1Y"], "iv": [0.2]}
    quotes = fk.read_quotes(columns, spot=100.0)
    assert (quotes.t.tolist(), quotes.strike.tolist()) == ([1.0], [95.0])


def test_other_names_tell_nothing():
    assert parse_contract("AAPL") is None
    assert parse_contract("AAPL271302C00090000") is None
    columns = {"symbol": [CALL, "AAPL"], "strike": [95, 96], "iv": [0.2, 0.2]}
    with pytest.raises(InputError, match="no column for the maturity; it has: symbol, strike, iv"):
        fk.read_quotes(columns, spot=100.0)
