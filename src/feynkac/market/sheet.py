"""A file, or a data frame, as a table of text cells: header, rows, and what stands above them.

Encoding and separator are found; lines above the header such as `Spot; 4468.17` become constants.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from feynkac.errors import InputError
from feynkac.market.cells import decimal_mark, is_date, is_nothing, parse_number
from feynkac.market.columns import SIDES, TIMES, VALUES, Role, plain, role_of

SEPARATORS = ",;\t|"
BINARY = {b"PK\x03\x04": "an Excel workbook", b"\xd0\xcf\x11\xe0": "an Excel workbook"}
MOST_LINES_ABOVE = 30
Line = tuple[int, list[str]]
"""A line's number in the file, from 1, and its cells."""


@dataclass(frozen=True)
class Sheet:
    """Text cells below a header.

    Example:
        >>> Sheet("quotes", ["strike", "mid"], [["100", "4.2"]], [2]).header
        ['strike', 'mid']
    """

    name: str
    """Of the file, for messages."""
    header: list[str]
    rows: list[list[str]]
    """As long as the header each."""
    numbers: list[int]
    """The line of each row in the file, from 1."""
    above: Mapping[str, str] = field(default_factory=dict)
    """What stands above the header, by its label."""
    decimal: str = "."
    notes: list[str] = field(default_factory=list)

    def column(self, name: str) -> list[str]:
        """The cells of one column."""
        place = self.header.index(name)
        return [row[place] for row in self.rows]


def read_sheet(name: str, raw: bytes, is_header: Callable[[Sequence[str]], bool]) -> Sheet:
    """Read a text file.

    Args:
        name: of the file, for messages.
        raw: comma, semicolon, tab or bar separated, in UTF-8, UTF-16 or Latin 1; or JSON.
        is_header: tells the header from lines above it.

    Raises:
        InputError: it is not such a file, or has no header with rows below it.
    """
    text, notes = _decode(name, raw)
    if (found := _from_json(text)) is not None:
        return replace(sheet_of_frame(found), name=name)
    tries = {mark: _cut(name, text, mark, is_header) for mark in _separators(text)}
    separator = next((mark for mark, each in tries.items() if each[2] is not None), SEPARATORS[0])
    kept, comments, first = tries[separator]
    if not kept:
        raise InputError(f"{name} is empty; expected a header and rows of quotes.")
    if first is None:
        shown = ", ".join(repr(cell) for cell in kept[0][1][:8])
        raise InputError(
            f"{name} has no header that names a strike or a maturity beside a price, a volatility "
            f"or a yield; its first line has {shown}. Name the columns, as in "
            "`columns={'strike': 'K'}`."
        )
    if first:
        notes.append(f"the header is in line {kept[first][0]}.")
    lines_above = [*comments, *kept[:first]]
    above = dict(pair for _, row in lines_above if (pair := _labelled(row)))
    header = _with_sides(kept[first - 1][1] if first else [], kept[first][1])
    lines = _in_sections(sorted([*comments, *kept]), kept[first][0])
    if lines:
        notes.append("maturities stand in lines between the quotes.")
        header = [*header, Role.MATURITY.value]
    return make_sheet(name, header, lines or kept[first + 1 :], above, notes, separator == ";")


def _in_sections(lines: Sequence[Line], start: int) -> list[Line]:
    """Rows below the header in line `start`, each with the maturity in a line above it.

    Empty if no line between the rows, such as `Expiry: 2027-06-18`, holds nothing but a maturity.
    """
    header = next(row for number, row in lines if number == start)
    if {role_of(name) for name in header} & {*TIMES}:
        return []
    found: list[Line] = []
    now, between = "", False
    for number, row in lines:
        if (maturity := _section(row)) is not None:
            now, between = maturity, between or bool(found)
        elif number > start and row != header and not _is_comment(row):
            found.append((number, [*row[: len(header)], *[""] * (len(header) - len(row)), now]))
    return found if between else []


def _section(row: Sequence[str]) -> str | None:
    """The maturity in a line that holds nothing else."""
    label, value = _labelled(row) or ("", "")
    if role_of(label) in (Role.MATURITY, Role.DAYS):
        return f"{value} days" if role_of(label) is Role.DAYS else value
    cells = [cell.lstrip("# ") for cell in row if cell]
    return cells[0] if len(cells) == 1 and is_date(cells[0]) else None


def _with_sides(above: Sequence[str], header: Sequence[str]) -> list[str]:
    """`Strike, Bid, Bid` below `, Calls, Puts` as `Strike, call Bid, put Bid`.

    Unchanged unless the same prices and volatilities stand below both words.
    """
    side, found = None, list(header)
    names: dict[str | None, list[str]] = {"call": [], "put": [], None: []}
    for i, name in enumerate(header):
        cell = above[i] if i < len(above) else ""
        side = SIDES.get(plain(cell)) if cell else side
        if role_of(name) in VALUES:
            names[side].append(plain(name))
            found[i] = f"{side} {name}"
    whole = not names[None] and sorted(names["call"]) == sorted(names["put"])
    return found if whole else list(header)


def _cut(
    name: str, text: str, separator: str, is_header: Callable[[Sequence[str]], bool]
) -> tuple[list[Line], list[Line], int | None]:
    """Lines with their numbers in the file, comments, and where among the lines the header is."""
    try:
        cells = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error as error:
        raise InputError(f"{name} is not a table: {error}.") from error
    lines = [(n, [cell.strip() for cell in row]) for n, row in enumerate(cells, start=1)]
    full = [(n, row) for n, row in lines if any(row)]
    kept = [(n, row) for n, row in full if not _is_comment(row) or is_header(row)]
    comments = [(n, row) for n, row in full if _is_comment(row) and not is_header(row)]
    beginning = enumerate(kept[:MOST_LINES_ABOVE])
    return kept, comments, next((i for i, (_, row) in beginning if is_header(row)), None)


def make_sheet(
    name: str,
    header: Sequence[str],
    lines: Sequence[tuple[int, Sequence[str]]],
    above: Mapping[str, str],
    notes: list[str],
    by_semicolons: bool = False,
) -> Sheet:
    """With rows as long as the header and a decimal mark."""
    while (
        header and not header[-1] and all(len(row) < len(header) or not row[-1] for _, row in lines)
    ):
        header = header[:-1]
    header = [_without_count(cell, header) for cell in header]
    named = _distinct([cell or f"column {i + 1}" for i, cell in enumerate(header)])
    width = len(named)
    rows = [[*row[:width], *[""] * (width - len(row))] for _, row in lines]
    cells = [cell for row in [*rows, list(above.values())] for cell in row]
    decimal = decimal_mark(cells, by_semicolons)
    if decimal == ",":
        notes = [*notes, "commas separate decimals."]
    return Sheet(name, named, rows, [number for number, _ in lines], above, decimal, notes)


def sheet_of_frame(frame: Any) -> Sheet:
    """The cells of a pandas, polars or Arrow table, a mapping of columns, or a list of mappings.

    What the index of a pandas frame names are columns too.

    Example:
        >>> sheet_of_frame({"strike": [90, 100], "mid": [11.0, None]}).rows
        [['90', '11.0'], ['100', '']]
    """
    columns = _columns(frame)
    header = [str(name) for name in columns]
    cells = [[_text(value) for value in values] for values in columns.values()]
    lengths = {len(column) for column in cells}
    if len(lengths) != 1 or not min(lengths):
        raise InputError(f"the columns of a table must have one length, got {sorted(lengths)}.")
    rows = [(i, list(row)) for i, row in enumerate(zip(*cells, strict=True), start=1)]
    return make_sheet("the table", header, rows, {}, [])


def _from_json(text: str) -> Any:
    """Objects, one per row, also one per line or beside values for all rows; or columns by name.

    None if it is not JSON.
    """
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        try:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            return None
    if isinstance(found, Mapping):
        rows = {n: v for n, v in found.items() if isinstance(v, list) and v and _is_row(v[0])}
        shared = {name: v for name, v in found.items() if _is_single(v)}
        if len(rows) == 1:
            return [shared | row for row in next(iter(rows.values()))]
        if rows and all(name in SIDES for name in rows):
            sides = ((SIDES[name], row) for name, each in rows.items() for row in each)
            return [{**shared, **row, Role.TYPE.value: side} for side, row in sides]
        return {n: list(v.values()) if isinstance(v, dict) else v for n, v in found.items()}
    return found


def _is_row(value: Any) -> bool:
    return isinstance(value, dict)


def _columns(frame: Any) -> dict[Any, list[Any]]:
    if isinstance(frame, Mapping):
        single = {name for name, values in frame.items() if _is_single(values)}
        lists = {name: list(frame[name]) for name in frame if name not in single}
        rows = max((len(values) for values in lists.values()), default=1)
        return {name: lists.get(name, [frame[name]] * rows) for name in frame}
    if isinstance(frame, Sequence) and frame and isinstance(frame[0], Mapping):
        names = dict.fromkeys(name for row in frame for name in row)
        return {name: [row.get(name) for row in frame] for name in names}
    try:
        index = getattr(getattr(frame, "index", None), "names", ())
        whole = frame.reset_index() if any(name is not None for name in index) else frame
        names = getattr(whole, "column_names", None) or whole.columns
        return {name: list(whole[name]) for name in names}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"expected a path, a data frame, or columns by name; got {type(frame).__name__}."
        ) from error


def _is_single(values: Any) -> bool:
    """Whether it is one value for all rows: a word is no list of letters."""
    several = isinstance(values, Iterable) and not isinstance(values, str)
    return not several or not getattr(values, "ndim", 1)


def _text(value: Any) -> str:
    if value is None:
        return ""
    text = str(value)
    return "" if text in ("nan", "NaT", "<NA>", "None") else text


def _decode(name: str, raw: bytes) -> tuple[str, list[str]]:
    for start, what in BINARY.items():
        if raw.startswith(start):
            raise InputError(f"{name} is {what}; save the sheet as CSV.")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", errors="replace"), []
    if b"\x00" in raw:
        raise InputError(f"{name} is not a text file; expected a CSV file.")
    try:
        return raw.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace"), [
            "the file is not in UTF-8; read as Latin 1."
        ]


def _separators(text: str) -> list[str]:
    """First the one that cuts most lines into the same number of cells, at least two."""
    lines = [line for line in text.splitlines()[:200] if line.strip()]

    def agreement(separator: str) -> tuple[int, int]:
        try:
            widths = Counter(len(row) for row in csv.reader(lines, delimiter=separator))
        except csv.Error:  # which `_cut` says
            return 0, 0
        widths.pop(1, None)
        return max(((count, width) for width, count in widths.items()), default=(0, 0))

    return sorted(SEPARATORS, key=agreement, reverse=True)


def _is_comment(row: Sequence[str]) -> bool:
    first = next(cell for cell in row if cell)
    return first.startswith("#") and not first.lower().startswith(
        ("#n/a", "#value", "#ref", "#div")
    )


def _labelled(row: Sequence[str]) -> tuple[str, str] | None:
    """`Spot: 4468.17` or `Spot; 4468.17`."""
    cells = [cell for cell in (cell.lstrip("# ") for cell in row) if cell]
    if len(cells) == 1:
        label, mark, value = cells[0].partition(":" if ":" in cells[0] else "=")
        return (label.strip(), value.strip()) if mark and value.strip() else None
    return (cells[0].rstrip(":= "), cells[1]) if len(cells) == 2 else None


def _without_count(name: str, names: Sequence[str]) -> str:
    """`bid` for pandas' `bid.1` where there is a `bid`."""
    first, _, count = name.rpartition(".")
    counted = first and count.isdigit() and first in names and not is_number(first)
    return first if counted else name


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, a second `bid` as `bid (2)`."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def is_volume(sheet: Sheet, name: str) -> bool:
    """Whether `Vol`, with nothing but whole numbers, is what was traded.

    Example:
        >>> is_volume(Sheet("quotes", ["Bid", "Vol"], [["4.2", "1,520"]], [2]), "Vol")
        True
    """
    cells = [cell for cell in sheet.column(name) if is_number(cell, sheet.decimal)]
    priced = any("bid" in plain(n) or role_of(n) is Role.PRICE for n in sheet.header)
    whole = all(re.fullmatch(r"\d{1,3}([.,' ]?\d{3})*|\d+(\.0)?", cell) for cell in cells)
    return "vol" in plain(name).split() and priced and whole


def is_number(cell: str, decimal: str = ".") -> bool:
    """Whether a cell is a number.

    Example:
        >>> is_number("4,500"), is_number("strike")
        (True, False)
    """
    value = parse_number(cell, decimal)
    return not is_nothing(cell) and value == value
