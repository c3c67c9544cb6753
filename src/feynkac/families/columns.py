"""Columns of data frames as numbers: series of pandas, polars, pyarrow and what narwhals knows.

What is no number is refused by its row, counted from 0, and by the label of the row if rows have
labels.
"""

import math
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from feynkac.errors import InputError

if TYPE_CHECKING:
    import narwhals as nw

Numbers = npt.NDArray[np.float64]


def as_series(value: Any) -> "nw.Series[Any] | None":
    """A series, whatever library made it; None if it is none."""
    import narwhals as nw  # only who gives one waits for it

    found = nw.from_native(value, series_only=True, pass_through=True)
    return found if isinstance(found, nw.Series) else None


def read_column(name: str, series: "nw.Series[Any]") -> Numbers:
    """The numbers of a column, float64.  Shape: `(rows,)`.

    Numbers in columns of any type count, also of Python's objects and of nullable types.

    Raises:
        InputError: one of them is missing, not finite or no number.

    Example:
        >>> import pandas
        >>> read_column("t", as_series(pandas.Series([1, 2], dtype="Int64"))).tolist()
        [1.0, 2.0]
    """
    if not series.dtype.is_numeric() or series.null_count() or series.dtype.is_decimal():
        return np.array(
            [_number(name, series, i, v) for i, v in enumerate(series.to_list())], dtype=np.float64
        )
    found = np.asarray(series.to_numpy(), dtype=np.float64)
    if not (finite := np.isfinite(found)).all():
        row = int(np.argmin(finite))
        _number(name, series, row, float(found[row]))
    return found


def _number(name: str, series: "nw.Series[Any]", row: int, value: Any) -> float:
    """A finite number, or the sentence that it is none."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real | Decimal | np.number):
        missing = value is None or type(value).__name__ in ("NAType", "NaTType")
        what = "is missing" if missing else f"is {_shown(value)}, not a number"
        advice = _advice(name, None if missing else value)
    elif not math.isfinite(number := _as_float(value)):
        what, advice = f"is {number}, not a finite number", _advice(name, None)
    else:
        return number
    raise InputError(f"column {name!r}, {row_text(series, row)}: the value {what}; {advice}.")


def _as_float(value: Any) -> float:
    """A float, infinite where it is too large for one; NaN for a Decimal that signals."""
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.nan


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}…"


def _advice(name: str, value: Any) -> str:
    if isinstance(value, list | tuple | np.ndarray):
        return f"give each entry a column of its own: {name}[0], {name}[1], …"
    return "drop or fill such rows" if value is None else "convert the column to numbers"


def row_text(rows: Any, row: int) -> str:
    """How a row of a frame or series is called.

    Example:
        >>> import narwhals as nw, pandas
        >>> row_text(nw.from_native(pandas.DataFrame({"x": [1.0]}, index=["a"])), 0)
        "row 0 (index 'a')"
    """
    import narwhals as nw

    index = nw.maybe_get_index(rows)
    label = row if index is None else index.tolist()[row]
    same = isinstance(label, int) and label == row  # what is missing is equal to nothing
    return f"row {row}" if same else f"row {row} (index {label!r})"
