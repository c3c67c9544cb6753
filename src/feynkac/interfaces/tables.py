"""Observations from a CSV file: one column per variable, `value`, and `noise` if it is known.

Entries of a vector have columns x[0], x[1], …, those of a matrix sigma[0,1]. Entries without a
column are free, fixed, or get one value for all rows, given separately.
Where a family has a variable called `value` or `noise`, the column with the observations is
`observed_value` or `observed_noise`.
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from feynkac.analysis.observations import free_columns
from feynkac.errors import InputError
from feynkac.families.domain import ROUNDING, Domain
from feynkac.files import read_regular

VALUE, NOISE = "value", "noise"


class Observed(NamedTuple):
    """Columns of a file: known variables by name, values, their noise."""

    known: dict[str, Any]
    values: list[float]
    noise: list[float] | None


def read_observations(path: Path, domain: Domain, free: Sequence[str]) -> Observed:
    """Read and check `path`.

    Raises:
        InputError: an unknown, missing or doubled column, or a cell that is not a finite number
            or lies outside the domain.
    """
    header, *rows = _cells(path)
    value, noise = (_observed(column, domain) for column in (VALUE, NOISE))
    _check_header(path, header, domain, value, noise)
    columns = _columns(path, header, rows)
    wanted = {domain.entries[i].replace(" ", "") for i in free_columns(domain, free)}
    known = {}
    for column, label in enumerate(_labels(domain)):
        if label in columns and label in wanted:
            raise InputError(f"{path} has a column {label!r}, but {label} is a free variable.")
        if label in columns:
            _check_inside(path, label, columns[label], domain, column)
            known[label] = columns[label]
    return Observed(known, columns[value], columns.get(noise))


def is_observations(path: Path, domain: Domain, named: bool) -> bool:
    """Whether a file has this form, and is not a sheet of market quotes.

    Args:
        path: of the file.
        domain: of the family.
        named: whether the user said which variables to find.
    """
    if not path.exists():
        raise InputError(f"there is no file {path}.")
    try:
        text = io.StringIO(read_regular(path).decode("utf-8-sig"), newline="")  # no endless device
        header = next((row for row in csv.reader(text) if any(cell.strip() for cell in row)), [])
    except (UnicodeDecodeError, csv.Error):
        return False
    names = [cell.strip().replace(" ", "") for cell in header]
    value, noise = (_observed(column, domain) for column in (VALUE, NOISE))
    known = {*_labels(domain), value, noise}
    return value in names or (named and (not names or known.issuperset(names)))


def _observed(column: str, domain: Domain) -> str:
    """The name of the column with what was observed; no variable has it."""
    while column in domain.measures:
        column = f"observed_{column}"
    return column


def _labels(domain: Domain) -> list[str]:
    """The names of all entries, without blanks."""
    return [entry.replace(" ", "") for entry in domain.entries]


def _check_inside(path: Path, label: str, cells: list[float], domain: Domain, column: int) -> None:
    low, high = (side[column].item() for side in domain.bounds)
    slack = ROUNDING * max(abs(low), abs(high))
    for row, cell in enumerate(cells, start=1):
        if not low - slack <= cell <= high + slack:
            raise InputError(
                f"{path}, row {row}: {label} = {cell:g} lies outside "
                f"[{low:g}, {high:g}], where the solution was trained."
            )


def _cells(path: Path) -> list[list[str]]:
    try:
        text = io.StringIO(read_regular(path).decode("utf-8-sig"), newline="")
        rows = [row for row in csv.reader(text) if any(cell.strip() for cell in row)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} is not a CSV file in UTF-8.") from error
    if len(rows) < 2:
        raise InputError(f"{path} holds no observations; expected a header and rows of numbers.")
    return [[cell.strip().replace(" ", "") for cell in rows[0]], *rows[1:]]


def _check_header(path: Path, header: list[str], domain: Domain, value: str, noise: str) -> None:
    labels = _labels(domain)
    if unknown := [name for name in header if name not in (*labels, value, noise)]:
        expected = ", ".join([*labels, value, noise] if len(labels) <= 12 else [*domain.measures])
        raise InputError(f"{path} has a column {unknown[0]!r}; expected some of: {expected}.")
    if doubled := [name for name in header if header.count(name) > 1]:
        raise InputError(f"{path} has the column {doubled[0]!r} twice.")
    if value not in header:
        raise InputError(f"{path} has no column {value!r}, the observed numbers.")


def _columns(path: Path, header: list[str], rows: list[list[str]]) -> Mapping[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in header}
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise InputError(
                f"{path}, row {number}: {len(row)} cells, but the header has {len(header)}."
            )
        for name, cell in zip(header, row, strict=True):
            found[name].append(_number(path, number, name, cell))
    return found


def _number(path: Path, row: int, name: str, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{path}, row {row}: {name} is {cell.strip()!r}, not a finite number.")
    return value
