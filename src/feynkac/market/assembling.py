"""From a list of text cells to numbers: units are guessed and said, bad rows dropped and said."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

import numpy as np

from feynkac.errors import InputError
from feynkac.market.cells import (
    DAYS_PER_YEAR,
    UNITS,
    day_first,
    is_nothing,
    is_percentage,
    parse_date,
    parse_number,
    parse_tenor,
)
from feynkac.market.columns import TIMES, Role
from feynkac.market.quotes import Array, Bools, Dropped
from feynkac.market.sheet import Sheet

MOST_YEARS = 60.0
"""Plain numbers of a maturity beyond are days."""
HIGHEST_VOLATILITY = 3.0
"""A median beyond is in percent."""
HIGHEST_RATE = 0.5
"""Likewise of rates, dividends and yields."""
UNIT_OF = {Role.YEARS: "y", Role.MONTHS: "m", Role.WEEKS: "w", Role.DAYS: "d"}
CALLS, PUTS = ("c", "call", "calls", "ce"), ("p", "put", "puts", "pe")


@dataclass
class Table:
    """The columns of a sheet as numbers, and what was found on the way."""

    sheet: Sheet
    columns: Mapping[Role, str]
    given: Mapping[Role, float | str]
    """For all rows, from options or from above the header."""
    notes: list[str] = field(default_factory=list)
    reasons: dict[int, str] = field(default_factory=dict)
    """Of rows that are dropped, by position."""

    def __len__(self) -> int:
        return len(self.sheet.rows)

    def has(self, role: Role) -> bool:
        """Whether there is a column or a value for all rows."""
        return role in self.columns or role in self.given

    @property
    def usable(self) -> Bools:
        """Which rows are not dropped."""
        keep = np.ones(len(self), dtype=bool)
        keep[list(self.reasons)] = False
        return keep

    def drop(self, bad: Bools, reason: Sequence[str] | str) -> None:
        """Drop rows, unless they are dropped already."""
        for i in np.flatnonzero(bad):
            self.reasons.setdefault(int(i), reason if isinstance(reason, str) else reason[int(i)])

    def cells(self, role: Role) -> list[str]:
        """The text of a column, or the same for all rows."""
        if role in self.columns:
            return self.sheet.column(self.columns[role])
        return [str(self.given[role])] * len(self)

    def numbers(self, role: Role, needed: bool = True) -> Array:
        """A column as numbers; where `needed`, rows without one are dropped."""
        cells = self.cells(role)
        decimal = (
            self.sheet.decimal if role in self.columns or isinstance(self.given[role], str) else "."
        )
        values = np.array([parse_number(cell, decimal) for cell in cells])
        if needed:
            name = self.columns.get(role, role.value)
            said = [
                f"{name} is empty" if is_nothing(c) else f"{name} is {c!r}, not a number"
                for c in cells
            ]
            self.drop(np.isnan(values), said)
        return values

    def fractions(self, role: Role, highest: float, needed: bool = True) -> Array:
        """A volatility or a rate, divided by 100 if it is written in percent."""
        values = self.numbers(role, needed)
        name = self.columns.get(role, role.value)
        signs = [is_percentage(cell) for cell in self.cells(role)]
        if any(signs):
            bare = ~np.array(signs) & np.isfinite(values)
            return np.where(bare & (np.abs(values) > highest), values / 100.0, values)
        size = np.nanmedian(np.abs(values)) if np.isfinite(values).any() else 0.0
        marked = "%" in name or "percent" in name.lower() or "pct" in name.lower()
        if marked or size > highest:
            self.notes.append(f"{name}: read as percentages.")
            return values / 100.0
        if role in self.columns:
            self.notes.append(f"{name}: read as fractions.")
        return values

    def times(self) -> Array:
        """Years to maturity."""
        role = next((role for role in TIMES if role in self.columns), None)
        if role is None:
            raise self.missing("the maturity", "maturity", "EXPIRY")
        cells = self.cells(role)
        if role is not Role.MATURITY:
            years = self.numbers(role) * UNITS[UNIT_OF[role]]
        else:
            years = self._mixed_times(cells)
        name = self.columns[role]
        bad = [
            f"{name} is empty" if is_nothing(c) else f"{name} is {c!r}, no maturity" for c in cells
        ]
        self.drop(np.isnan(years), bad)
        self.drop(years <= 0.0, [f"{name} {c} has expired" for c in cells])
        return years

    def _mixed_times(self, cells: Sequence[str]) -> Array:
        """Dates, tenors, or numbers whose unit is guessed."""
        by_day = self._day_first(cells)
        dates = [parse_date(cell, by_day) for cell in cells]
        if any(dates):
            start = self._valuation(by_day)
            pairs = zip(dates, start, strict=True)
            return np.array(
                [(d - s).days / DAYS_PER_YEAR if d and s else math.nan for d, s in pairs]
            )
        tenors = np.array([parse_tenor(cell) for cell in cells])
        numbers = np.array([parse_number(cell, self.sheet.decimal) for cell in cells])
        if np.isfinite(numbers).any():
            unit, name = ("d", "days") if np.nanmax(numbers) > MOST_YEARS else ("y", "years")
            self.notes.append(f"{self.columns[Role.MATURITY]}: plain numbers are {name}.")
            numbers = numbers * UNITS[unit]
        return np.where(np.isfinite(tenors), tenors, numbers)

    def _day_first(self, cells: Sequence[str]) -> bool:
        told = day_first(cells)
        slashes = any("/" in cell and parse_date(cell) for cell in cells)
        if told is None and slashes and not any(cell.strip()[:4].isdigit() for cell in cells):
            self.notes.append("dates such as 03/04/2027 are read as day/month/year.")
        return told is not False

    def _valuation(self, by_day: bool) -> list[date | None]:
        """The day of the quotes, row by row."""
        if not self.has(Role.DATE):
            raise InputError(
                f"{self.sheet.name} has dates of expiry, but says not of which day its quotes are; "
                "add `date=2027-01-31`, or a column `quote date`."
            )
        cells = self.cells(Role.DATE)
        days = [parse_date(cell, by_day) for cell in cells]
        name = self.columns.get(Role.DATE, "date")
        self.drop(
            np.array([day is None for day in days]), [f"{name} is {c!r}, not a date" for c in cells]
        )
        if not any(days):
            raise InputError(f"{cells[0]!r} is not a date; expected one such as 2027-01-31.")
        return days

    def missing(self, what: str, role: str, name: str, advice: str = "") -> InputError:
        """An error that says which column there is not, and what there is."""
        return InputError(
            f"{self.sheet.name} has no column for {what}; it has: {', '.join(self.sheet.header)}. "
            f"{advice}Name it, as in `columns={{{role!r}: {name!r}}}`."
        )

    def dropped(self) -> list[Dropped]:
        """What is not used, in the order of the sheet."""
        return [Dropped(self.sheet.numbers[i], self.reasons[i]) for i in sorted(self.reasons)]
