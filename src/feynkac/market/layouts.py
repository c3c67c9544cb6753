"""Other layouts as a list of quotes, one per row.

matrix:   strikes down and maturities across, or the other way round
chain:    call bid, call ask, strike, put bid, put ask
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from feynkac.errors import InputError
from feynkac.market.assembling import MOST_YEARS
from feynkac.market.cells import parse_date, parse_number, parse_tenor
from feynkac.market.columns import (
    CARRY,
    LEVELS,
    TIMES,
    VALUES,
    Role,
    is_matrix_header,
    is_place,
    role_of,
    side_of,
)
from feynkac.market.sheet import Sheet, is_number


def from_matrix(sheet: Sheet, value: Role | None) -> Sheet:
    """One row per cell.

    Args:
        sheet: its header is a corner, then maturities (or strikes).
        value: what the cells are; by default volatilities.
    """
    across, down, note = _axes(sheet)
    what = value or Role.VOLATILITY
    columns = [(i, cell) for i, cell in enumerate(sheet.header) if i and is_place(cell)]
    beside = {i: role for i, cell in enumerate(sheet.header) if (role := role_of(cell)) in CARRY}
    extra = {role: row for row in sheet.rows if (role := role_of(row[0])) in CARRY and role}
    rows, numbers = [], []
    for number, row in zip(sheet.numbers, sheet.rows, strict=True):
        if row in list(extra.values()):
            continue
        for i, cell in columns:
            carried = [row[j] for j in beside] + [values[i] for values in extra.values()]
            rows.append([row[0], cell, row[i], *carried])
            numbers.append(number)
    said = "" if value else f"; the cells are taken as {what} (`values=price` for prices)"
    notes = [*sheet.notes, f"a matrix: {note}{said}."]
    carry = [role.value for role in (*beside.values(), *extra) if role]
    header = [down.value, across.value, what.value, *carry]
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
    sides = [[parse_number(cell, sheet.decimal) for cell in side] for side in (across, down)]
    if all(sides):
        small, large = sorted(sides, key=median)
        if max(small) < min(large) and max(large) > MOST_YEARS:
            return sides[0] is small
    raise InputError(f"{sheet.name}: write strike or maturity into the corner of the matrix.")


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
    sides = sides or _left_and_right(sheet.header)
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


def _left_and_right(header: Sequence[str]) -> dict[str, tuple[str, Role]]:
    """Calls left and puts right of the strike, under the same names; empty if it is not so."""
    levels = [i for i, name in enumerate(header) if role_of(name) in LEVELS]
    if len(levels) != 1:
        return {}
    parts = {"call": header[: levels[0]], "put": header[levels[0] + 1 :]}
    found = {
        side: {name: (side, role) for name in names if (role := role_of(name)) in VALUES and role}
        for side, names in parts.items()
    }
    roles = [sorted(role for _, role in each.values()) for each in found.values()]
    return {**found["call"], **found["put"]} if roles[0] == roles[1] else {}


def constants(sheet: Sheet) -> dict[Role, str]:
    """What stands above the header, by role; words where a number must be are none of them."""
    meant = {role: cell for name, cell in sheet.above.items() if (role := role_of(name))}
    return {
        role: cell
        for role, cell in meant.items()
        if role not in CARRY or is_number(cell, sheet.decimal)
    }


def is_matrix(sheet: Sheet) -> bool:
    """Whether the header is that of a matrix."""
    rest = [name for name in sheet.header[1:] if not re.fullmatch(r"column \d+", name)]
    return is_matrix_header([sheet.header[0], *rest])
