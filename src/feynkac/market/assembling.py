"""From a list of text cells to numbers: units are guessed and said, bad rows dropped and said."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

import numpy as np

from feynkac.errors import InputError
from feynkac.market.cells import (
    DAYS_PER_YEAR,
    NUMERIC,
    UNITS,
    day_first,
    day_first_by_weekday,
    is_date,
    is_nothing,
    is_percentage,
    parse_date,
    parse_number,
    parse_tenor,
)
from feynkac.market.columns import LEVELS, TIMES, Role
from feynkac.market.quotes import Array, Bools, Dropped
from feynkac.market.sheet import Sheet

MOST_YEARS = 60.0
"""Plain numbers of a maturity beyond are days."""
USUAL_YEARS = {*range(1, 11), 12, 15, 20, 25, 30, 40, 50, 60}
LONGEST = 100.0
"""Years; what is longer is no maturity."""
FIRST_DAY, SERIALS = date(1899, 12, 30), (20_000, 80_000)
"""Spreadsheets write dates as days since then."""
EPOCH, SECONDS = date(1970, 1, 1), (6e8, 4.1e9)
"""Computers count seconds, or thousandths of them and so on, since then: 1989 to 2099."""
HIGHEST_VOLATILITY = 3.0
"""A median beyond is in percent."""
HIGHEST_RATE = 0.5
"""Likewise of rates, dividends and yields."""
LIKELY_RATE, LIKELY_VOLATILITY = 0.15, 1.0
"""Fractions with a median beyond may be percentages, which is said."""
WEEKENDS = ": otherwise some would be on weekends"
UNLIKELY_YIELDS = (-0.02, 0.25, 5.0)
"""Of a curve, as fractions: a lower one, or a higher one that is so many times another."""
UNIT_OF = {Role.YEARS: "y", Role.MONTHS: "m", Role.WEEKS: "w", Role.DAYS: "d"}


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
        size = float(np.nanmedian(np.abs(values))) if np.isfinite(values).any() else 0.0
        if re.search(r"\b(bps?|basis points?)\b", name.lower()):
            if highest > 1.0:
                raise InputError(
                    f"{self.sheet.name}: {name} is in basis points, hence a normal volatility; "
                    "give prices, or Black's volatilities."
                )
            self.notes.append(f"{name}: read as basis points.")
            return values / 1e4
        marked = "%" in name or "percent" in name.lower() or "pct" in name.lower()
        curve = not {*LEVELS} & self.columns.keys()
        small = highest < 1.0 and _are_percentages(values, curve)
        if marked or size > highest or small:
            odd = role is not Role.MONEYNESS and highest > 1.0 and size < 1.0
            sign = "%" if small and np.nanmax(np.abs(values)) <= 1.0 else ""
            other = f", {size:g} is {size:g} % (write {100 * size:g}{sign} otherwise)"
            doubt = other if odd or sign else ""
            self.notes.append(f"{name}: read as percentages{doubt}.")
            if highest == HIGHEST_VOLATILITY and not odd:
                said = [f"{name} is {v:g} among percentages such as {size:g}" for v in values]
                self.drop((values > 0.0) & (values < 1.0), said)
            return values / 100.0
        if role in self.columns:
            likely = LIKELY_RATE if highest < 1.0 else LIKELY_VOLATILITY
            odd = role is not Role.MONEYNESS and size > likely
            doubt = f", {size:g} is {100 * size:g} % (write {size:g}% otherwise)" if odd else ""
            self.notes.append(f"{name}: read as fractions{doubt}.")
        return values

    def times(self) -> Array:
        """Years to maturity."""
        roles = [role for role in TIMES if role in self.columns]
        roles = roles or [role for role in TIMES if role in self.given]
        if not roles:
            raise self.missing("the maturity", "maturity", "EXPIRY")
        role, cells = roles[0], self.cells(roles[0])
        dated = role is Role.MATURITY and any(is_date(cell) for cell in cells)
        if dated and not self.has(Role.DATE) and len(roles) > 1:
            role, cells = roles[1], self.cells(roles[1])
        if role is not Role.MATURITY:
            years = self.numbers(role) * UNITS[UNIT_OF[role]]
        else:
            years = self._mixed_times(cells)
        name = self.columns.get(role, role.value)
        bad = [
            f"{name} is empty" if is_nothing(c) else f"{name} is {c!r}, no maturity" for c in cells
        ]
        self.drop(np.isnan(years) | (years > LONGEST), bad)
        self.drop(years <= 0.0, [f"{name} {c} has expired" for c in cells])
        return np.where(years <= LONGEST, years, np.nan)

    def _mixed_times(self, cells: Sequence[str]) -> Array:
        """Dates, tenors, or numbers whose unit is guessed."""
        days = self.sheet.column(self.columns[Role.DATE]) if Role.DATE in self.columns else []
        by_day = self._day_first([*cells, *days, str(self.given.get(Role.DATE, ""))])
        dates = [_day(cell, by_day) for cell in cells]
        if any(dates):
            start = self._valuation(by_day)
            pairs = zip(dates, start, strict=True)
            return np.array(
                [(d - s).days / DAYS_PER_YEAR if d and s else math.nan for d, s in pairs]
            )
        tenors = np.array([parse_tenor(cell) for cell in cells])
        numbers = np.array([parse_number(cell, self.sheet.decimal) for cell in cells])
        if np.isfinite(numbers).any():
            unit, name = ("d", "days") if self._are_days(numbers) else ("y", "years")
            column = self.columns.get(Role.MATURITY, Role.MATURITY.value)
            whole = bool((numbers[np.isfinite(numbers)] % 1.0 == 0.0).all())
            in_days = f"`columns={{'days': {column!r}}}` for days, " if unit == "y" else ""
            hint = f" ({in_days}`columns={{'months': {column!r}}}` for months)" if whole else ""
            self.notes.append(f"{column}: plain numbers are {name}{hint}.")
            numbers = numbers * UNITS[unit]
        return np.where(np.isfinite(tenors), tenors, numbers)

    def _are_days(self, numbers: Array) -> bool:
        """Beyond 60; of options also whole numbers beyond 10 that are not those of a curve."""
        known = numbers[np.isfinite(numbers)]
        if known.max() > MOST_YEARS:
            return True
        whole = bool((known == known.round()).all()) and known.max() > 10.0
        unusual = known.min() >= 5.0 or not {*known.tolist()} <= USUAL_YEARS
        return whole and unusual and bool({*LEVELS} & self.columns.keys())

    def _day_first(self, cells: Sequence[str]) -> bool:
        names = " ".join(self.columns.get(role, "") for role in (Role.MATURITY, Role.DATE)).lower()
        if order := re.search(r"(m+)\W(d+)\W|(d+)\W(m+)\W", names):
            return order[1] is None
        told = day_first(cells)
        ambiguous = [c for c in cells if NUMERIC.fullmatch(c.strip()) and "." not in c]
        if told is None and ambiguous:
            told = day_first_by_weekday(ambiguous)
            read = "month/day/year" if told is False else "day/month/year"
            why = " (write 2027-04-03 for 3 April)" if told is None else WEEKENDS
            self.notes.append(f"dates such as 03/04/2027 are read as {read}{why}.")
        return told is not False

    def _valuation(self, by_day: bool) -> list[date | None]:
        """The day of the quotes, row by row."""
        if not self.has(Role.DATE):
            raise InputError(
                f"{self.sheet.name} has dates of expiry, but says not of which day its quotes are; "
                "add `date=2027-01-31`, or a column `quote date`."
            )
        cells = self.cells(Role.DATE)
        days = [_day(cell, by_day) for cell in cells]
        name = self.columns.get(Role.DATE, "date")
        self.drop(
            np.array([day is None for day in days]), [f"{name} is {c!r}, not a date" for c in cells]
        )
        if not any(days):
            raise InputError(f"{cells[0]!r} is not a date; expected one such as 2027-01-31.")
        if Role.DATE in self.columns:
            self._choose_day(days, name, by_day)
        return days

    def _choose_day(self, days: Sequence[date | None], name: str, by_day: bool) -> None:
        """Drop rows of other days than the wanted one; there must be just one."""
        found = sorted({day for day in days if day})
        if Role.DATE in self.given:
            wanted = _day(str(self.given[Role.DATE]), by_day)
            if wanted not in found:
                raise InputError(
                    f"{self.sheet.name} has no quotes of {self.given[Role.DATE]}: {name} is "
                    f"{found[0]} to {found[-1]}."
                )
            self.drop(np.array([day != wanted for day in days]), f"{name} is not {wanted}")
        elif len(found) > 1:
            raise InputError(
                f"{self.sheet.name} has quotes of {len(found)} days, {found[0]} to {found[-1]} "
                f"({name}); choose one: `date={found[-1]}`."
            )

    def missing(self, what: str, role: str, name: str, advice: str = "") -> InputError:
        """An error that says which column there is not, and what there is."""
        return InputError(
            f"{self.sheet.name} has no column for {what}; it has: {', '.join(self.sheet.header)}. "
            f"{advice}Name it, as in `columns={{{role!r}: {name!r}}}`."
        )

    def dropped(self) -> list[Dropped]:
        """What is not used, in the order of the sheet."""
        return [Dropped(self.sheet.numbers[i], self.reasons[i]) for i in sorted(self.reasons)]


def _are_percentages(rates: Array, curve: bool) -> bool:
    """Beyond 100 %, or of a curve yields that are unlikely as fractions, such as −0.5, 0.1, 0.8."""
    known = rates[np.isfinite(rates) & (rates != 0.0)]
    if not known.size:
        return False
    lowest, high, times = UNLIKELY_YIELDS
    size = np.abs(known)
    unlikely = known.min() < lowest or (size.max() > high and size.max() > times * size.min())
    return bool(size.max() > 1.0 or (curve and unlikely))


def _day(cell: str, by_day: bool) -> date | None:
    """A date, also as a spreadsheet's number of days, or as a computer's of seconds."""
    found, number = parse_date(cell, by_day), parse_number(cell)
    if found is None and SERIALS[0] < number < SERIALS[1]:
        return FIRST_DAY + timedelta(days=int(number))
    for unit in (1.0, 1e3, 1e6, 1e9):
        if found is None and SECONDS[0] < number / unit < SECONDS[1]:
            return EPOCH + timedelta(days=int(number / unit / 86_400))
    return found
