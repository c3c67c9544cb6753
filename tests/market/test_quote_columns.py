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


NAMES = [
    "Ausübungspreis,Verfallstag,Typ,Geldkurs,Briefkurs",
    "Prix d'exercice,Maturité,Type,Bid,Ask",
    "Precio de ejercicio,Vencimiento,Tipo,Bid,Ask",
    "OPT_STRIKE_PX,OPT_EXPIRE_DT,OPT_PUT_CALL,PX_BID,PX_ASK",
    "Strike,Last Trading Day,Right,Bid,Asked",
]


@pytest.mark.parametrize("names", NAMES)
def test_names_of_other_languages_and_brokers(tmp_path, names):
    path = tmp_path / "quotes.csv"
    path.write_text(f"{names}\n90,2027-07-02,C,12.9,13.1\n90,2027-07-02,P,2.9,3.1\n")
    quotes = fk.read_quotes(path, spot=100.0, rate=0.0, date="2027-01-01")
    assert quotes.price.tolist() == [13.0, 3.0]
    assert quotes.call.tolist() == [True, False]


def test_whole_numbers_called_vol_beside_prices_are_volumes(tmp_path):
    columns = {"K": [90, 110], "T": 1.0, "Bid": [3.0, 4.0], "Ask": [3.2, 4.2], "Vol": [15, 2]}
    notes = fk.read_quotes(columns | {"Type": ["P", "C"]}, spot=100.0).reading.notes
    assert "not used: Vol." in notes
    path = tmp_path / "quotes.csv"
    head = "K,T,Call Bid,Call Ask,Call Vol,Put Bid,Put Ask,Put Vol"
    path.write_text(f"{head}\n90,.5,12.9,13.1,15,2.9,3.1,2\n")
    quotes = fk.read_quotes(path, spot=100.0, rate=0.0)
    assert quotes.price.tolist() == [13.0, 3.0]
    assert "volatility" not in quotes.reading.columns


def test_volatilities_called_vol_are_none():
    columns = {"K": [90, 110], "T": 1.0, "mid": [3.0, 4.0], "Type": ["P", "C"]}
    for cells in ([20.5, 19.0], ["20 %", "19 %"]):
        read = fk.read_quotes(columns | {"Vol": cells}, spot=100.0, values="volatility")
        assert read.volatility.tolist() == pytest.approx([0.2, 0.19], abs=0.006)


def test_names_that_pandas_counts(tmp_path):
    path = tmp_path / "quotes.csv"
    path.write_text("T,bid,ask,strike,bid.1,ask.1\n.5,12.9,13.1,90,2.9,3.1\n")
    quotes = fk.read_quotes(path, spot=100.0, rate=0.0)
    assert quotes.price.tolist() == [13.0, 3.0]
    assert quotes.call.tolist() == [True, False]
