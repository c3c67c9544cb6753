"""Strings of the command line: what they mean, and what is said of those that mean nothing."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import feynkac as fk
from feynkac.errors import InputError
from feynkac.interfaces.parsing import (
    family_settings,
    parse_correlations,
    parse_domain,
    parse_given,
    parse_point,
    parse_scheme,
    parse_seeds,
)
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.milstein import Milstein
from feynkac.sampling.schemes.ninomiya_victoir import NinomiyaVictoir


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("x=9.5", {"x": 9.5}),
        ("x=9.5,t=0.5,sigma=0.35", {"x": 9.5, "t": 0.5, "sigma": 0.35}),
        (" x = 1 , t = -2e-3 ", {"x": 1, "t": -2e-3}),
        ("x=[1,2.5],t=0", {"x": [1, 2.5], "t": 0}),
        ("sigma=[[1, 0],[0, 1]],x=[1,2]", {"sigma": [[1, 0], [0, 1]], "x": [1, 2]}),
    ],
)
def test_a_point_is_values_by_name(text, values):
    assert parse_point(text) == values


numbers = st.floats(allow_nan=False, allow_infinity=False)
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
values = st.recursive(numbers, lambda inner: st.lists(inner, max_size=3), max_leaves=8)


@settings(max_examples=40)
@given(st.dictionaries(names, values, min_size=1, max_size=5))
def test_every_point_survives_being_written_and_read(point):
    assert parse_point(",".join(f"{k}={json.dumps(v)}" for k, v in point.items())) == point


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", ""),
        ("x", "x"),
        ("x=", "x="),
        ("x=high", "x=high"),
        ("x=1;t=2", "x=1;t=2"),
        ("x=1,2", "x=1,2"),
        ("x=[1,2", "x=[1,2"),
        ('x="9"', 'x="9"'),
        ("x=true", "x=true"),
        ("x=null", "x=null"),
        ("x={}", "x={}"),
        ("x=1,t=?", "t=?"),
    ],
)
def test_what_is_no_point_is_shown(text, part):
    with pytest.raises(InputError) as caught:
        parse_point(text)
    expected = f"cannot read {part!r}; expected name=number or name=[numbers], as in x=9.5,t=0.5"
    assert str(caught.value).startswith(expected)


def test_a_name_given_twice_is_refused():
    with pytest.raises(InputError, match="'x' is given twice"):
        parse_point("x=1,t=2, x =3")


@pytest.mark.parametrize(
    ("text", "scheme"),
    [
        ("auto", None),
        ("exact", Exact()),
        ("euler:1", EulerMaruyama(steps=1)),
        ("euler:250", EulerMaruyama(steps=250)),
        ("milstein:8", Milstein(steps=8)),
        ("ninomiya-victoir:4", NinomiyaVictoir(steps=4)),
        ("nin:4", NinomiyaVictoir(steps=4)),
    ],
)
def test_schemes_by_name(text, scheme):
    assert parse_scheme(text) == scheme


@pytest.mark.parametrize(
    "text",
    ["", "e:1", "nv:4", "euler:", "euler:0", "euler:-3", "euler:2.5", "milstein:0", "EXACT"],
)
def test_an_unknown_scheme_is_refused(text):
    with pytest.raises(
        InputError, match=f"unknown scheme '{text}'; expected auto, or one of euler"
    ):
        parse_scheme(text)


def test_the_dimension_is_set_only_when_given():
    assert family_settings(None) == {}
    assert family_settings(5) == {"dim": 5}
    assert family_settings(None, ["payoff=put:max", "speed = 0.5"]) == {
        "payoff": "put:max",
        "speed": 0.5,
    }


@pytest.mark.parametrize("text", ["payoff", "=3", "pay off=call", "dim=4"])
def test_a_field_that_cannot_be_read_is_refused(text):
    with pytest.raises(InputError, match=r"cannot read --field .*; expected name=value"):
        family_settings(3, [text])


@pytest.mark.parametrize(
    ("text", "mean", "std"),
    [
        ("normal(0.3,0.05)", 0.3, 0.05),
        ("uniform(0.1, 0.6)", 0.35, 0.5 / math.sqrt(12)),
        ("uniform(-2,-1)", -1.5, 1 / math.sqrt(12)),
        (
            "lognormal(2,0.5)",
            2 * math.exp(0.125),
            2 * math.exp(0.125) * math.sqrt(math.expm1(0.25)),
        ),
        ("beta(2,3)", 0.4, 0.2),
    ],
)
def test_laws_by_name(text, mean, std):
    law = parse_given([f" sigma = {text} "])["sigma"]
    assert (law.mean(), law.std()) == (pytest.approx(mean), pytest.approx(std))


@pytest.mark.parametrize(
    "texts",
    [
        ["sigma=normal(0.3,0.05)", "t=0.5", "x=[1,2]"],
        ["x=[1,2],t=0.5", "sigma=normal(0.3,0.05)"],
        ["t=0.5,sigma=normal(0.3,0.05),x=[1,2]"],
    ],
)
def test_laws_and_numbers_may_stand_together(texts):
    found = parse_given(texts)
    assert found.pop("sigma").mean() == 0.3
    assert found == {"t": 0.5, "x": [1, 2]}


@pytest.mark.parametrize(
    "law",
    [
        "normal(0.3)",
        "normal(0.3,0.05,1)",
        "normal(0.3,0)",
        "normal(0.3,-1)",
        "normal(nan,1)",
        "normal(inf,1)",
        "normal(0,inf)",
        "normal()",
        "uniform(0.6,0.1)",
        "uniform(low,high)",
        "lognormal(-1,0.5)",
        "beta(0,1)",
        "cauchy(0,1)",
    ],
)
def test_what_is_no_law_is_shown(law):
    with pytest.raises(InputError) as caught:
        parse_given(["t=0.5", f"sigma={law}"])
    expected = f"cannot read 'sigma={law}'; expected a number, or normal(mean,std), uniform(low,hi"
    assert str(caught.value).startswith(expected)


@pytest.mark.parametrize("texts", [["t=1", "t=2"], ["t=1,t=2"], ["t=1", "t=beta(1,2)"]])
def test_an_input_given_twice_is_refused(texts):
    with pytest.raises(InputError, match="'t' is given twice"):
        parse_given(texts)


def test_nothing_given_is_nothing():
    assert parse_given([]) == {}
    assert parse_correlations([]) == {}


def test_correlations_are_numbers_by_pair():
    found = parse_correlations(["sigma,strike=0.5", " x , t = -2.5e-1 "])
    assert found == {("sigma", "strike"): 0.5, ("x", "t"): -0.25}


@pytest.mark.parametrize(
    "text", ["", "a=0.5", "a,b", "a,b=", "a,b=1", "a,b=-1.5", "a,b=e", "a,b,c=0.5", "a,a=0.5"]
)
def test_what_is_no_correlation_is_shown(text):
    expected = f"cannot read '{text}'; expected two names and a number between -1 and 1"
    with pytest.raises(InputError, match=expected):
        parse_correlations([text])


@pytest.mark.parametrize("again", ["a,b=0.1", "b,a=0.1"])
def test_a_correlation_given_twice_is_refused(again):
    with pytest.raises(InputError, match=r"the correlation of [ab] and [ab] is given twice"):
        parse_correlations(["a,b=0.1", again])


@pytest.mark.parametrize(
    ("text", "seeds"), [("0", (0,)), ("0-3", (0, 1, 2, 3)), ("2, 0-1", (2, 0, 1)), ("1,1", (1,))]
)
def test_seeds(text, seeds):
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "a", "3-1", "-1", "0..3", "0,"])
def test_other_texts_are_not_seeds(text):
    with pytest.raises(InputError, match="expected 0,1 or 0-3"):
        parse_seeds(text)


def test_a_value_fixes_a_variable_or_one_entry():
    domain = fk.BasketPut(dim=2).domain
    found = parse_domain("t=0.5,x=[9,10],strike=11", domain)
    assert found == {"t": fk.Fixed(0.5), "x": fk.Fixed([9.0, 10.0]), "strike": fk.Fixed(11.0)}
    assert parse_domain("x=9", domain)["x"] == fk.Fixed([9.0, 9.0])
    assert parse_domain("x[1]=9.5, x[0]=9:9.5", domain) == {
        "x[1]": fk.Fixed(9.5),
        "x[0]": fk.Box(9.0, 9.5),
    }


def test_another_domain_keeps_the_shapes():
    found = parse_domain("x=8:12, t=0.02:5,sigma=log(0.05,0.8)", fk.BasketPut(dim=2).domain)
    assert found["x"] == fk.Box(8.0, 12.0, shape=(2,))
    assert found["sigma"].shape == fk.BasketPut(dim=2).domain.measures["sigma"].shape
    assert isinstance(found["sigma"], fk.LogUniform)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rho=0:1", "there is no variable 'rho'; there are: "),
        ("t=true", "cannot read 't=true'; expected name=low:high"),
        ("t=[1,2]", "Fixed numbers"),
        ("x[0]=9", "there is no entry"),
        ("t=0:1,t=0:2", "cannot read 't=0:2'"),
        ("t=uniform(0,1)", "cannot read"),
        ("t=normal(0,1)", "cannot read"),
        ("t=a:b", "cannot read"),
        ("t=5:1", "Box"),
        ("sigma=log(0,1)", "LogUniform"),
    ],
)
def test_a_domain_that_makes_no_sense_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        parse_domain(text, fk.BlackScholes().domain)


DEEP = "[" * 30_000


@pytest.mark.parametrize(
    "value",
    [DEEP, DEEP + "1" + "]" * 30_000, "null", "[null]", '["1"]', "true", "{}", "[[1],[{}]]"],
)
def test_what_is_no_number_is_refused_however_deep(value):
    with pytest.raises(InputError, match=r"cannot read .*expected name=number or name=\[numbers\]"):
        parse_point(f"x={value}")


@pytest.mark.parametrize("text", ["0-999999999999", "9" * 30, "0-10000"])
def test_too_many_seeds_are_refused_at_once(text):
    with pytest.raises(InputError, match="too many or too large seeds; at most 10000"):
        parse_seeds(text)


def test_a_field_that_is_nested_without_end_is_a_text():
    assert family_settings(None, [f"kind={DEEP}"]) == {"kind": DEEP}
