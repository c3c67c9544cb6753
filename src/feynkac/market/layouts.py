"""Other layouts as a list of quotes, one per row.

matrix:   strikes down and maturities across, or the other way round
chain:    call bid, call ask, strike, put bid, put ask
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median

from feynkac.market.cells import parse_date, parse_number, parse_tenor
from feynkac.market.columns import LEVELS, TIMES, Role, is_place, plain, role_of, side_of
from feynkac.market.sheet import Sheet

PER_COLUMN = (Role.RATE, Role.FORWARD, Role.DIVIDEND, Role.DISCOUNT, Role.SPOT)
"""What a labelled row of a matrix can hold, one number per maturity."""
HIGHEST_VOLATILITY = 3.0
"""Larger numbers in a matrix are percentages, or prices."""


def from_matrix(sheet: Sheet, value: Role | None) -> Sheet:
    """One row per cell.

    Args:
        sheet: its header is a corner, then maturities (or strikes).
        value: what the cells are; by default volatilities.
    """
    across, down, note = _axes(sheet)
    what = value or Role.VOLATILITY
    columns = [(i, cell) for i, cell in enumerate(sheet.header) if i and is_place(cell)]
    extra = {role: row for row in sheet.rows if (role := role_of(row[0])) in PER_COLUMN and role}
    rows, numbers = [], []
    for number, row in zip(sheet.numbers, sheet.rows, strict=True):
        if row in list(extra.values()):
            continue
        for i, cell in columns:
            rows.append([row[0], cell, row[i], *(values[i] for values in extra.values())])
            numbers.append(number)
    said = "" if value else f"; the cells are taken as {what} (`values=price` for prices)"
    notes = [*sheet.notes, f"a matrix: {note}{said}."]
    header = [down.value, across.value, what.value, *(role.value for role in extra)]
    return replace(sheet, header=header, rows=rows, numbers=numbers, notes=notes)


def _axes(sheet: Sheet) -> tuple[Role, Role, str]:
    """What runs across and what runs down."""
    across = [cell for cell in sheet.header[1:] if is_place(cell)]
    down = [row[0] for row in sheet.rows if is_place(row[0])]
    corner = [role_of(word) for word in re.split(r"[\\/|]| by | x ", sheet.header[0].lower())]
    told = {role for role in corner if role and role in (*TIMES, *LEVELS)}
    times = next((role for role in corner if role in TIMES), Role.MATURITY)
    levels = next((role for role in corner if role in LEVELS), None)
    if _times_are_across(across, down, sheet, told):
        level = levels or _level(down, sheet.decimal)
        return times, level, f"{level} down, maturity across"
    level = levels or _level(across, sheet.decimal)
    return level, times, f"maturity down, {level} across"


def _times_are_across(
    across: Sequence[str], down: Sequence[str], sheet: Sheet, told: set[Role]
) -> bool:
    if any(_is_time(cell) for cell in across):
        return True
    if any(_is_time(cell) for cell in down):
        return False
    first = role_of(re.split(r"[\\/|]", sheet.header[0])[0])
    if told and first in (*LEVELS, *TIMES):
        return first in LEVELS
    sizes = [median(parse_number(cell, sheet.decimal) for cell in side) for side in (across, down)]
    return sizes[0] <= sizes[1]


def _is_time(cell: str) -> bool:
    tenor = parse_tenor(cell)
    return parse_date(cell) is not None or tenor == tenor


def _level(cells: Sequence[str], decimal: str) -> Role:
    """A strike; moneyness where all are near 1, or percentages."""
    if all(cell.endswith("%") for cell in cells):
        return Role.MONEYNESS
    return Role.STRIKE


def from_chain(sheet: Sheet) -> Sheet:
    """Two rows per row: one for the call, one for the put."""
    sides = {name: found for name in sheet.header if (found := side_of(name))}
    if not sides:
        return sheet
    common = [name for name in sheet.header if name not in sides]
    roles = list(dict.fromkeys(role for _, role in sides.values()))
    rows, numbers = [], []
    for number, row in zip(sheet.numbers, sheet.rows, strict=True):
        cell = dict(zip(sheet.header, row, strict=True))
        for side in dict.fromkeys(side for side, _ in sides.values()):
            own = {role: cell[name] for name, (s, role) in sides.items() if s == side}
            rows.append([*(cell[n] for n in common), side, *(own.get(r, "") for r in roles)])
            numbers.append(number)
    header = [*common, Role.TYPE.value, *(role.value for role in roles)]
    notes = [*sheet.notes, "calls and puts stand side by side."]
    return replace(sheet, header=header, rows=rows, numbers=numbers, notes=notes)


def constants(sheet: Sheet) -> dict[Role, str]:
    """What stands above the header, by role."""
    return {role: cell for name, cell in sheet.above.items() if (role := role_of(name))}


Layout = Callable[[Sheet], Sheet]


def is_matrix(sheet: Sheet) -> bool:
    """Whether the header is that of a matrix."""
    rest = [cell for cell in sheet.header[1:] if not re.fullmatch(r"column \d+", cell)]
    corner = plain(sheet.header[0])
    return len(rest) > 1 and not is_place(corner) and all(is_place(cell) for cell in rest)
