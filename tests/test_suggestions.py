"""What was meant by a mistyped name, in every place that takes names."""

import pandas
import pytest

import feynkac as fk
from feynkac.errors import InputError
from feynkac.interfaces.parsing import parse_domain, parse_family, parse_scheme
from feynkac.suggestions import did_you_mean


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("sgima", ["x", "sigma"], " Did you mean 'sigma'?"),
        ("STRIKE", ["strike"], " Did you mean 'strike'?"),
        ("rate", ["x", "t"], ""),
        ("x", [], ""),
    ],
)
def test_a_close_name_is_proposed(name, known, meant):
    assert did_you_mean(name, known) == meant


PLACES = {
    "settings of solve": lambda: fk.solve(fk.BlackScholes(), steps=1, batchsize=64),
    "keywords of solve": lambda: fk.solve(fk.BlackScholes(), steps=1, progres=True),
    "families by name": lambda: fk.solve("black-schole"),
    "methods": lambda: fk.solve(fk.BlackScholes(), "fsat"),
    "inputs": lambda: fk.BlackScholes().domain.join({"x": 9.5, "t": 0.5, "sgima": 1, "strike": 11}),
    "options beside inputs": lambda: fk.pretrained("black-scholes").table(
        pandas.DataFrame({"x": [9.5]}), greek=True, t=0.5, sigma=0.3, strike=11.0
    ),
    "options of a certificate": lambda: fk.pretrained("black-scholes").certify(
        x=9.5, t=0.5, sigma=0.3, strike=11.0, tolerence=0.01
    ),
    "single entries": lambda: fk.BasketPut().domain.place("sgima[0, 0, 0]"),
    "other domains": lambda: fk.BlackScholes().on(strik=11.0),
    "fields of a family": lambda: fk.Heston(paoff=fk.Payoff("put")),
    "fields of a method": lambda: fk.Fast(batchsize=64),
    "fields of an effort": lambda: fk.Effort(second=1.0),
    "points of the shell": lambda: parse_domain("sgima=0.1:0.2", fk.BlackScholes().domain),
    "schemes of the shell": lambda: parse_scheme("milstien:3"),
    "fields of the shell": lambda: parse_family("rainbow", None, ["pay_off=put"]),
}


@pytest.mark.parametrize("place", PLACES)
def test_every_place_that_takes_names_proposes_one(place):
    meant = {
        "settings of solve": "batch_size",
        "keywords of solve": "progress",
        "families by name": "black-scholes",
        "methods": "fast",
        "other domains": "strike",
        "schemes of the shell": "milstein",
        "fields of the shell": "payoff",
        "fields of a family": "payoff",
        "fields of a method": "batch_size",
        "options beside inputs": "greeks",
        "options of a certificate": "tolerance",
        "fields of an effort": "seconds",
    }.get(place, "sigma")
    with pytest.raises((InputError, TypeError), match=rf"Did you mean '{meant}'\?"):
        PLACES[place]()
