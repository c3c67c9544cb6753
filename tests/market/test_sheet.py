"""Files and tables as cells."""

import json

import pytest

import feynkac as fk
from feynkac.errors import InputError


@pytest.fixture
def sheet(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "quotes.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return path

    return write


ROWS = [{"strike": 90, "T": "6M", "iv": 0.25}, {"strike": 110, "T": "6M", "iv": 0.21}]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ROWS),
        "\n".join(json.dumps(row) for row in ROWS),
        json.dumps({"spot_date": "2027-01-01", "quotes": ROWS}),
        json.dumps({"strike": [90, 110], "T": "6M", "iv": [0.25, 0.21]}),
        json.dumps({"T": "6M", "calls": ROWS[:1], "puts": ROWS[1:]}),
        json.dumps({"strike": {"0": 90, "1": 110}, "T": "6M", "iv": {"0": 0.25, "1": 0.21}}),
    ],
    ids=[
        "objects",
        "lines",
        "beside other values",
        "columns",
        "calls and puts",
        "columns of pandas",
    ],
)
def test_json_files(sheet, text):
    quotes = fk.read_quotes(sheet(text), spot=100.0)
    assert (quotes.strike.tolist(), quotes.t.tolist()) == ([90.0, 110.0], [0.5, 0.5])
    assert quotes.volatility.tolist() == [0.25, 0.21]


def test_points_between_thousands_are_told_by_semicolons(sheet):
    text = "Strike;Verfall;IV\n4.000;6M;25 %\n4.400;6M;22 %\n5.000;6M;21 %\n"
    quotes = fk.read_quotes(sheet(text), spot=4468.17)
    assert quotes.strike.tolist() == [4000.0, 4400.0, 5000.0]
    assert "commas separate decimals." in quotes.reading.notes


def test_what_the_index_of_a_frame_names_are_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS)
    quotes = fk.read_quotes(frame.set_index(["T", "strike"]), spot=100.0)
    matrix = fk.read_quotes(frame.pivot(index="T", columns="strike", values="iv"), spot=100.0)
    assert quotes.strike.tolist() == matrix.strike.tolist() == [90.0, 110.0]
    assert quotes.t.tolist() == matrix.t.tolist() == [0.5, 0.5]


def test_arrow_tables():
    arrow = pytest.importorskip("pyarrow")
    assert len(fk.read_quotes(arrow.Table.from_pylist(ROWS), spot=100.0)) == 2


def test_json_of_something_else_is_refused(sheet):
    with pytest.raises(InputError, match="columns by name"):
        fk.read_quotes(sheet("[[90, 0.5, 0.2]]"), spot=100.0)


def test_a_file_that_was_cut_off_is_no_crash(sheet):
    text = "strike,maturity,iv\n90,0.5,0.25\n100,0.5,0.2\n".encode("utf-16")
    assert fk.read_quotes(sheet(text[:-1]), spot=100.0).strike.tolist() == [90.0]


def test_a_cell_without_end_is_said(sheet):
    with pytest.raises(InputError, match="is not a table: field larger than field limit"):
        fk.read_quotes(sheet('strike,maturity,iv\n90,0.5,"' + 200_000 * "x"), spot=100.0)


def test_calls_and_puts_in_a_line_above_the_header(sheet):
    text = ",,Calls,,Puts,\nStrike,T,Bid,Ask,Bid,Ask\n90,.5,12.9,13.1,2.9,3.1\n"
    quotes = fk.read_quotes(sheet(text), spot=100.0)
    assert quotes.price.tolist() == [13.0, 3.0]
    assert quotes.call.tolist() == [True, False]


@pytest.mark.parametrize("mark", ["Expiry: ", "", "# Expiry: ", "Expiry,"])
def test_maturities_in_lines_between_the_quotes(sheet, mark):
    text = (
        f"As of: 2027-01-01\n{mark}2027-07-02\nStrike,Bid,Ask\n100,5,6\n110,2,3\n"
        f"{mark}2028-01-01\nStrike,Bid,Ask\n100,8,9\n120,2,3\n"
    )
    quotes = fk.read_quotes(sheet(text), spot=100.0)
    assert (365 * quotes.t).round().tolist() == [182, 182, 365, 365]
    assert quotes.price.tolist() == [5.5, 2.5, 8.5, 2.5]
    assert "maturities stand in lines between the quotes." in quotes.reading.notes


def test_a_title_that_is_not_above_its_columns_is_no_side(sheet):
    text = "CALLS,,PUTS\nBID,ASK,STRIKE,BID,ASK,T\n12.9,13.1,90,2.9,3.1,.5\n"
    quotes = fk.read_quotes(sheet(text), spot=100.0)
    assert quotes.price.tolist() == [13.0, 3.0]
    assert quotes.call.tolist() == [True, False]
