"""Cells as numbers: units, times and days."""

import numpy as np
import pytest

import feynkac as fk
from feynkac.errors import InputError

DAYS = {"K": [90, 90, 95], "expiry": ["2027-07-02"] * 3, "iv": [0.2, 0.3, 0.4]}
DAYS["quote date"] = ["2027-01-01", "2027-01-04", "2027-01-04"]


def test_quotes_of_several_days_are_refused_unless_one_is_chosen():
    with pytest.raises(
        InputError, match=r"quotes of 2 days, 2027-01-01 to 2027-01-04 .*choose one"
    ):
        fk.read_quotes(DAYS, spot=100.0)
    quotes = fk.read_quotes(DAYS, spot=100.0, date="2027-01-04")
    assert quotes.volatility.tolist() == [0.3, 0.4]
    assert [str(row) for row in quotes.reading.dropped] == ["row 1: quote date is not 2027-01-04"]
    with pytest.raises(InputError, match="no quotes of 2027-02-01: quote date is 2027-01-01 to"):
        fk.read_quotes(DAYS, spot=100.0, date="2027-02-01")


SHEET = {"K": [95, 100, 105], "T": [0.25] * 3, "iv": [0.2, 0.2, 0.2], "F": [100.0] * 3}


def test_rates_in_basis_points():
    quotes = fk.read_quotes(SHEET | {"rate (bp)": [350] * 3})
    assert quotes.discount.tolist() == pytest.approx([np.exp(-0.035 / 4)] * 3)
    assert "rate (bp): read as basis points." in quotes.reading.notes


@pytest.mark.parametrize("column", [{"rate": [350] * 3}, {"discount factor": [98.5] * 3}])
def test_rates_beyond_100_percent_are_refused(column):
    with pytest.raises(InputError, match="is beyond ±100 %; check its units"):
        fk.read_quotes(SHEET | column)


def test_a_curve_of_low_percentages():
    columns = {"T": [0.25, 1, 2, 10, 30], "zero rate": [0.05, 0.1, 0.3, 1.4, 1.9]}
    quotes = fk.read_quotes(columns)
    assert quotes.zero_yield.tolist() == pytest.approx([0.0005, 0.001, 0.003, 0.014, 0.019])
    assert not quotes.reading.dropped


@pytest.mark.parametrize("yields", [[-0.55, -0.62, -0.4, -0.05], [0.05, 0.12, 0.35, 0.85]])
def test_a_curve_of_percentages_below_one(yields):
    quotes = fk.read_quotes({"maturity": ["1Y", "2Y", "5Y", "10Y"], "yield": yields})
    assert quotes.zero_yield.tolist() == pytest.approx([y / 100 for y in yields])
    assert any("yield: read as percentages, 0." in note for note in quotes.reading.notes)


def test_high_yields_and_rates_below_zero_beside_options_stay_fractions():
    high = fk.read_quotes({"maturity": ["1Y", "2Y", "5Y"], "yield": [0.42, 0.35, 0.28]})
    assert high.zero_yield.tolist() == [0.42, 0.35, 0.28]
    options = fk.read_quotes(SHEET | {"rate": [-0.05] * 3})
    assert options.discount.tolist() == pytest.approx([np.exp(0.05 / 4)] * 3)


def test_volatilities_of_doubtful_size_are_said():
    low = fk.read_quotes(SHEET | {"iv": [2.0, 2.1, 2.2]}).reading.notes
    assert "iv: read as fractions, 2.1 is 210 % (write 2.1% otherwise)." in low
    marked = {name: v for name, v in SHEET.items() if name != "iv"} | {"IV (%)": [0.2] * 3}
    notes = fk.read_quotes(marked).reading.notes
    assert "IV (%): read as percentages, 0.2 is 0.2 % (write 20 otherwise)." in notes


@pytest.mark.parametrize("unit", [1, 10**3, 10**9])
def test_dates_in_seconds_since_1970(unit):
    columns = SHEET | {"T": [1_814_562_000 * unit] * 3}  # 2 July 2027, 21:00 UTC
    assert fk.read_quotes(columns, date="2027-01-01").t.tolist() == [182 / 365] * 3


def test_a_sheet_without_any_maturity_is_refused_without_warnings():
    with pytest.raises(InputError, match="no quote that can be used: row 1: T is '1e300', no mat"):
        fk.read_quotes(SHEET | {"T": ["1e300"] * 3, "rate": [0.05] * 3})
    with pytest.raises(InputError, match="no quote that can be used: row 1: K is 'x'"):
        fk.read_quotes(SHEET | {"K": ["x"] * 3})


@pytest.mark.parametrize(
    ("name", "cell"), [("T (w)", 26), ("maturity [month]", 6), ("T (mths)", 6)]
)
def test_units_behind_a_time(name, cell):
    quotes = fk.read_quotes({"K": [90], name: [cell], "iv": [0.2]}, spot=100.0)
    assert quotes.t.tolist() == pytest.approx([0.5], abs=2e-3)


def test_whole_numbers_say_how_to_have_months():
    columns = {"K": [90, 95, 99], "T": [3, 6, 12], "iv": [0.2] * 3}
    notes = fk.read_quotes(columns, spot=100.0).reading.notes
    other = "`columns={'days': 'T'}` for days, `columns={'months': 'T'}` for months"
    assert f"T: plain numbers are years ({other})." in notes
    told = fk.read_quotes(columns, spot=100.0, columns={"months": "T"})
    assert told.t.tolist() == [0.25, 0.5, 1.0]


def test_a_name_tells_the_order_of_a_date():
    columns = {"K": [90], "Expiry (mm/dd/yyyy)": ["03/04/2027"], "iv": [0.2]}
    quotes = fk.read_quotes(columns, spot=100.0, date="2027-01-01")
    assert quotes.t.tolist() == [62 / 365]


def test_volatilities_in_basis_points_are_refused():
    with pytest.raises(InputError, match="in basis points, hence a normal volatility"):
        fk.read_quotes({"K": [0.03], "T": [1], "vol (bp)": [75]}, forward=0.03)


def test_a_fraction_among_percentages_is_dropped():
    quotes = fk.read_quotes(SHEET | {"iv": [18, 0.17, 16]})
    assert quotes.volatility.tolist() == [0.18, 0.16]
    assert str(quotes.reading.dropped[0]) == "row 2: iv is 0.17 among percentages such as 16"


def test_the_time_of_day_is_no_maturity():
    columns = {"time": ["09:30"] * 2, "dte": [73, 73], "K": [90, 95], "iv": [0.2, 0.2]}
    assert fk.read_quotes(columns, spot=100.0).t.tolist() == [0.2, 0.2]
