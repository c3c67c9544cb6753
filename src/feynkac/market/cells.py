"""Cells of a sheet as people write them: 4,468.17 · 4.468,17 · 25 % · 3M · 19-Mar-2027.

Whether a comma separates decimals is one decision for a whole sheet (`decimal_mark`), and so is
whether 03/04/2027 is in April (`day_first`). What is in doubt is told to the caller, who says it.
"""

import math
import re
from collections.abc import Iterable
from datetime import date, datetime

DAYS_PER_YEAR = 365.0
NOTHING = {"", "-", "--", "–", "—", ".", "?", "na", "n/a", "#n/a", "nan", "null", "none", "nil"}
CALLS, PUTS = ("c", "call", "calls", "ce"), ("p", "put", "puts", "pe")
YES, NO = ("true", "yes", "y", "1", "1.0"), ("false", "no", "n", "0", "0.0")
CODES = "usd|eur|gbp|gbx|chf|jpy|inr|cny|hkd|aud|cad|sek|nok|dkk|pln|brl|krw|sgd|zar"
CURRENCY = re.compile(rf"[\s$€£¥₹₩₺₽]|^(?:{CODES})(?![a-z])|(?<=[\d\s])(?:{CODES})$", re.I)
"""Around an amount; blanks too."""
UNITS = {"y": 1.0, "m": 1.0 / 12.0, "w": 7.0 / DAYS_PER_YEAR, "d": 1.0 / DAYS_PER_YEAR}
"""Years in a year, a month, a week, a day."""
TENOR = re.compile(
    r"(\d+(?:[.,]\d+)?)\s*"
    r"(jahr(?:en?)?|monat(?:en?)?|wochen?|tag(?:en?)?|ann?(?:ée)?s?|mois|semaines?|jours?"
    r"|y(?:ears?|rs?)?|m(?:onths?|on?s?|ths?)?|w(?:eeks?|ks?)?|d(?:ays?)?)\s*",
    re.IGNORECASE,
)
OTHER_WORDS = {"ja": "y", "an": "y", "se": "w", "ta": "d", "jo": "d"}
"""How a year, a week and a day begin in German and French."""
CLOCK = r"(?:[T, ]+\d{1,2}(?::\d.*|\s*[ap]m)?)?"
"""A time of day, with or without its zone."""
ISO = re.compile(rf"(\d{{4}})[-/.](\d{{1,2}})[-/.](\d{{1,2}}){CLOCK}", re.IGNORECASE)
NUMERIC = re.compile(rf"(\d{{1,2}})[-/.](\d{{1,2}})[-/.](\d{{4}}|\d{{2}}){CLOCK}", re.IGNORECASE)
WEEKDAY = re.compile(r"^(mon|tue|wed|thu|fri|sat|sun)[a-z]* ", re.IGNORECASE)
WORDED = ("%d %b %Y", "%b %d %Y", "%d %b %y", "%b %d %y", "%d%b%y", "%d%b%Y")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
OTHER_MONTHS = {"jän": "jan", "mrz": "mar", "mär": "mar", "mai": "may", "okt": "oct", "dez": "dec"}
OTHER_MONTHS |= {"fév": "feb", "avr": "apr", "juin": "jun", "juil": "jul", "aoû": "aug"}
OTHER_MONTHS |= {"déc": "dec", "ene": "jan", "abr": "apr", "ago": "aug", "dic": "dec"}
OTHER_MONTHS |= {"gen": "jan", "mag": "may", "giu": "jun", "lug": "jul", "set": "sep", "ott": "oct"}
"""How months begin in German, French, Spanish and Italian."""
DECIMAL = re.compile(r"[-+]?\d*([.,])(\d+)")


def is_nothing(text: str) -> bool:
    """Whether a cell is empty or says that there is nothing.

    Example:
        >>> is_nothing(" n/a "), is_nothing("0")
        (True, False)
    """
    return text.strip().lower() in NOTHING


def decimal_mark(cells: Iterable[str], by_semicolons: bool = False) -> str:
    """The comma if these cells can only mean that, else the point.

    Args:
        cells: of the whole sheet.
        by_semicolons: whether they separate the cells; then the point of 4.500 is for thousands.

    Example:
        >>> decimal_mark(["4.500", "0,25"]), decimal_mark(["4,500", "0.25"])
        (',', '.')
        >>> decimal_mark(["4500,000"]), decimal_mark(["4.500", "21"], by_semicolons=True)
        (',', ',')
    """
    votes, doubtful = {",": 0, ".": 0}, {",": 0, ".": 0}
    for cell in cells:
        text = CURRENCY.sub("", cell.strip()).replace("%", "")
        if "," in text and "." in text:
            votes["," if text.rindex(",") > text.rindex(".") else "."] += 1
        elif match := DECIMAL.fullmatch(text):
            (votes if _is_decimal(text, match[2]) else doubtful)[match[1]] += 1
    if by_semicolons and not any(votes.values()) and doubtful["."] > doubtful[","]:
        return ","
    return "," if votes[","] > votes["."] else "."


def _is_decimal(text: str, digits: str) -> bool:
    """Whether the mark before these last digits cannot separate thousands."""
    bare = text.lstrip("+-")
    return len(digits) != 3 or bare[0] in "0.," or len(bare) > len("999.999")


def parse_number(text: str, decimal: str = ".") -> float:
    """A finite number, a percentage as a fraction, or NaN.

    Example:
        >>> parse_number("4,468.17"), parse_number("4.468,17", ","), parse_number("25 %")
        (4468.17, 4468.17, 0.25)
        >>> parse_number("USD 4,468"), parse_number("12,5 EUR", ","), parse_number("abc")
        (4468.0, 12.5, nan)
    """
    plain = re.sub(r"[_'’]", "", CURRENCY.sub("", text.strip())).replace("−", "-")
    if plain.endswith("%"):
        return parse_number(plain[:-1], decimal) / 100.0
    if plain.startswith("(") and plain.endswith(")"):
        return -parse_number(plain[1:-1], decimal)
    thousands = "." if decimal == "," else ","
    if re.fullmatch(rf"[-+]?[1-9]\d{{0,2}}(\{thousands}\d{{3}})+(\{decimal}\d*)?", plain):
        plain = plain.replace(thousands, "")
    try:
        value = float(plain.replace(",", "."))
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def is_percentage(text: str) -> bool:
    """Whether a cell has a percent sign.

    Example:
        >>> is_percentage("25 %")
        True
    """
    return text.strip().endswith("%")


def option_sides(cells: Iterable[str], name: str = "") -> list[str | None]:
    """call, put or None for each cell of a column of types, in any wording.

    Where all are 1 or −1, the latter are puts; where the name asks for one side, yes and no answer.

    Example:
        >>> option_sides(["C", "European put", "stock"]), option_sides(["1", "-1"])
        (['call', 'put', None], ['call', 'put'])
        >>> option_sides(["True", "0"], "is put")
        ['put', 'call']
    """
    words = [cell.strip().lower() for cell in cells]
    asked = re.fullmatch(r"is\W*(call|put)", name.strip().lower())
    other = {"call": "put", "put": "call"}
    if asked:
        return [asked[1] if w in YES else other[asked[1]] if w in NO else None for w in words]
    signs = [parse_number(word) for word in words]
    if {*signs} == {1.0, -1.0} and name != "side":  # of a trade
        return ["call" if sign > 0.0 else "put" for sign in signs]
    return [_side(word) for word in words]


def _side(word: str) -> str | None:
    """One side, if the word names no other."""
    if word in CALLS or word in PUTS:
        return "call" if word in CALLS else "put"
    named = {*re.findall(r"(?<![a-z])(call|put)", word)}
    return named.pop() if len(named) == 1 else None


def day_first(cells: Iterable[str]) -> bool | None:
    """Whether numeric dates begin with the day; None if these cells do not tell.

    Example:
        >>> day_first(["03/04/2027", "19/03/2027"]), day_first(["03/04/2027"]) is None
        (True, True)
    """
    for cell in cells:
        if match := NUMERIC.fullmatch(cell.strip()):
            if int(match[1]) > 12:
                return True
            if int(match[2]) > 12:
                return False
    return None


def day_first_by_weekday(cells: Iterable[str]) -> bool | None:
    """The same, if only one order has all numeric dates on working days.

    Example:
        >>> day_first_by_weekday(["02/05/2027", "03/05/2027"])  # Fridays; 2 May is a Sunday
        False
    """
    numeric = [cell for cell in cells if NUMERIC.fullmatch(cell.strip())]
    orders = [
        by_day
        for by_day in (True, False)
        if all((day := parse_date(cell, by_day)) and day.weekday() < 5 for cell in numeric)
    ]
    return orders[0] if numeric and len(orders) == 1 else None


def parse_date(text: str, by_day: bool = True) -> date | None:
    """A date in one of the usual forms, or None.

    Args:
        text: such as 2027-03-19, 19.03.2027, 19-Mar-27, March 19, 2027 or 20270319.
        by_day: whether numeric dates begin with the day; with points they always do.

    Example:
        >>> parse_date("19-Mar-2027"), parse_date("03/19/2027", by_day=False)
        (datetime.date(2027, 3, 19), datetime.date(2027, 3, 19))
    """
    text = text.strip()
    if match := ISO.fullmatch(text):
        return _date(*(int(part) for part in match.groups()))
    if re.fullmatch(r"(19|20)\d{6}(\.0)?", text):
        return _date(int(text[:4]), int(text[4:6]), int(text[6:8]))
    if match := NUMERIC.fullmatch(text):
        first, second, year = (int(part) for part in match.groups())
        year += 2000 if year < 100 else 0
        return _date(year, second, first) if by_day or "." in text else _date(year, first, second)
    text = re.sub(r"[T, ]+\d{1,2}:\d.*$", "", text)
    words = re.sub(WEEKDAY, "", re.sub(r"[\s,./'’-]+", " ", text))
    words = re.sub(r"[^\W\d_]{3,}", lambda word: _english_month(word[0]), words)
    for form in WORDED:
        try:
            return datetime.strptime(words, form).date()
        except ValueError:
            continue
    return None


def _english_month(word: str) -> str:
    """A month's name in three letters; another word as it is."""
    low = word.lower()
    found = OTHER_MONTHS.get(low[:4]) or OTHER_MONTHS.get(low[:3])
    return found or (low[:3] if low[:3] in MONTHS else word)


def is_date(text: str) -> bool:
    """Whether a cell is a date, in any order of day and month.

    Example:
        >>> is_date("01/15/2027"), is_date("15/01/2027"), is_date("0.25")
        (True, True, False)
    """
    return parse_date(text) is not None or parse_date(text, by_day=False) is not None


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def parse_tenor(text: str) -> float:
    """Years in 3M, 2W, 10 days or 1Y6M, or NaN.

    Example:
        >>> parse_tenor("3M"), parse_tenor("1y6m"), parse_tenor("0.25")
        (0.25, 1.5, nan)
    """
    parts = TENOR.findall(text.strip())
    if not parts or TENOR.sub("", text.strip()):
        return math.nan
    units = [OTHER_WORDS.get(word[:2].lower(), word[0].lower()) for _, word in parts]
    numbers = [float(n.replace(",", ".")) for n, _ in parts]
    return sum(n * UNITS[unit] for n, unit in zip(numbers, units, strict=True))
