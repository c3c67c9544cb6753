"""Data frames in and out: rows in place, index kept, other columns left alone."""

import time

import numpy as np
import pandas as pd
import polars as pl
import pytest

import feynkac as fk
from feynkac.errors import InputError
from feynkac.families.frames import Frame

DOMAIN = fk.BlackScholes().domain
HEAT = fk.HeatParaboloid(dim=2).domain
DATA = {"x": [9.1, 9.5], "t": [0.5, 0.6], "sigma": [0.2, 0.3], "strike": [11, 12]}


def frame(**columns):
    return Frame.of(pd.DataFrame(DATA | columns))


def test_columns_are_values_and_others_are_not_looked_at():
    found = frame(note=["a", "b"], unknown=[None, None]).values(DOMAIN, {})
    assert {name: column.tolist() for name, column in found.items()} == DATA


def test_keywords_count_for_all_rows():
    found = Frame.of(pl.DataFrame({"x": [9.1]})).values(
        DOMAIN, {"t": 0.5, "sigma": 0.3, "strike": 11}
    )
    assert (found["x"].tolist(), found["t"], found["strike"]) == ([9.1], 0.5, 11)


def test_a_mapping_is_no_frame():
    assert Frame.of({"x": 9.5}) is None
    assert Frame.of(None) is None


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (9.5, "or as a data frame; got float"),
        ([9.5], "or as a data frame; got list"),
        (pd.Series([9.5]), "or as a data frame; got Series"),
        (pl.LazyFrame(DATA), "got LazyFrame; collect it first"),
    ],
)
def test_what_is_neither_is_refused(what, message):
    with pytest.raises(InputError, match=message):
        Frame.of(what)


def test_a_name_twice_is_refused():
    twice = pd.DataFrame([[9.1, 9.2]], columns=["x", "x"])
    with pytest.raises(InputError, match=r"cannot be read: .*unique column names"):
        Frame.of(twice)


def test_a_missing_column_is_named_and_a_similar_one_too():
    lacking = Frame.of(pd.DataFrame(DATA).rename(columns={"strike": "Strike"}))
    with pytest.raises(InputError, match=r"no column 'strike'; .* Did you mean 'Strike'\?"):
        lacking.values(DOMAIN, {})


def test_a_variable_is_given_once():
    with pytest.raises(InputError, match="t is given twice, as a column and as a keyword"):
        frame().values(DOMAIN, {"t": 0.3})


def test_a_vector_has_a_column_per_entry():
    given = {"x[0]": [1.0, 1.1], "x[ 1 ]": [1.2, 1.3], "t": [0.5, 0.5]}
    found = Frame.of(pd.DataFrame(given)).values(HEAT, {"sigma": 0.5})
    assert {*found} == {"x[0]", "x[ 1 ]", "t", "sigma"}


def test_one_column_for_a_whole_vector_is_refused_even_if_rows_and_entries_are_equally_many():
    whole = Frame.of(pd.DataFrame({"x": [1.0, 1.1], "t": 0.5}))
    with pytest.raises(InputError, match=r"x has several entries; .*: x\[0\], x\[1\]"):
        whole.values(HEAT, {"sigma": 0.5})


def test_a_taken_name_is_refused():
    with pytest.raises(InputError, match="has a column 'value' already; rename it"):
        frame(value=[1.0, 2.0]).extended({"value": [1.0, 2.0]})


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([7, 7], name="trade"),
        pd.MultiIndex.from_tuples([("a", 1), ("b", 1)], names=["book", "trade"]),
        pd.date_range("2024-01-01", periods=2, tz="UTC", name="date"),
        pd.CategoricalIndex(["a", "b"], name="book"),
    ],
)
def test_an_index_keeps_its_kind_and_names(index):
    rows = Frame.of(pd.DataFrame(DATA, index=index))
    for found in (rows.series("value", np.ones(2)), rows.only({"value": np.ones(2)})):
        pd.testing.assert_index_equal(found.index, index)


def test_a_long_index_is_not_copied_label_by_label():
    rows = Frame.of(pd.DataFrame({"x": np.ones(10**6)}, index=range(1, 10**6 + 1)))
    begun = time.process_time()
    rows.series("value", np.ones(10**6))
    assert time.process_time() - begun < 0.5  # copied, it takes four seconds
