"""Quote sheets as people have them: every guess is said, every bad row is dropped with a reason."""

import numpy as np
import pytest

import feynkac as fk
from feynkac.errors import InputError
from feynkac.market.reading import read_quotes

PLAIN = "strike,maturity,iv\n90,0.5,0.25\n100,0.5,0.22\n110,0.5,0.21\n"


@pytest.fixture
def sheet(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "quotes.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return write


def same_as_plain(quotes):
    """The three quotes of `PLAIN`."""
    order = np.argsort(quotes.strike)
    assert quotes.strike[order].tolist() == pytest.approx([90.0, 100.0, 110.0])
    assert quotes.t.tolist() == pytest.approx([0.5] * 3, abs=2e-3)
    assert quotes.volatility[order].tolist() == pytest.approx([0.25, 0.22, 0.21])
    return True


SAME = {
    "plain": PLAIN,
    "semicolons and decimal commas": PLAIN.replace(",", ";").replace(".", ","),
    "tabs": PLAIN.replace(",", "\t"),
    "bars": PLAIN.replace(",", " | "),
    "byte order mark": "\ufeff" + PLAIN,
    "windows line ends": PLAIN.replace("\n", "\r\n"),
    "blank lines and columns": "\n\n" + PLAIN.replace("\n", ",,\n\n"),
    "percent signs": "strike,maturity,iv\n90,0.5,25%\n100,0.5,22 %\n110,0.5,21.0%\n",
    "percentages without signs": "strike,maturity,iv\n90,0.5,25\n100,0.5,22\n110,0.5,21\n",
    "a percent sign in the header": "K,T,IV (%)\n90,0.5,25\n100,0.5,22\n110,0.5,21\n",
    "other names": "Exercise Price;Time to Expiry;ImpliedVol\n"
    "90;0.5;0.25\n100;0.5;0.22\n110;0.5;0.21",
    "tenors": "strike,tenor,vol\n90,6M,0.25\n100,6 months,0.22\n110,0.5y,0.21\n",
    "mixed tenors": "strike,tenor,vol\n90,6M,0.25\n100,26W,0.22\n110,182d,0.21\n",
    "days in the header": "strike,T (days),vol\n90,182.5,0.25\n100,182.5,0.22\n110,182.5,0.21\n",
    "dte": "strike,DTE,vol\n90,183,0.25\n100,183,0.22\n110,183,0.21\n",
    "months": "strike,months,vol\n90,6,0.25\n100,6,0.22\n110,6,0.21\n",
    "lines above": "Options on X\n\nprinted today\n" + PLAIN,
    "comments": "# from the desk\n" + PLAIN,
    "quoted cells": '"strike","maturity","iv"\n"90","0.5","0.25"\n'
    '"100","0.5","0.22"\n"110","0.5","0.21"',
    "moneyness": "moneyness,maturity,iv\n0.9,0.5,0.25\n1,0.5,0.22\n1.1,0.5,0.21\n",
    "moneyness in percent": "moneyness,maturity,iv\n90%,0.5,0.25\n100%,0.5,0.22\n110%,0.5,0.21\n",
    "strikes that are moneyness": "strike,maturity,iv\n0.9,0.5,0.25\n1,0.5,0.22\n1.1,0.5,0.21\n",
    "log-moneyness": "log-moneyness,maturity,iv\n"
    "-0.105360516,0.5,0.25\n0,0.5,0.22\n0.0953101798,0.5,0.21\n",
    "bid and ask volatility": "strike,maturity,bid iv,ask iv\n"
    "90,.5,.24,.26\n100,.5,.21,.23\n110,.5,.2,.22\n",
    "a matrix": "strike,6M\n90,0.25\n".replace("6M", "6M,1Y").replace("0.25", "0.25,")
    + "100,0.22,\n110,0.21,\n",
    "a matrix with maturities down": "maturity,90,100,110\n6M,0.25,0.22,0.21\n",
    "a matrix of percentages": "K\\T,6M,2Y\n90,25%,\n100,22%,\n110,21%,\n",
    "more columns": "id,strike,open interest,maturity,iv,delta,volume\n"
    "1,90,5,0.5,0.25,0.8,1\n2,100,6,0.5,0.22,0.5,9\n3,110,7,0.5,0.21,0.2,3\n",
    "decimal commas above": "Desk;4,5\nZins;0,0\nStrike;Laufzeit;IV\n"
    "90;6M;0,25\n100;6M;0,22\n110;6M;0,21\n",
    "a matrix with decimal commas": "Laufzeit;90,0;100,0;110,0\n6M;0,25;0,22;0,21\n",
    "a matrix with rates beside": "maturity,rate,90,100,110\n6M,0,0.25,0.22,0.21\n",
    "a header that is a comment": "# " + PLAIN,
    "row numbers": "#,strike,maturity,iv\n1,90,0.5,0.25\n2,100,0.5,0.22\n3,110,0.5,0.21\n",
    "a column index": "index,strike,maturity,iv\n0,90,0.5,0.25\n1,100,0.5,0.22\n2,110,0.5,0.21\n",
    "the name of an asset": "Underlying: X\nunderlying,strike,maturity,iv\n"
    "X,90,0.5,0.25\nX,100,0.5,0.22\nX,110,0.5,0.21\n",
    "names in brackets": "[STRIKE],[MATURITY],[IV]\n90,0.5,0.25\n100,0.5,0.22\n110,0.5,0.21\n",
    "old line ends": PLAIN.replace("\n", "\r"),
    "a maturity above": "Expiry: 6M\nstrike,iv,mid iv (2)\n90,0.25,\n100,0.22,\n110,0.21,\n",
    "dates of a spreadsheet": "date,strike,expiry,iv\n"
    "46388,90,46570,0.25\n46388,100,46570,0.22\n46388,110,46570,0.21\n",
    "dates without a day, and days": "strike,expiry,DTE,iv\n"
    "90,2027-07-02,182,0.25\n100,2027-07-02,182,0.22\n110,2027-07-02,182,0.21\n",
    "short rows": "strike,maturity,iv,note\n90,0.5,0.25,ok\n100,0.5,0.22\n110,0.5,0.21\n",
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME.keys())
def test_the_same_quotes_in_many_forms(sheet, text):
    assert same_as_plain(read_quotes(sheet(text), spot=100.0))


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
def test_other_encodings(sheet, encoding):
    text = PLAIN.replace("maturity", "échéance")
    assert same_as_plain(read_quotes(sheet(text, encoding), spot=100.0))


DATES = [
    ("2027-07-02", "2027-01-01"),
    ("20270702", "2027-01-01"),
    ("02.07.2027", "01.01.2027"),
    ("2-Jul-2027", "1-Jan-2027"),
    ("02JUL27", "2027-01-01"),
    ("July 2, 2027", "January 1, 2027"),
    ("2027/07/02", "2027/01/01"),
    ("2027-07-02 16:00:00", "2027-01-01"),
    ("02/07/2027", "01/01/2027"),
]


@pytest.mark.parametrize(("expiry", "day"), DATES)
def test_dates_of_expiry(sheet, expiry, day):
    rows = "".join(f'{k};"{expiry}";{v}\n' for k, v in ((90, 0.25), (100, 0.22), (110, 0.21)))
    assert same_as_plain(read_quotes(sheet("strike;expiry;iv\n" + rows), spot=100.0, date=day))


def test_american_dates_are_told_by_a_day_beyond_twelve(sheet):
    text = "strike,expiry,iv\n90,07/02/2027,0.2\n90,07/16/2027,0.2\n"
    quotes = read_quotes(sheet(text), spot=100.0, date="2027-01-01")
    assert (365 * quotes.t).tolist() == pytest.approx([182, 196])


def test_an_ambiguous_date_is_said(sheet):
    text = "strike,expiry,iv\n90,04/05/2027,0.2\n"
    quotes = read_quotes(sheet(text), spot=1e2, date="2027-01-01")
    assert 365 * quotes.t[0] == pytest.approx(123)
    assert (
        "dates such as 03/04/2027 are read as day/month/year (write 2027-04-03 for 3 April)."
        in quotes.reading.notes
    )


@pytest.mark.parametrize(
    ("cells", "order", "days"),
    [
        (("02/05/2027", "03/05/2027"), "month/day/year", [35, 63]),
        (("05/02/2027", "05/03/2027"), "day/month/year", [35, 63]),
    ],
)
def test_dates_on_weekends_tell_the_order(sheet, cells, order, days):
    text = "strike,expiry,iv\n" + "".join(f"90,{cell},0.2\n" for cell in cells)
    quotes = read_quotes(sheet(text), spot=100.0, date="2027-01-01")
    assert (365 * quotes.t).tolist() == pytest.approx(days)
    said = f"dates such as 03/04/2027 are read as {order}: otherwise some would be on weekends."
    assert said in quotes.reading.notes


@pytest.mark.parametrize(("day", "days"), [("07/15/2027", 60), ("2027-07-15", 60)])
def test_the_day_of_the_quotes_tells_the_order_too(sheet, day, days):
    text = "strike,expiry,iv\n90,09/13/2027,0.2\n" if "/" in day else "K,T,iv\n9e1,13SEP27,.2\n"
    assert 365 * read_quotes(sheet(text), spot=1e2, date=day).t[0] == pytest.approx(days)


def test_an_ambiguous_day_of_the_quotes_is_said(sheet):
    text = "strike,expiry,iv\n90,2027-07-02,0.2\n"
    notes = read_quotes(sheet(text), spot=1e2, date="04-05-2027").reading.notes
    assert any("are read as day/month/year (write" in note for note in notes)


def test_whole_numbers_of_days(sheet):
    quotes = read_quotes(sheet("strike,T,iv\n90,7,0.2\n90,14,0.2\n90,45,0.2\n"), spot=1e2)
    assert (365 * quotes.t).tolist() == pytest.approx([7, 14, 45])
    years = read_quotes(sheet("strike,T,iv\n90,1,0.2\n90,5,0.2\n90,15,0.2\n"), spot=1e2)
    assert years.t.tolist() == [1.0, 5.0, 15.0]


def test_the_day_of_the_quotes_may_be_a_column_or_stand_above(sheet):
    text = "quote date,strike,expiry,iv\n2027-01-01,90,2027-07-02,0.25\n"
    column = read_quotes(sheet(text), spot=100.0)
    above = read_quotes(
        sheet("As of: 2027-01-01\nSpot;100\nstrike;expiry;iv\n90;2027-07-02;0.25\n")
    )
    assert column.t.tolist() == above.t.tolist() == [182 / 365]
    assert above.forward.tolist() == [100.0]


def test_one_day_is_chosen_in_the_order_of_the_others(sheet):
    text = "date,strike,expiry,iv\n01/04/2027,90,03/19/2027,0.2\n01/05/2027,90,03/19/2027,0.2\n"
    quotes = read_quotes(sheet(text), spot=100.0, date="01/05/2027")
    assert (365 * quotes.t).tolist() == pytest.approx([73])


def test_decimal_commas_with_thousands_points(sheet):
    text = "Basispreis;Laufzeit;Geld;Brief\n4.400,00;0,5;250,10;252,30\n4.600;0,5;150,5;151,5\n"
    quotes = read_quotes(sheet(text), spot=4468.17, rate=0.03)
    assert quotes.strike.tolist() == [4400.0, 4600.0]
    assert quotes.price.tolist() == pytest.approx([251.2, 151.0])
    assert quotes.half_spread.tolist() == pytest.approx([1.1, 0.5])
    assert "commas separate decimals." in quotes.reading.notes


def test_thousands_commas_and_currency(sheet):
    text = 'strike,maturity,price\n"4,400",0.5,"$1,250.10"\n"5,600",0.5,$151.50\n'
    quotes = read_quotes(sheet(text), spot=4468.17)
    assert quotes.strike.tolist() == [4400.0, 5600.0]
    assert quotes.price.tolist() == pytest.approx([1250.1, 151.5])


def test_an_option_chain_with_calls_and_puts_side_by_side(sheet):
    text = (
        "C_BID,C_ASK,STRIKE,P_BID,P_ASK,EXPIRE_DATE,QUOTE_DATE,UNDERLYING_LAST\n"
        "5,6,100,4,5,2027-12-19,2027-01-01,100\n,,110,10,11,2027-12-19,2027-01-01,100\n"
    )
    quotes = read_quotes(sheet(text))
    assert quotes.call.tolist() == [True, False, False]
    assert quotes.price.tolist() == [5.5, 4.5, 10.5]
    assert [str(each) for each in quotes.reading.dropped] == ["row 3: bid is empty"]


@pytest.mark.parametrize("words", [("C", "P"), ("call", "put"), ("Calls", "Puts"), ("CE", "PE")])
def test_types(sheet, words):
    text = f"type,strike,maturity,mid\n{words[0]},90,1,13\n{words[1]},90,1,3\n"
    assert read_quotes(sheet(text), spot=100.0).call.tolist() == [True, False]


def test_prices_without_a_type_are_calls_if_they_are_worth_it(sheet):
    calls = "strike,maturity,mid\n80,1,21\n100,1,8\n120,1,2\n"
    outside = "strike,maturity,mid\n80,1,1\n100,1,8\n120,1,2\n"
    puts = "strike,maturity,mid\n80,1,1\n100,1,8\n120,1,22\n"
    found = {
        name: read_quotes(sheet(text), spot=100.0)
        for name, text in (("calls", calls), ("outside", outside), ("puts", puts))
    }
    assert found["calls"].call.tolist() == [True] * 3
    assert found["puts"].call.tolist() == [False] * 3
    assert found["outside"].call.tolist() == [False, True, True]
    assert "there is no type: by their prices all are calls." in found["calls"].reading.notes


def test_forwards_and_discounting(sheet):
    text = "strike,maturity,iv,rate,dividend\n100,2,0.2,3%,1%\n"
    quotes = read_quotes(sheet(text), spot=100.0)
    assert quotes.forward.tolist() == pytest.approx([100 * np.exp(0.04)])
    assert quotes.discount.tolist() == pytest.approx([np.exp(-0.06)])
    text = "strike,maturity,iv,forward,discount factor\n100,2,0.2,104,0.94\n"
    quotes = read_quotes(sheet(text))
    assert (quotes.forward.tolist(), quotes.discount.tolist()) == ([104.0], [0.94])


def test_a_missing_rate_is_said(sheet):
    notes = read_quotes(sheet(PLAIN), spot=100.0).reading.notes
    assert "no rate is given: 0 is taken (`rate=0.03`)." in notes


def test_rates_in_percent_are_said(sheet):
    text = "strike,maturity,iv,rate\n100,1,0.2,3.5\n110,1,0.2,3.5\n"
    quotes = read_quotes(sheet(text), spot=100.0)
    assert quotes.discount.tolist() == pytest.approx([np.exp(-0.035)] * 2)
    assert "rate: read as percentages." in quotes.reading.notes


def test_a_matrix_with_rates_and_spot(sheet):
    text = (
        "DAX\nSpot: 4.468,17\nValuation date;05.07.2002\n"
        "Strike;18.07.2002;15.08.2002\n3400;66,25;48,75\n3600;60,07;45,43\nrate;3,57;3,49\n"
    )
    quotes = read_quotes(sheet(text))
    assert (365 * quotes.t).round().tolist() == [13, 41, 13, 41]
    assert quotes.volatility.tolist() == pytest.approx([0.6625, 0.4875, 0.6007, 0.4543])
    expected = 4468.17 * np.exp([0.0357 * 13 / 365, 0.0349 * 41 / 365] * 1)
    assert quotes.forward[:2].tolist() == pytest.approx(expected.tolist())
    assert any(
        note.startswith("a matrix: strike down, maturity across") for note in quotes.reading.notes
    )


@pytest.mark.parametrize(
    "text",
    [
        ",30,91,182,365\n90,.2,.2,.2,.2\n110,.2,.2,.2,.2\n",
        ",2,3,5\n0.8,.2,.2,.2\n1.2,.2,.2,.2\n",
        "vol,0.25,0.5,1\n10P,.2,.2,.2\nATM,.2,.2,.2\n",
    ],
)
def test_a_matrix_that_does_not_tell_its_sides_is_refused(sheet, text):
    with pytest.raises(InputError, match="write strike or maturity into the corner"):
        read_quotes(sheet(text), spot=100.0)


def test_calls_and_puts_left_and_right_of_the_strike(sheet):
    text = "Bid,Ask,Strike,Bid,Ask,T\n12.9,13.1,90,2.9,3.1,0.5\n3.4,3.6,110,13.4,13.6,0.5\n"
    quotes = read_quotes(sheet(text), spot=100.0)
    assert quotes.price.tolist() == pytest.approx([13.0, 3.0, 3.5, 13.5])
    assert quotes.call.tolist() == [True, False, True, False]


def test_a_type_is_known_by_its_cells(sheet):
    text = "what it is,strike,T,mid\nC,90,.5,13\nP,90,.5,3\nC,110,.5,3.5\nP,110,.5,13.5\n"
    quotes = read_quotes(sheet(text), spot=100.0)
    assert quotes.call.tolist() == [True, False, True, False]
    assert quotes.price.tolist() == [13.0, 3.0, 3.5, 13.5]


def test_prices_out_of_the_money_without_a_type(sheet):
    """σ = 25 %: the put at 95 is worth more than the call's intrinsic value."""
    quotes = read_quotes(sheet("K,T,mid\n95,1,7.40\n100,1,9.95\n105,1,7.89\n"), spot=100.0)
    assert quotes.volatility.tolist() == pytest.approx([0.25] * 3, abs=2e-3)


def test_moneyness_of_the_forward(sheet):
    quotes = read_quotes(sheet("K/F,T,iv\n0.9,2,0.2\n"), spot=100.0, rate=0.05)
    assert quotes.strike.tolist() == pytest.approx([90.0 * np.exp(0.1)])


@pytest.mark.parametrize("strikes", [(80, 120), (3_400_000, 5_600_000)])
def test_strikes_in_other_units_are_refused(sheet, strikes):
    text = "strike,T,iv\n" + "".join(f"{k},0.5,0.2\n" for k in strikes)
    with pytest.raises(InputError, match="times the forward; check the units"):
        read_quotes(sheet(text), spot=4468.0)


def test_volatilities_that_are_not_those_of_the_prices_are_said(sheet):
    text = "strike,maturity,mid,iv\n100,1,8,0.5\n110,1,4,0.5\n"
    notes = read_quotes(sheet(text), spot=100.0).reading.notes
    assert any("prices do not fit the quoted volatilities" in note for note in notes)


def test_a_column_that_is_named_counts_more_than_a_guess(sheet):
    text = "strike,expiry,tage,rel,iv\n7,soon,182.5,0.9,0.25\n"
    named = {"days": "tage", "moneyness": "rel"}
    quotes = read_quotes(sheet(text), columns=named, spot=100.0)
    assert (quotes.t.tolist(), quotes.strike.tolist()) == ([0.5], [90.0])


def test_a_matrix_of_prices(sheet):
    text = "strike,6M,1Y\n90,11.5,13\n110,2.1,4\n"
    quotes = read_quotes(sheet(text), spot=100.0, values="price")
    assert quotes.in_price
    assert quotes.price.tolist() == [11.5, 13.0, 2.1, 4.0]


BAD_ROWS = [
    (",0.5,3", "strike is empty"),
    ("abc,0.5,3", "strike is 'abc', not a number"),
    ("-90,0.5,3", "must be positive"),
    ("90,,3", "maturity is empty"),
    ("90,soon,3", "maturity is 'soon', no maturity"),
    ("90,-0.5,3", "maturity -0.5 has expired"),
    ("90,0,3", "maturity 0 has expired"),
    ("90,0.5,", "price is empty"),
    ("90,0.5,n/a", "price is empty"),
    ("90,0.5,#N/A", "price is empty"),
    ("90,0.5,NaN", "price is empty"),
    ("90,0.5,inf", "price is 'inf', not a number"),
    ("90,0.5,0", "price 0 is not positive"),
    ("90,0.5,-1", "price -1 is not positive"),
    ("80,0.5,15", "price 15 is below the intrinsic value 20"),
    ("80,0.5,150", "price 150 is above the bound 100"),
    ("100,0.5,8", "repeats row 2"),
]


@pytest.mark.parametrize(("row", "reason"), BAD_ROWS, ids=[row for row, _ in BAD_ROWS])
def test_bad_rows_are_dropped_with_a_reason(sheet, row, reason):
    text = f"strike,maturity,price,type\n100,0.5,6,call\n110,0.5,2,call\n{row},call\n"
    quotes = read_quotes(sheet(text), spot=100.0)
    assert len(quotes) == 2
    (dropped,) = quotes.reading.dropped
    assert dropped.row == 4
    assert reason in dropped.reason


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("90,0.5,3,2", "crossed: bid 3 exceeds ask 2"),
        ("90,0.5,0,2", "no bid (0)"),
        ("90,0.5,,2", "bid is empty"),
        ("90,0.5,3,-", "ask is empty"),
    ],
)
def test_bad_sides(sheet, row, reason):
    text = f"strike,maturity,bid,ask\n100,0.5,5,6\n110,0.5,2,3\n{row}\n"
    quotes = read_quotes(sheet(text), spot=100.0)
    assert [str(each) for each in quotes.reading.dropped] == [f"row 4: {reason}"]


def test_bad_volatilities_and_types(sheet):
    text = "strike,maturity,iv,type\n90,1,0.2,c\n90,1,0,p\n95,1,-0.2,c\n99,1,7,c\n98,1,.2,x\n"
    reasons = [each.reason for each in read_quotes(sheet(text), spot=100.0).reading.dropped]
    assert [reason.split(",")[0] for reason in reasons] == [
        "the volatility 0 is not between 0 and 5",
        "the volatility -0.2 is not between 0 and 5",
        "the volatility 7 is not between 0 and 5",
        "type is 'x'",
    ]


UNREADABLE = [
    ("", "is empty"),
    ("\n \n", "is empty"),
    ("strike,maturity,iv\n", "has a header, but no quotes below it"),
    ("a,b,c\n1,2,3\n", "no header that names a strike or a maturity"),
    ("90,0.5,0.25\n100,0.5,0.22\n", "no header"),
    ("strike,iv\n90,0.2\n", "no column for the maturity; it has: strike, iv"),
    ("maturity,iv\n1,0.2\n", "no column for the strike; it has: maturity, iv"),
    ("delta,maturity,iv\n0.25,1,0.2\n", "Deltas are not read"),
    ("strike,maturity,rate\n90,1,0.02\n", "no column for the price or the volatility"),
    ("strike,expiry,iv\n90,2027-03-19,0.2\n", "says not of which day its quotes are"),
    ("strike,maturity,iv\n90,1,\n95,1,x\n", "row 2: iv is empty; row 3: iv is 'x', not a number"),
]


@pytest.mark.parametrize(("text", "message"), UNREADABLE)
def test_a_sheet_that_cannot_be_read_says_what_is_missing(sheet, text, message):
    with pytest.raises(InputError, match=message):
        read_quotes(sheet(text), spot=100.0)


def test_a_missing_spot_says_what_to_give(sheet):
    with pytest.raises(InputError, match=r"no column for the spot or the forward.*Give `spot=100`"):
        read_quotes(sheet(PLAIN))


def test_workbooks_and_other_files_are_refused(tmp_path):
    book, image = tmp_path / "quotes.xlsx", tmp_path / "image.csv"
    book.write_bytes(b"PK\x03\x04 and more")
    image.write_bytes(b"a\x00b")
    with pytest.raises(InputError, match="is an Excel workbook; save the sheet as CSV"):
        read_quotes(book)
    with pytest.raises(InputError, match="is not a text file"):
        read_quotes(image)
    with pytest.raises(InputError, match="there is no file"):
        read_quotes(tmp_path / "none.csv")


def test_columns_can_be_named(sheet):
    text = "a,b,c,iv\n90,0.5,0.25,9\n100,0.5,0.22,9\n110,0.5,0.21,9\n"
    named = {"strike": "a", "maturity": "b", "volatility": "c"}
    quotes = read_quotes(sheet(text), columns=named, spot=100.0)
    assert same_as_plain(quotes)
    assert quotes.reading.columns["volatility"] == "c"


def test_wrong_names_of_columns_say_what_there_is(sheet):
    with pytest.raises(InputError, match="no column 'X' for the strike; there are: strike, mat"):
        read_quotes(sheet(PLAIN), columns={"strike": "X"}, spot=100.0)
    with pytest.raises(InputError, match="a column cannot be the 'K'; expected one of: strike"):
        read_quotes(sheet(PLAIN), columns={"K": "strike"}, spot=100.0)


def test_options_that_contradict_the_sheet_are_refused(sheet):
    with pytest.raises(InputError, match=r"has a column 'spot'; omit spot=100\."):
        read_quotes(sheet("strike,maturity,iv,spot\n90,1,0.2,100\n"), spot=100.0)
    with pytest.raises(InputError, match=r"rate = 3 is a fraction: write 0\.03 for 3 %"):
        read_quotes(sheet(PLAIN), spot=100.0, rate=3.0)
    with pytest.raises(InputError, match="price or volatility, not 'vol'"):
        read_quotes(sheet(PLAIN), spot=100.0, values="vol")


def test_prices_count_where_both_are_quoted_unless_told(sheet):
    text = "strike,maturity,mid,iv\n100,1,8,0.3\n110,1,4,0.3\n"
    both = read_quotes(sheet(text), spot=100.0)
    told = read_quotes(sheet(text), spot=100.0, values="volatility")
    assert both.price.tolist() == [8.0, 4.0]
    assert told.volatility.tolist() == [0.3, 0.3]
    assert any("prices count" in note for note in both.reading.notes)


def test_zero_yields_and_bonds(sheet):
    yields = read_quotes(sheet("Maturity,Zero rate\n1Y,3.1\n10Y,3.5\n30Y,3.4\n"))
    assert yields.zero_yield.tolist() == pytest.approx([0.031, 0.035, 0.034])
    assert yields.price.tolist() == pytest.approx(np.exp([-0.031, -0.35, -1.02]).tolist())
    bonds = read_quotes(sheet("years;discount factor\n1;0,97\n2;0,93\n"))
    assert bonds.zero_yield.tolist() == pytest.approx((-np.log([0.97, 0.93]) / [1, 2]).tolist())
    percent = read_quotes({"years": [1, 2], "price": [97.0, 93.0], "discount": [0.97, 0.93]})
    assert percent.price.tolist() == pytest.approx([0.97, 0.93])


def test_curves_by_dates(sheet):
    text = "Date,DiscountFactor\n2028-01-31,0.97\n2029-01-30,0.93\n"
    curve = read_quotes(sheet(text), date="2027-01-31")
    assert curve.t.tolist() == pytest.approx([1.0, 2.0], abs=5e-3)
    assert curve.price.tolist() == [0.97, 0.93]
    days = "Date,1 Mo,1 Yr,10 Yr\n2027-01-28,4.5,4.4,4.3\n2027-01-29,4.0,4.1,\n"
    latest = read_quotes(sheet(days))
    assert latest.zero_yield.tolist() == pytest.approx([0.04, 0.041])
    assert "a curve of 2027-01-29: the latest of the days" in latest.reading.notes[0]


def test_columns_without_a_meaning_are_named(sheet):
    text = "strike,maturity,iv,Zinsen p.a.,volume\n90,0.5,0.25,3,7\n"
    notes = read_quotes(sheet(text), spot=100.0).reading.notes
    assert notes[-1] == "not used: Zinsen p.a., volume."


def test_data_frames_and_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"K": [90.0, None], "T": [0.5, 0.5], "iv": [0.25, 0.2]})
    quotes = fk.read_quotes(frame, spot=100.0)
    assert quotes.strike.tolist() == [90.0]
    assert [str(each) for each in quotes.reading.dropped] == ["row 2: K is empty"]
    rows = fk.read_quotes([{"K": 90, "T": 0.5, "iv": 0.25}, {"K": 95, "T": 0.5}], spot=100.0)
    assert rows.strike.tolist() == [90.0]
    with pytest.raises(
        InputError, match="expected a path, a data frame, or columns by name; got int"
    ):
        fk.read_quotes(7)


def test_one_value_in_columns_stands_for_all_rows():
    columns = {"strike": [90, 100], "maturity": "6M", "iv": np.array(0.2), "rate": 0.03}
    quotes = fk.read_quotes(columns, spot=100.0)
    assert quotes.t.tolist() == [0.5, 0.5]
    assert quotes.volatility.tolist() == [0.2, 0.2]
    assert quotes.discount.tolist() == pytest.approx([np.exp(-0.015)] * 2)


def test_the_published_surface():
    quotes = read_quotes("examples/dax_2002.csv")
    assert len(quotes) == 104
    assert not quotes.reading.dropped
    assert (quotes.volatility[0], quotes.volatility[-1]) == (0.6625, 0.2320)
    assert np.unique((365 * quotes.t).round()).tolist() == [13, 41, 75, 165, 256, 345, 524, 703]


def test_quotes_of_several_assets_are_refused():
    columns = {"ticker": ["AAPL", "MSFT"], "K": [90, 95], "T": [1, 1], "iv": [0.2, 0.2]}
    with pytest.raises(
        InputError, match=r"several assets \(ticker: AAPL, MSFT\); keep the rows of"
    ):
        fk.read_quotes(columns, spot=100.0)
    for one in (["SPX", "SPXW"], ["SPX270319C00090000", "SPX270319P00095000"], ["SPX", ""]):
        assert len(fk.read_quotes(columns | {"ticker": one}, spot=100.0)) == 2
