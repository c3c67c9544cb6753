"""Names of variables and of single entries."""

import pytest

from feynkac.errors import InputError
from feynkac.families.measures.box import Box
from feynkac.families.names import find_place, labels, parse_name

LAWS = {"x": Box(0, 1, shape=(2,)), "t": Box(0, 1), "m": Box(0, 1, shape=(2, 3))}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x", ("x", None)),
        (" x [ 1 ] ", ("x", (1,))),
        ("m[0,1]", ("m", (0, 1))),
        ("m[0, 1]", ("m", (0, 1))),
        ("x[]", ("x[]", None)),
        ("x[-1]", ("x[-1]", None)),
        ("x[1,]", ("x[1,]", None)),
        (f"{' ' * 5000}x", ("x", None)),
    ],
)
def test_a_name_is_a_variable_or_an_entry(text, found):
    assert parse_name(text) == found


def test_all_labels_are_found_in_their_order():
    names = [label for name, law in LAWS.items() for label in labels(name, law.shape)]
    assert [find_place(LAWS, name).columns.start for name in names] == list(range(9))
    assert find_place(LAWS, "m").columns == slice(3, 9)
    assert find_place(LAWS, "m").shape == (2, 3)
    assert find_place(LAWS, "m[1, 2]").shape == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y", "there is no variable 'y'; there are: x, t, m"),
        ("y[0]", r"there is no variable 'y\[0\]'"),
        ("x[2]", r"there is no entry 'x\[2\]': x has the shape \(2,\), counted from 0"),
        ("m[1]", r"there is no entry 'm\[1\]': m has the shape \(2, 3\)"),
        ("t[0]", r"there is no entry 't\[0\]': t is a single number"),
    ],
)
def test_what_there_is_not_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        find_place(LAWS, text)
