"""Strings of the command line: what they mean, and what is said of those that mean nothing."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feynkac.errors import InputError
from feynkac.interfaces.parsing import family_settings, parse_point, parse_scheme
from feynkac.sampling.euler_maruyama import EulerMaruyama
from feynkac.sampling.exact import Exact
from feynkac.sampling.milstein import Milstein
from feynkac.sampling.ninomiya_victoir import NinomiyaVictoir


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
        ("nv:4", NinomiyaVictoir(steps=4)),
    ],
)
def test_schemes_by_name(text, scheme):
    assert parse_scheme(text) == scheme


@pytest.mark.parametrize(
    "text",
    ["", "euler", "euler:", "euler:0", "euler:-3", "euler:2.5", "milstein", "milstein:0", "EXACT"],
)
def test_an_unknown_scheme_is_refused(text):
    with pytest.raises(InputError, match=f"unknown scheme '{text}'; expected auto, exact, euler"):
        parse_scheme(text)


def test_the_dimension_is_set_only_when_given():
    assert family_settings(None) == {}
    assert family_settings(5) == {"dim": 5}
