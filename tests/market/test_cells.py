"""Numbers and dates as people write them."""

from datetime import date

import pytest

import feynkac as fk
from feynkac.market.cells import day_first, parse_date, parse_number, parse_tenor

CLOCKS = [
    "2027-07-02T16:00:00+00:00",
    "2027-07-02 16:00:00+02:00",
    "2027-07-02 16:00:00 UTC",
    "2027-07-02 16:00:00 America/New_York",
    "2027-07-02 4:00 PM",
    "02/07/2027 16:00:00 CET",
    "02.07.2027 4 pm",
    "Jul 2, 2027 4:00 PM EST",
    "Fri 02-Jul-2027 16:00",
]


@pytest.mark.parametrize("text", CLOCKS)
def test_a_time_of_day_and_its_zone_leave_the_date(text):
    assert parse_date(text) == date(2027, 7, 2)


WORDS = ["2. Juli 2027", "2-Jul-27", "Jul 2, 27", "Jul 2 '27", "2 juil. 2027", "2 luglio 2027"]


@pytest.mark.parametrize("text", [*WORDS, "July 2 2027", "2 julio 2027", "02-JUL-2027"])
def test_names_of_months(text):
    assert parse_date(text) == date(2027, 7, 2)
    assert parse_date("19. März 2027") == parse_date("19-Mrz-27") == date(2027, 3, 19)


def test_the_order_of_a_date_is_told_before_a_clock():
    assert day_first(["07/16/2027 4:00 PM"]) is False


@pytest.mark.parametrize(
    "text",
    ["1 Year", "1 Jahr", "12 Monate", "1 an", "12 mois", "365 Tage", "365 jours", "1 année"],
)
def test_tenors_in_words(text):
    assert parse_tenor(text) == pytest.approx(1.0)
    assert parse_tenor("2 Wochen") == parse_tenor("2 semaines") == parse_tenor("2W")


def test_dates_of_a_spreadsheet_with_a_time_of_day():
    columns = {"date": [46388.5], "K": [90], "expiry": [46570.6667], "iv": [0.25]}
    assert fk.read_quotes(columns, spot=100.0).t.tolist() == [182 / 365]


def test_a_leading_zero_has_no_thousands():
    assert parse_number("0,250") == parse_number("0.250", ",") == 0.25
    assert parse_number("4,250") == 4250.0


@pytest.mark.parametrize(
    "text", ["USD 4,468.5", "4,468.50 EUR", "CHF4468.5", "₹4,468.5", "$4,468.5"]
)
def test_currencies(text):
    assert parse_number(text) == 4468.5


def test_a_word_that_begins_like_a_currency_is_no_number():
    assert parse_number("USDX5") != parse_number("USDX5")
