"""A quote sheet as people have it: `read_quotes("quotes.csv", spot=4468.17)`."""

from collections.abc import Mapping
from datetime import date as Day  # noqa: N812  (the argument is called date)
from pathlib import Path
from typing import Any

from feynkac.errors import InputError
from feynkac.market.assembling import HIGHEST_RATE, Table
from feynkac.market.bonds_table import bond_quotes, is_curve
from feynkac.market.cells import CALLS, PUTS, option_sides
from feynkac.market.columns import (
    CARRY,
    LEVELS,
    TIMES,
    Role,
    guess,
    is_long_header,
    is_matrix_header,
    is_place,
    plain,
    role_of,
)
from feynkac.market.contracts import with_contracts
from feynkac.market.layouts import constants, from_chain, from_matrix, is_matrix
from feynkac.market.options_table import option_quotes
from feynkac.market.quotes import Quotes, Reading
from feynkac.market.sheet import Sheet, is_number, is_volume, read_sheet, sheet_of_frame

MOST_NAMED = 5
SIDES = {*CALLS, *PUTS}
ASSETS = (
    "underlying",
    "underlying symbol",
    "underlier",
    "symbol",
    "ticker",
    "asset",
    "stock",
    "root",
)


def read_quotes(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    spot: float | None = None,
    forward: float | None = None,
    rate: float | None = None,
    dividend: float | None = None,
    date: str | Day | None = None,
    values: str | None = None,
) -> Quotes:
    """Quotes of options, or of zero-coupon bonds if there are no strikes.

    The columns, units and layout are guessed. What was guessed, and which rows were dropped for
    which reason, is in `quotes.reading`.

    Args:
        source: a CSV file or its path, a data frame, or columns by name.
        columns: the column of a role, where the guess is wrong: `{"strike": "K"}`. Roles are those
            of `Role`.
        spot: price of the asset, if there is no column.
        forward: its forward price for all maturities.
        rate: continuously compounded.
        dividend: dividend yield, likewise.
        date: the day of the quotes, where maturities are dates, or where there are several days.
        values: price or volatility, where there are both, or for the cells of a matrix.

    Example:
        >>> import feynkac as fk
        >>> sheet = {"K": [95, 105], "Expiry": ["2027-07-31"] * 2}
        >>> sheet |= {"Bid": [7.1, 2.2], "Ask": [7.0, 2.4]}
        >>> quotes = fk.read_quotes(sheet, spot=100, rate=0.02, date="2027-01-31")
        >>> len(quotes), [str(each) for each in quotes.reading.dropped]
        (1, ['row 1: crossed: bid 7.1 exceeds ask 7'])
    """
    roles = _roles(columns or {})
    wanted = _value_role(values)
    sheet = _sheet(source, roles)
    if not sheet.rows:
        raise InputError(f"{sheet.name} has a header, but no quotes below it.")
    if is_matrix(sheet):
        sheet = from_matrix(sheet, wanted, None if date is None else str(date))
    sheet = with_contracts(from_chain(sheet), roles)
    found = _guessed(sheet, roles)
    _require_one_asset(sheet, found)
    options = {Role.SPOT: spot, Role.FORWARD: forward, Role.RATE: rate, Role.DIVIDEND: dividend}
    given = _given(sheet, found, options, date)
    table = Table(sheet, found, given)
    reading = Reading({r.value: found[r] for r in Role if r in found}, table.notes)
    quotes = (
        bond_quotes(table, reading) if is_curve(table) else option_quotes(table, wanted, reading)
    )
    table.notes[:0] = sheet.notes
    if unused := [name for name in sheet.header if name and name not in found.values()]:
        more = f" and {len(unused) - MOST_NAMED} more" if len(unused) > MOST_NAMED else ""
        table.notes.append(f"not used: {', '.join(unused[:MOST_NAMED])}{more}.")
    reading.dropped.extend(table.dropped())
    if not len(quotes):
        raise InputError(f"{sheet.name} has no quote that can be used: {_first(reading)}.")
    return quotes


def _guessed(sheet: Sheet, roles: Mapping[Role, str]) -> dict[Role, str]:
    """By names, unless the cells say otherwise; a type is known by its cells alone."""
    names = [name for name in sheet.header if name in roles.values() or not _is_other(sheet, name)]
    found = guess(names, roles)
    for other in (name for name in sheet.header if name not in names):
        if role_of(other) is Role.TYPE and (cell := next(filter(None, sheet.column(other)), "")):
            sheet.notes.append(f"{other} tells no calls from puts ({cell!r}): it is not used.")
    if Role.TYPE not in found:
        rest = (name for name in sheet.header if name not in found.values())
        if name := next((name for name in rest if _words(sheet, name) <= SIDES), None):
            found[Role.TYPE] = name
    for name in sheet.header:
        if name.endswith("(2)") and role_of(name) in found and name not in found.values():
            sheet.notes.append(f"{name.removesuffix(' (2)')} is there twice: the first counts.")
    return found


def _require_one_asset(sheet: Sheet, columns: Mapping[Role, str]) -> None:
    """Refuse options on several assets; SPX and SPXW are one."""
    level = next((columns[role] for role in LEVELS if role in columns), None)
    if level is None:
        return
    for name in (name for name in sheet.header if plain(name) in ASSETS):
        cells = zip(sheet.column(name), sheet.column(level), strict=True)
        words = sorted({word.upper() for word, k in cells if word and is_number(k, sheet.decimal)})
        if any(letter.isdigit() for word in words for letter in word):
            continue  # names of contracts, or a price
        roots = [word for word in words if not any(word.startswith(w) for w in words if w != word)]
        if len(roots) > 1:
            raise InputError(
                f"{sheet.name} has quotes of several assets "
                f"({name}: {', '.join(roots[:MOST_NAMED])}); keep the rows of one."
            )


def _is_other(sheet: Sheet, name: str) -> bool:
    """Words where a number must be, no word for a call or a put among the types, or a volume."""
    role = role_of(name)
    if role is Role.TYPE:
        return not any(option_sides(sheet.column(name), plain(name)))
    if role is Role.VOLATILITY:
        return is_volume(sheet, name)
    if role is Role.MATURITY and any(role_of(n) in TIMES for n in sheet.header if n != name):
        return not any(is_place(cell) for cell in sheet.column(name))  # the time of day, say
    return role in CARRY and not any(is_number(c, sheet.decimal) for c in sheet.column(name))


def _words(sheet: Sheet, name: str) -> set[str]:
    """What stands in a column, or one word that means nothing."""
    return {cell.strip().lower() for cell in sheet.column(name)} - {""} or {"nothing"}


def _first(reading: Reading) -> str:
    shown = "; ".join(str(each) for each in reading.dropped[:MOST_NAMED])
    more = len(reading.dropped) - MOST_NAMED
    return shown + (f"; and {more} more" if more > 0 else "")


def _roles(columns: Mapping[str, str]) -> dict[Role, str]:
    known = ", ".join(role.value for role in Role)
    for name in columns:
        if name not in list(Role):
            raise InputError(f"a column cannot be the {name!r}; expected one of: {known}.")
    return {Role(name): column for name, column in columns.items()}


def _value_role(values: str | None) -> Role | None:
    if values not in (None, "price", "volatility"):
        raise InputError(f"values are of the kind price or volatility, not {values!r}.")
    return None if values is None else Role(values)


def _sheet(source: Any, roles: Mapping[Role, str]) -> Sheet:
    if callable(getattr(source, "read", None)):
        name, content = str(getattr(source, "name", "the sheet")), source.read()
        raw = content.encode() if isinstance(content, str) else content
    elif isinstance(source, str | Path):
        path = Path(source)
        if not path.is_file():
            raise InputError(f"there is no file {path}.")
        name, raw = str(path), path.read_bytes()
    else:
        return sheet_of_frame(source)
    return read_sheet(name, raw, lambda row: is_long_header(row, roles) or is_matrix_header(row))


def _given(
    sheet: Sheet,
    columns: Mapping[Role, str],
    options: Mapping[Role, float | None],
    date: str | Day | None,
) -> dict[Role, float | str]:
    """Values for all rows: options, and what stands above the header."""
    found: dict[Role, float | str] = {**constants(sheet)}
    told = {role: value for role, value in options.items() if value is not None}
    for role, value in told.items():
        if role in columns:
            raise InputError(f"{sheet.name} has a column {columns[role]!r}; omit {role}={value:g}.")
        if role in (Role.RATE, Role.DIVIDEND) and abs(value) > HIGHEST_RATE:
            raise InputError(
                f"{role} = {value:g} is a fraction: write {value / 100:g} for {value:g} %."
            )
    found |= told
    if date is not None:
        found[Role.DATE] = str(date)
    elif Role.DATE in columns:
        found.pop(Role.DATE, None)
    return found
