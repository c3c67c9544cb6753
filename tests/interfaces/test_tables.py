"""Observations read from CSV files; what is wrong is named by row and column."""

import os

import numpy as np
import pytest

from feynkac.errors import InputError
from feynkac.families import BasketPut, BlackScholes, Box, Domain
from feynkac.interfaces.tables import read_observations

PUT = BlackScholes().domain
MATRIX = Domain(x=Box(0, 1, shape=(2,)), t=Box(0, 1), sigma=Box(0, 9, shape=(2, 2)), k=Box(0, 1))
QUOTES = "strike,t,value,noise\n10,0.25,0.9,0.01\n11.5,1,2.1,0.02\n"


@pytest.fixture
def read(tmp_path):
    def read(content, domain=PUT, free=("sigma",)):
        path = tmp_path / "quotes.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_observations(path, domain, free)

    return read


def as_lists(found):
    return {name: np.asarray(value).tolist() for name, value in found.known.items()}


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is not a regular file"):
        read_observations(tmp_path / "pipe", BlackScholes().domain, ["sigma"])


def test_columns_are_variables_values_and_noise(read):
    found = read(QUOTES)
    assert as_lists(found) == {"t": [0.25, 1.0], "strike": [10.0, 11.5]}
    assert found.values == [0.9, 2.1]
    assert found.noise == [0.01, 0.02]


def test_values_alone_are_enough(read):
    found = read("value\n1\n2\n")
    assert found == ({}, [1.0, 2.0], None)


@pytest.mark.parametrize(
    "content",
    [
        "\ufeff" + QUOTES,
        QUOTES.replace("\n", "\r\n"),
        "\n" + QUOTES.replace("\n", "\n\n") + " , ,\n,,,\n",
        QUOTES.replace(",", " , "),
        '"strike","t","value","noise"\n"10","0.25","0.9","0.01"\n"11.5","1","2.1","0.02"',
        "strike,t,value,noise\n1e1,.25,+0.9,1e-2\n11.50,1.,2.1,2E-2",
    ],
    ids=["byte order mark", "CRLF", "blank lines", "spaces", "quotes", "notations"],
)
def test_the_same_table_written_otherwise(read, content):
    found, plain = read(content), read(QUOTES)
    assert as_lists(found) == as_lists(plain)
    assert found[1:] == plain[1:]


@pytest.mark.parametrize("comma", [",", ", "])
def test_vectors_and_matrices_have_a_column_an_entry(read, comma):
    entries = ",".join(f'"sigma[{i}{comma}{j}]"' for i in (1, 0) for j in (0, 1))
    text = f"x[1],x[0],value,{entries}\n0.1,0.2,5,1,2,3,4\n0.3,0.4,6,5,6,7,8\n"
    found = read(text, MATRIX, ["k"])
    joined = MATRIX.split(MATRIX.join({**found.known, "t": 0.0, "k": 0.0}))
    assert joined.x.tolist() == [[0.2, 0.1], [0.4, 0.3]]
    assert joined.p.sigma.tolist() == [[[3.0, 4.0], [1.0, 2.0]], [[7.0, 8.0], [5.0, 6.0]]]


def test_one_entry_may_be_free_and_another_known(read):
    found = read("x[0],value\n0.1,2\n0.2,3\n", MATRIX, ["x[1]"])
    assert as_lists(found) == {"x[0]": [0.1, 0.2]}
    with pytest.raises(InputError, match=r"has a column 'x\[1\]', but x\[1\] is a free variable"):
        read("x[1],value\n0.1,2\n", MATRIX, ["x[1]"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no observations; expected a header and rows of numbers"),
        ("t,value\n\n,\n", "holds no observations"),
        ("t,price\n1,2\n", "has a column 'price'; expected some of: x, t, sigma, strike, value, n"),
        ("t;value\n1;2\n", "has a column 't;value'; expected some of: x, t"),
        ("t,value,\n1,2,\n", "has a column ''; expected some of"),
        ("t,noise\n1,2\n", "has no column 'value', the observed numbers"),
        ("t,value,t\n1,2,3\n", "has the column 't' twice"),
        ("sigma,value\n0.3,2\n", "has a column 'sigma', but sigma is a free variable"),
        ("t,value\n1,2\n\n1\n", "row 2: 1 cells, but the header has 2"),
        ("t,value\n1,2\n1,2,3\n", "row 2: 3 cells, but the header has 2"),
        ("t,value\n1,2\n1,2\n1, \n", "row 3: value is '', not a finite number"),
        ("t,value\nsoon,2\n", "row 1: t is 'soon', not a finite number"),
        ("t,value\n1,2\n1,nan\n", "row 2: value is 'nan', not a finite number"),
        ("t,value,noise\n1,2,inf\n", "row 1: noise is 'inf', not a finite number"),
        ("t,value\n1,2\n1.5,2\n", r"row 2: t = 1.5 lies outside \[0, 1\], where the solution was"),
        (b"t,value\n1,\xff\n", "is not a CSV file in UTF-8"),
        (b"t,value\n\x00" + b"1" * 200_000, "is not a CSV file in UTF-8"),
    ],
)
def test_what_is_wrong_is_named(read, content, message):
    with pytest.raises(InputError, match=rf"quotes\.csv.*{message}"):
        read(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x,value\n1,2\n", r"has a column 'x'; expected some of: x\[0\], x\[1\], t, sigma\[0,0\]"),
        ("x[2],value\n1,2\n", r"has a column 'x\[2\]'"),
        ("x[0],x[1],value\n1,0,2\n1,-3,2\n", r"row 2: x\[1\] = -3 lies outside \[0, 1\]"),
    ],
)
def test_what_is_wrong_with_a_vector_is_named(read, content, message):
    with pytest.raises(InputError, match=message):
        read(content, MATRIX, ["k"])


def test_of_many_columns_only_the_variables_are_listed(read):
    with pytest.raises(InputError, match=r"expected some of: x, t, sigma, mu, strike\.$"):
        read("y,value\n1,2\n", BasketPut().domain, ["strike"])


def test_a_value_outside_by_rounding_is_inside(read):
    assert as_lists(read("t,value\n1.0000001,2\n")) == {"t": [1.0000001]}
