"""Options from a table: what they are, and what is refused or said."""

import numpy as np
import pytest

import feynkac as fk
from feynkac.errors import InputError


def read(table, **settings):
    return fk.read_quotes(table, **({"spot": 100.0, "rate": 0.0} | settings))


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("Type", ("Call Option", "Put Option")),
        ("type", ("European call", "European put")),
        ("cp_flag", (1, -1)),
        ("isCall", (True, False)),
        ("is_put", (0, 1)),
        ("right", ("CallOption", "PutOption")),
    ],
)
def test_calls_and_puts_in_any_wording(name, cells):
    quotes = read({"K": [90, 90], "T": [1, 1], "mid": [13, 3], name: cells})
    assert quotes.call.tolist() == [True, False]
    assert len(quotes) == 2


def test_a_type_that_is_none_is_said_and_not_used():
    quotes = read({"K": [95, 105], "T": [1, 1], "mid": [7.4, 7.89], "type": ["European"] * 2})
    assert "type tells no calls from puts ('European'): it is not used." in quotes.reading.notes


def test_a_type_above_the_header_that_is_none_drops_nothing(tmp_path):
    path = tmp_path / "quotes.csv"
    path.write_text("Option type: European\nstrike,T,mid\n95,1,7.4\n105,1,7.89\n")
    assert len(fk.read_quotes(path, spot=100.0)) == 2


@pytest.mark.parametrize("name", ["k", "moneyness"])
@pytest.mark.parametrize("spot", [100.0, 1.0])
def test_log_moneyness_is_not_read_as_a_strike(name, spot):
    columns = {name: [-0.2, -0.1, 0.0, 0.1, 0.2], "T": [1] * 5, "iv": [0.2] * 5}
    with pytest.raises(InputError, match="no ratio K/S; if it is ln"):
        read(columns, spot=spot)
    quotes = read(columns, spot=spot, columns={"log-moneyness": name})
    assert quotes.strike[-1] == pytest.approx(spot * np.exp(0.2))


@pytest.mark.parametrize(("name", "cell"), [("Price (%)", "2.5"), ("mid", "2.5%")])
def test_prices_in_percent_are_refused(name, cell):
    with pytest.raises(InputError, match="has percentages, which are no prices; write them in the"):
        read({"K": [4500], "T": [1], name: [cell]}, spot=4468.0)


def test_a_forward_that_calls_and_puts_contradict_is_said():
    forward, strike = 100.0 * np.exp(-0.03), np.array([95.0, 100.0, 105.0])
    prices = [fk.black_price(forward, strike, 1.0, 0.2, 1.0, call) for call in (True, False)]
    columns = {"K": strike, "T": 1.0, "Call": prices[0].numpy(), "Put": prices[1].numpy()}
    notes = read(columns).reading.notes
    assert any("calls and puts tell forwards that are -3 % from these" in note for note in notes)
    told = read(columns, dividend=0.03).reading.notes
    assert not any("calls and puts tell" in note for note in told)


def test_prices_in_other_units_than_the_spot_are_said():
    notes = read({"K": [59900, 60000, 60100], "T": 0.1, "mid": [0.02, 0.04, 0.02]}, spot=6e4)
    assert any("check the units of prices and spot" in note for note in notes.reading.notes)


def test_strikes_far_from_the_forward_are_said():
    notes = read({"K": [80, 100, 120], "T": 1.0, "iv": [0.2, 0.2, 0.2]}, spot=250.0).reading.notes
    assert any("strikes are about 0.4 times the forward" in note for note in notes)


@pytest.mark.parametrize("name", ["moneyness (S/K)", "F/K"])
def test_moneyness_the_other_way_round(name):
    quotes = read({name: [1.25, 0.8], "T": [1, 1], "iv": [0.2, 0.2]})
    assert quotes.strike.tolist() == pytest.approx([80.0, 125.0])


def test_strikes_that_are_neither_prices_nor_ratios_are_refused():
    columns = {"K": ["4.000", "4.400", "5.000"], "T": [1] * 3, "iv": [0.2] * 3}
    with pytest.raises(InputError, match="values such as 4, which is no strike and no ratio"):
        read(columns, spot=4468.0)


def test_prices_that_contradict_the_volatilities_must_be_chosen():
    """Deribit quotes prices in coins."""
    columns = {"K": [55e3, 6e4, 65e3], "T": 0.1, "mid": [0.02, 0.04, 0.02], "iv": [50, 48, 49]}
    with pytest.raises(InputError, match=r"do not fit the quoted vol.*`values=volatility`.*or the"):
        read(columns, spot=6e4)
    assert read(columns, spot=6e4, values="volatility").volatility[0] == 0.5
    assert read(columns, spot=6e4, values="price").in_price


CHAIN = {"K": [90, 110], "T": 1.0, "type": ["P", "C"], "last": [3.0, 4.0], "ask": [3.2, 4.2]}


def test_bid_and_ask_count_more_than_the_last_price():
    quotes = read(CHAIN | {"bid": [3.0, 4.0]})
    assert quotes.price.tolist() == [3.1, 4.1]
    assert "bid and ask count, not last." in quotes.reading.notes


def test_without_any_bid_the_last_price_counts():
    quotes = read(CHAIN | {"bid": [0.0, 0.0], "ask": [0.0, 0.0]})
    assert quotes.price.tolist() == [3.0, 4.0]
    assert "no bid is positive: last counts." in quotes.reading.notes


def test_units_of_strikes_say_what_to_change():
    columns = {"Strike price": [90_000, 110_000], "T": 1.0, "iv": [0.2, 0.2]}
    with pytest.raises(InputError, match=r"1e\+03 times .*; thousandths of them must be divided"):
        read(columns)
    with pytest.raises(
        InputError, match=r"if they are relative to the spot, `columns={'moneyness'"
    ):
        read(columns | {"Strike price": [90, 110]}, spot=4500.0)


@pytest.mark.parametrize("name", ["Zero Rate", "OIS rate", "yield"])
def test_rates_beside_options_under_other_names(name):
    quotes = fk.read_quotes({"K": [100], "T": [2], "iv": [0.2], name: ["3 %"]}, spot=100.0)
    assert quotes.discount.tolist() == pytest.approx([np.exp(-0.06)])
    assert quotes.forward.tolist() == pytest.approx([100.0 * np.exp(0.06)])


def test_many_prices_beyond_their_bounds_are_said():
    columns = {"K": [80, 90, 100, 110, 120], "T": 0.5, "type": "C"}
    prices = np.array([20.9, 12.5, 6.8, 3.3, 0.9])
    per_contract = read(columns | {"mid": 100 * prices}).reading
    assert any("4 of 5 prices are beyond the bounds" in note for note in per_contract.notes)
    assert not any("bounds" in note for note in read(columns | {"mid": prices}).reading.notes)
