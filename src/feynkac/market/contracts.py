"""Maturity, strike and type from names of contracts, such as AAPL270319C00160000.

OCC:      root, year, month, day, C or P, thousandths of the strike
Deribit:  BTC-19MAR27-60000-C
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from feynkac.market.cells import parse_date
from feynkac.market.columns import LEVELS, TIMES, Role, names_contracts, role_of
from feynkac.market.layouts import constants
from feynkac.market.sheet import Sheet

OCC = re.compile(r"[A-Z.]{1,6}\d?\s*(\d{6})([CP])(\d{8})")
DERIBIT = re.compile(r"[A-Z_]+-(\d{1,2}[A-Z]{3}\d{2})-(\d+(?:d\d+)?)-([CP])")


def with_contracts(sheet: Sheet, given: Mapping[Role, str]) -> Sheet:
    """The sheet with what it lacks: maturities, strikes and types that names of contracts tell.

    Unchanged if it has maturities, or no column in which all names are those of contracts.
    """
    known = {role_of(name) for name in sheet.header} | {*given} | {*constants(sheet)}
    if known & {*TIMES}:
        return sheet
    for name in filter(names_contracts, sheet.header):
        told = [parse_contract(cell) if cell else {} for cell in sheet.column(name)]
        if not any(told) or None in told:
            continue
        needed = [Role.MATURITY, *([] if known & {*LEVELS} else [Role.STRIKE])]
        needed += [] if Role.TYPE in known else [Role.TYPE]
        new = [[cells.get(role, "") for role in needed] for cells in told if cells is not None]
        rows = [[*row, *cells] for row, cells in zip(sheet.rows, new, strict=True)]
        header = [*sheet.header, *(role.value for role in needed)]
        note = f"{name} tells the {', '.join(needed)}."
        return replace(sheet, header=header, rows=rows, notes=[*sheet.notes, note])
    return sheet


def parse_contract(name: str) -> dict[Role, str] | None:
    """Maturity, strike and type, or None.

    Example:
        >>> list(parse_contract("AAPL270319C00162500").values())
        ['2027-03-19', '162.5', 'C']
        >>> list(parse_contract("BTC-19MAR27-60000-P").values())
        ['2027-03-19', '60000', 'P']
    """
    if match := OCC.fullmatch(name.strip()):
        day, side, strike = match[1], match[2], f"{int(match[3]) / 1000:.10g}"
        maturity = parse_date(f"20{day}")
    elif match := DERIBIT.fullmatch(name.strip()):
        side, strike = match[3], match[2].replace("d", ".")
        maturity = parse_date(match[1])
    else:
        return None
    cells = {Role.STRIKE: strike, Role.TYPE: side}
    return None if maturity is None else {Role.MATURITY: maturity.isoformat(), **cells}
