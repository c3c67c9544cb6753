"""The library as a table: each solution with its error, or that it is not there."""

from collections.abc import Sequence
from typing import Any

from feynkac.analysis.rounding import error_text, number
from feynkac.library.entries import ENTRIES, Entry
from feynkac.library.shelf import Shelf

COLUMNS = (
    "name",
    "inputs",
    "L1, Eq. (9)",
    "absolute",
    "relative",
    "volatility bp (99 %)",
    "certified",
    "shapes",
    "steps",
    "s",
)


def list_library(shelf: Shelf, entries: Sequence[Entry] = ENTRIES) -> list[dict[str, Any]]:
    """A record of each entry, and of all else on the shelf; one without `errors` is not there.

    Example:
        >>> from feynkac.library.shelf import open_shelf
        >>> list_library(open_shelf())[0]["name"]
        'black-scholes-merton'
    """
    here = shelf.names
    absent = {entry.name: {"name": entry.name, "about": entry.about} for entry in entries}
    names = [*absent, *(name for name in here if name not in absent)]
    return [shelf.record(name) if name in here else absent[name] for name in names]


def table(records: Sequence[dict[str, Any]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Columns and rows."""
    return COLUMNS, [_cells(record) for record in records]


def _cells(record: dict[str, Any]) -> tuple[str, ...]:
    errors = record.get("errors")
    if errors is None:
        return (record["name"], "", "not trained", *[""] * (len(COLUMNS) - 3))
    return (
        record["name"],
        str(record["inputs"]),
        error_text(errors["l1"], errors["l1_se"], errors["l1_low"], errors["l1_high"]),
        number(errors["absolute"]),
        number(errors["relative"]),
        _volatility(errors),
        f"{record['certified']['share']:.0%}",
        _shapes(record.get("shape")),
        str(record["steps"]),
        f"{record['seconds']:.0f}",
    )


def _volatility(errors: dict[str, Any]) -> str:
    """Median and 99 % quantile, of calls and puts on one asset."""
    if errors.get("volatility_median_bp") is None:
        return "–"
    median, far = (number(errors[f"volatility_{which}_bp"]) for which in ("median", "99"))
    return f"{median} ({far})"


def _shapes(report: dict[str, Any] | None) -> str:
    """The share of inputs at which the shape that is violated most is kept."""
    if not report or not report["shapes"]:
        return "–"
    return f"{1.0 - max(row['share'] for row in report['shapes']):.1%}"
