"""Matrices and chains as lists of quotes."""

import pytest

import feynkac as fk
from feynkac.errors import InputError


@pytest.fixture
def read(tmp_path):
    def read(text, **settings):
        path = tmp_path / "quotes.csv"
        path.write_text(text)
        return fk.read_quotes(path, **({"spot": 100.0, "rate": 0.0} | settings))

    return read


@pytest.mark.parametrize(
    "header",
    ["K,T,Bid (Call),Ask (Call),Bid (Put),Ask (Put)", "K,T,BidCall,AskCall,BidPut,AskPut"],
)
def test_sides_behind_the_name(read, header):
    quotes = read(f"{header}\n90,.5,12.9,13.1,2.9,3.1\n")
    assert quotes.price.tolist() == [13.0, 3.0]
    assert quotes.call.tolist() == [True, False]


def test_call_beside_put_are_prices(read):
    quotes = read("Strike,T,Call,Put\n90,.5,13,3\n110,.5,3.5,13.5\n")
    assert quotes.price.tolist() == [13.0, 3.0, 3.5, 13.5]
    assert quotes.call.tolist() == [True, False, True, False]


@pytest.mark.parametrize(
    "names", ["Call Mid,Call Last,Put Mid,Put Last", "Call Last,Call Mid,Put Last,Put Mid"]
)
def test_of_two_prices_of_a_side_the_better_one_counts(read, names):
    cells = {"Call Mid": "13", "Call Last": "20", "Put Mid": "3", "Put Last": "9"}
    row = ",".join(cells[name] for name in names.split(","))
    assert read(f"K,T,{names}\n90,.5,{row}\n").price.tolist() == [13.0, 3.0]


def test_two_prices_left_and_right_of_the_strike_are_no_chain(read):
    quotes = read("Mid,Strike,T,Last\n13,90,.5,12\n3.5,110,.5,3\n")
    assert quotes.price.tolist() == [13.0, 3.5]
    assert quotes.call.tolist() == [True, True]


def test_a_column_on_one_side_only_leaves_the_chain(read):
    quotes = read("Bid,Ask,IV,Strike,Bid,Ask,T\n12.9,13.1,.4,90,2.9,3.1,0.5\n")
    assert quotes.price.tolist() == [13.0, 3.0]
    assert quotes.call.tolist() == [True, False]


def test_a_title_above_a_chain_is_no_header(read):
    text = "Calls,,Strike,Puts,,\nBid,Ask,Strike,Bid,Ask,T\n12.9,13.1,90,2.9,3.1,0.5\n"
    assert read(text).price.tolist() == [13.0, 3.0]


def test_a_matrix_of_deltas_is_not_read_as_one_of_strikes(read):
    with pytest.raises(InputError, match="deltas are not read; give strikes or moneyness"):
        read("Delta,3M,6M\n25,.2,.2\n50,.2,.2\n75,.2,.2\n")
    with pytest.raises(InputError, match="are times, such as '1M' and '10D'; deltas are not read"):
        read("Tenor,10D,25D,50D\n1M,.2,.2,.2\n1Y,.2,.2,.2\n")


def test_of_curves_of_several_days_the_latest_counts(read):
    found = read("Date,1 Mo,3 Mo,1 Yr\n01/15/2027,4.1,4.2,4.3\n01/18/2027,4.4,4.5,4.6\n")
    assert found.zero_yield.tolist() == pytest.approx([0.044, 0.045, 0.046])
    assert "a curve of 2027-01-18: the latest of the days" in found.reading.notes[0]


def test_weekends_tell_day_and_month_of_curves_too(read):
    found = read("Date,1 Mo,1 Yr\n04/01/2027,4.1,4.3\n05/01/2027,4.4,4.6\n")
    assert found.reading.notes[0].startswith("a curve of 2027-01-05")


def test_of_curves_of_several_days_one_can_be_chosen(read):
    text = "Date,1 Mo,1 Yr\n01/04/2027,4.1,4.3\n01/15/2027,4.4,4.6\n"
    found = read(text, date="2027-01-04")
    assert found.zero_yield.tolist() == pytest.approx([0.041, 0.043])
    assert found.reading.notes[0].startswith("a curve of 2027-01-04: the cells")
    with pytest.raises(InputError, match="has no curve of 2027-01-05: Date is 2027-01-04 to"):
        read(text, date="2027-01-05")


def test_volatilities_by_dates_of_expiry_are_a_matrix(read):
    found = read(
        "Date,90,100,110\n2027-06-30,.2,.2,.2\n2027-12-31,.2,.2,.2\n", spot=100.0, date="2027-01-04"
    )
    assert len(found) == 6


@pytest.mark.parametrize("header", ["Strike,3M,3M,6M,6M", "Strike,3M,,6M,"])
def test_a_matrix_with_two_columns_per_maturity_is_refused(read, header):
    with pytest.raises(
        InputError, match=r"column 3 of the matrix has .* name.*; write one quote per"
    ):
        read(f"{header}\n,Bid,Ask,Bid,Ask\n90,.2,.22,.21,.23\n110,.18,.2,.19,.21\n")


def test_names_of_contracts_below_call_and_put_are_no_prices(read):
    header = "Expiration Date,Calls,Last Sale,Bid,Ask,IV,Strike,Puts,Last Sale,Bid,Ask,IV"
    row = "Fri Jul 02 2027,X270702C90,12,12.9,13.1,.2,90,X270702P90,4,2.9,3.1,.2"
    quotes = read(f"{header}\n{row}\n", date="2027-01-01")
    assert quotes.price.tolist() == [13.0, 3.0]
    assert quotes.call.tolist() == [True, False]


@pytest.mark.parametrize("strike", ["first", "last"])
def test_a_chain_with_the_strike_on_both_sides(read, strike):
    parts = ["Strike,Bid,Ask", "90,12.9,13.1", "90,2.9,3.1"]
    if strike == "last":
        parts = ["Bid,Ask,Strike", "12.9,13.1,90", "2.9,3.1,90"]
    quotes = read(f"{parts[0]},{parts[0]},T\n{parts[1]},{parts[2]},.5\n")
    assert quotes.price.tolist() == [13.0, 3.0]
    assert quotes.call.tolist() == [True, False]


def test_american_dates_across_a_matrix(read):
    quotes = read("Strike,01/15/2027,03/19/2027\n90,.2,.21\n110,.18,.19\n", date="2027-01-01")
    assert (365 * quotes.t).round().tolist() == [14, 77, 14, 77]
