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
from feynkac.market.cells import (
    day_first,
    day_first_by_weekday,
    is_date,
    option_sides,
    parse_date,
    parse_number,
    parse_tenor,
)
from feynkac.market.columns import (
    CARRY,
    LEVELS,
    TIMES,
    VALUES,
    Role,
    is_matrix_header,
    is_place,
    plain,
    rank,
    role_of,
    sides,
)
from feynkac.market.sheet import Sheet, is_number, is_volume


def from_matrix(sheet: Sheet, value: Role | None, day: str | None = None) -> Sheet:
    """One row per cell.

    Args:
        sheet: its header is a corner, then maturities (or strikes).
        value: what the cells are; by default volatilities.
        day: which row counts, where each is a curve of another day; by default the latest.
    """
    _require_named(sheet)
    across = [cell for cell in sheet.header[1:] if is_place(cell)]
    if role_of(sheet.header[0]) is Role.DATE and value is None and all(map(_is_time, across)):
        return _from_days(sheet, day)
    horizontal, vertical, note = _axes(sheet)
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
    header = [vertical.value, horizontal.value, what.value, *carry]
    return replace(sheet, header=header, rows=rows, numbers=numbers, notes=notes)


def _from_days(sheet: Sheet, wanted: str | None) -> Sheet:
    """The yields of one day, where each row is a day and each column a maturity."""
    cells = [row[0] for row in sheet.rows]
    told = day_first([*cells, wanted or ""])
    first = bool(day_first_by_weekday(cells) if told is None else told)
    known = {day: i for i, cell in enumerate(cells) if (day := parse_date(cell, first))}
    if not known:
        raise InputError(f"{sheet.name}: {sheet.header[0]} has no date that can be read.")
    day = parse_date(wanted, first) if wanted else max(known)
    if day not in known:
        raise InputError(
            f"{sheet.name} has no curve of {wanted}: {sheet.header[0]} is {min(known)} to "
            f"{max(known)}."
        )
    columns = list(zip(sheet.header, sheet.rows[known[day]], strict=True))
    rows = [[name, cell] for name, cell in columns[1:] if is_place(name) and cell.strip()]
    older = " the latest of the days;" if len(known) > 1 and not wanted else ""
    note = f"a curve of {day.isoformat()}:{older} the cells are taken as zero yields."
    return replace(
        sheet,
        header=[Role.MATURITY.value, Role.YIELD.value],
        rows=rows,
        numbers=[sheet.numbers[known[day]]] * len(rows),
        notes=[*sheet.notes, note],
    )


def _require_named(sheet: Sheet) -> None:
    """Refuse bid and ask side by side, below a maturity that is there twice or once for both."""
    for name in sheet.header[1:]:
        unnamed = re.fullmatch(r"column \d+", name)
        again = re.fullmatch(r"(.+) \(\d+\)", name)
        full = any(is_number(cell, sheet.decimal) for cell in sheet.column(name))
        if full and (unnamed or (again and is_place(again[1]))):
            what = "no name" if unnamed else f"the same name as another, {again[1]!r}"  # type: ignore[index]
            raise InputError(
                f"{sheet.name}: column {sheet.header.index(name) + 1} of the matrix has {what}; "
                "write one quote per row, with columns such as bid iv and ask iv."
            )


def _axes(sheet: Sheet) -> tuple[Role, Role, str]:
    """What runs across and what runs down."""
    across = [cell for cell in sheet.header[1:] if is_place(cell)]
    down = [row[0] for row in sheet.rows if is_place(row[0])]
    if "delta" in plain(sheet.header[0]).split():
        raise InputError(f"{sheet.name}: deltas are not read; give strikes or moneyness.")
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
    if down and all(_is_time(cell) for cell in (*across, *down)):
        raise InputError(
            f"{sheet.name}: the rows and the columns of the matrix are times, such as {down[0]!r} "
            f"and {across[0]!r}; deltas are not read, and of a curve one maturity per row."
        )
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
    return is_date(cell) or tenor == tenor


def _level(cells: Sequence[str], decimal: str) -> Role:
    """A strike; moneyness where all are near 1, or percentages."""
    if all(cell.endswith("%") for cell in cells):
        return Role.MONEYNESS
    return Role.STRIKE


def from_chain(sheet: Sheet) -> Sheet:
    """Two rows per row: one for the call, one for the put."""
    named = {
        name: side
        for name, side in sides(sheet.header).items()
        if any(is_number(cell, sheet.decimal) for cell in sheet.column(name))
        and not is_volume(sheet, name)
    }
    found = named or _left_and_right(sheet)
    if not found:
        return sheet
    common = [name for name in sheet.header if name not in found]
    worst_first = sorted(found, key=rank, reverse=True)  # the best name of a role is what stays
    roles = list(dict.fromkeys(role for _, role in found.values()))
    rows, numbers = [], []
    for number, row in zip(sheet.numbers, sheet.rows, strict=True):
        cell = dict(zip(sheet.header, row, strict=True))
        for side in dict.fromkeys(side for side, _ in found.values()):
            own = {found[name][1]: cell[name] for name in worst_first if found[name][0] == side}
            rows.append([*(cell[n] for n in common), side, *(own.get(r, "") for r in roles)])
            numbers.append(number)
    header = [*common, Role.TYPE.value, *(role.value for role in roles)]
    notes = [*sheet.notes, "calls and puts stand side by side."]
    return replace(sheet, header=header, rows=rows, numbers=numbers, notes=notes)


def _left_and_right(sheet: Sheet) -> dict[str, tuple[str, Role]]:
    """Calls left and puts right of the strike, under the same names; empty if it is not so.

    Both may also have the strike, the same in each row.
    """
    header = sheet.header
    levels = [i for i, name in enumerate(header) if role_of(name) in LEVELS]
    again = len(levels) == 2 and all(row[levels[0]] == row[levels[1]] for row in sheet.rows)
    if len(levels) != 1 and not again:
        return {}
    cut = levels[-1] if again and levels[0] == 0 else levels[0] + 1
    parts = {"call": header[:cut], "put": header[cut:]}
    found = {
        side: {name: (side, role) for name in names if (role := role_of(name)) in VALUES and role}
        for side, names in parts.items()
    }
    calls, puts = ({plain(name) for name in found[side]} for side in parts)
    both = {**found["call"], **found["put"]}
    return {name: each for name, each in both.items() if plain(name) in calls & puts}


def constants(sheet: Sheet) -> dict[Role, str]:
    """What stands above the header, by role; words where a number must be are none of them."""
    meant = {role: cell for name, cell in sheet.above.items() if (role := role_of(name))}
    return {
        role: cell
        for role, cell in meant.items()
        if (role not in CARRY or is_number(cell, sheet.decimal))
        and (role is not Role.TYPE or option_sides([cell])[0])
    }


def is_matrix(sheet: Sheet) -> bool:
    """Whether the header is that of a matrix."""
    rest = [name for name in sheet.header[1:] if not re.fullmatch(r"column \d+", name)]
    rest = [re.sub(r" \(\d+\)$", "", name) for name in rest]
    return is_matrix_header([sheet.header[0], *rest])
