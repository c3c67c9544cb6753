"""Columns of pandas, polars and pyarrow as numbers; what is none is named by row and column."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from feynkac.errors import InputError
from feynkac.families.columns import as_series, read_column

GOOD = {
    "floats": pd.Series([1.0, 2.5]),
    "float32": pd.Series([1.0, 2.5], dtype="float32"),
    "whole numbers": pd.Series([1, 2]),
    "nullable": pd.Series([1.0, 2.5], dtype="Float64"),
    "objects": pd.Series([1, 2.5], dtype=object),
    "decimals": pd.Series([Decimal("1"), Decimal("2.5")]),
    "arrow in pandas": pd.Series([1.0, 2.5], dtype="float64[pyarrow]"),
    "polars": pl.Series([1.0, 2.5]),
    "polars decimals": pl.Series([Decimal("1"), Decimal("2.5")]),
    "arrow": pa.chunked_array([[1.0], [2.5]]),
    "no rows": pd.Series([], dtype=object),
}


@pytest.mark.parametrize("kind", GOOD)
def test_numbers_of_every_kind_are_read(kind):
    found = read_column("t", as_series(GOOD[kind]))
    expected = [float(v) for v in GOOD[kind].to_numpy()]
    assert found.dtype == np.float64
    assert found.tolist() == expected


NAN = "is nan, not a finite number; drop or fill"
BAD = {
    "nan": (pd.Series([1.0, np.nan]), rf"row 1: the value {NAN}"),
    "infinity": (pl.Series([1.0, np.inf]), "row 1: the value is inf, not a finite number"),
    "object nan": (pd.Series([1.0, np.nan], dtype=object), rf"row 1: the value {NAN}"),
    "none": (pd.Series([1.0, None], dtype=object), "row 1: the value is missing; drop or fill"),
    "nullable": (pd.Series([1, pd.NA], dtype="Int64"), "row 1: the value is missing"),
    "polars null": (pl.Series([1.0, None]), "row 1: the value is missing"),
    "arrow null": (pa.chunked_array([[1.0], [None]]), "row 1: the value is missing"),
    "label": (pd.Series([1.0, np.nan], index=["a", "b"]), r"row 1 \(index 'b'\): the value"),
    "text": (pd.Series(["1.0", "2"]), "row 0: the value is '1.0', not a number; convert"),
    "mixed": (pd.Series([1.0, "2"], dtype=object), "row 1: the value is '2', not a number"),
    "truth": (pd.Series([True, False]), "row 0: the value is True, not a number"),
    "dates": (pl.Series(["2024-01-01"]).str.to_date(), r"row 0: .*2024.*not a number"),
    "lists": (pl.Series([[1.0, 2.0]]), r"row 0: .* each entry a column of its own: t\[0\], t\[1\]"),
    "complex": (pd.Series([1j]), "row 0: .*not a number"),
    "huge": (pd.Series([1, 10**400], dtype=object), "row 1: the value is inf, not a finite number"),
    "signal": (pd.Series([Decimal("sNaN")]), rf"row 0: the value {NAN}"),
    "no label": (pd.Series([np.nan], index=pd.Index([pd.NA])), r"row 0 \(index <NA>\): the value"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_number_is_refused_by_row_and_column(kind):
    series, message = BAD[kind]
    with pytest.raises(InputError, match=rf"^column 't', {message}"):
        read_column("t", as_series(series))


def test_other_things_are_no_series():
    assert as_series([1.0]) is None
    assert as_series(np.ones(3)) is None
    assert as_series(pd.DataFrame({"t": [1.0]})) is None
