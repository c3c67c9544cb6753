"""What the columns of a sheet mean, guessed from their names.

A role has synonyms, the best first. Upper case, blanks, underscores and units in brackets do not
matter. Users override a guess by naming the column of a role.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum

from feynkac.errors import InputError
from feynkac.market.cells import is_date, parse_number, parse_tenor


class Role(StrEnum):
    """What a column can mean.

    Example:
        >>> Role("strike") is Role.STRIKE
        True
    """

    STRIKE = "strike"
    MONEYNESS = "moneyness"
    LOG_MONEYNESS = "log-moneyness"
    MATURITY = "maturity"
    YEARS = "years"
    MONTHS = "months"
    WEEKS = "weeks"
    DAYS = "days"
    TYPE = "type"
    PRICE = "price"
    BID = "bid"
    ASK = "ask"
    VOLATILITY = "volatility"
    BID_VOLATILITY = "bid-volatility"
    ASK_VOLATILITY = "ask-volatility"
    YIELD = "yield"
    SPOT = "spot"
    FORWARD = "forward"
    RATE = "rate"
    DIVIDEND = "dividend"
    DISCOUNT = "discount"
    DATE = "date"


R = Role
SYNONYMS: Mapping[Role, Sequence[str]] = {
    R.STRIKE: (
        "strike",
        "strike price",
        "k",
        "exercise price",
        "strikes",
        "strk",
        "strike px",
        "basispreis",
        *("strike level", "opt strike px", "ausübungspreis", "prix d exercice"),
        *("precio de ejercicio", "prezzo di esercizio", "uitoefenprijs"),
    ),
    R.MONEYNESS: (
        "moneyness",
        "k s",
        "k f",
        "strike spot",
        "strike forward",
        "relative strike",
        "s k",
        "f k",
    ),
    R.LOG_MONEYNESS: ("log moneyness", "log strike", "ln k f", "log k f", "logmoneyness"),
    R.MATURITY: (
        *("maturity", "expiry", "expiration", "expiration date", "expiry date", "maturity date"),
        *("expire date", "exp date", "exdate", "exp", "tenor", "term", "ttm", "tte", "t", "tau"),
        *("time to maturity", "time to expiry", "time to expiration", "laufzeit", "verfall"),
        *("fälligkeit", "expir", "échéance", "vencimiento", "time"),
        *("verfallstag", "verfallsdatum", "verfalltermin", "restlaufzeit", "scadenza", "maturité"),
        *("last trading day", "expiration day", "opt expire dt", "expiries"),
    ),
    R.YEARS: ("years", "maturity years", "years to maturity", "years to expiry", "yte", "year"),
    R.MONTHS: ("months", "maturity months", "months to maturity", "months to expiry"),
    R.WEEKS: ("weeks", "maturity weeks", "weeks to maturity", "weeks to expiry"),
    R.DAYS: (
        *("days", "dte", "days to expiry", "days to expiration", "days to maturity", "days to exp"),
        *("maturity days", "expiry days", "tage", "day"),
    ),
    R.TYPE: (
        *("type", "option type", "cp", "c p", "call put", "cp flag", "put call", "putcall"),
        *("callput", "call put flag", "c p flag", "p c", "pc flag", "contract type", "opt type"),
        *("right", "optiontype", "is call", "is put", "flag", "kind", "class", "side"),
        *("typ", "tipo", "optionstyp", "opt put call"),
    ),
    R.PRICE: (
        *("mid", "mid price", "midprice", "mark", "mark price", "price", "option price"),
        *("market price", "premium", "settle", "settlement", "settlement price", "close"),
        *(
            "price mid",
            "price last",
            "last",
            "last price",
            "lastprice",
            "bond price",
            "zero bond",
            "zcb",
            *("preis", "kurs", "mittelkurs", "abrechnungspreis", "px mid", "px last", "prix"),
            *("precio", "prezzo", "mid px", "last px", "mid quote", "midpoint"),
        ),
    ),
    R.BID: (
        "bid",
        "bid price",
        "price bid",
        "best bid",
        "bid px",
        "px bid",
        "geld",
        "geldkurs",
        "bidprice",
    ),
    R.ASK: (
        *("ask", "ask price", "price ask", "best ask", "best offer", "offer", "price offer"),
        *("ask px", "px ask", "asked", "brief", "briefkurs", "askprice"),
    ),
    R.VOLATILITY: (
        *("implied volatility", "implied vol", "iv", "mid iv", "mid vol", "iv mid", "vol mid"),
        *("mark iv", "impl volatility", "impl vol", "implied volatility mid", "implied vol mid"),
        *("impliedvolatility", "volatility", "vol", "impvol", "imp vol", "sigma", "black vol"),
        *("market vol", "vola", "implizite volatilität", "volatilität", "ivol mid"),
        *("implizite vola", "impl vola", "volatilité", "volatilité implicite", "volatilidad"),
        *("volatilidad implícita", "volatilità", "volatilità implicita", "ivm"),
    ),
    R.BID_VOLATILITY: (
        *("bid iv", "bid vol", "iv bid", "vol bid", "bid implied volatility"),
        *("volatility bid", "ivol bid"),
        *("implied volatility bid", "implied vol bid", "bid implied vol", "bid volatility"),
    ),
    R.ASK_VOLATILITY: (
        *("ask iv", "ask vol", "iv ask", "vol ask", "ask implied volatility"),
        *("volatility ask", "ivol ask"),
        *("implied volatility ask", "implied vol ask", "ask implied vol", "ask volatility"),
    ),
    R.YIELD: (
        *("zero yield", "zero rate", "yield", "spot rate", "zero", "zero coupon yield"),
        *("zero coupon rate", "yield to maturity", "ytm", "par yield", "rendite"),
        *("taux zéro coupon",),
    ),
    R.SPOT: (
        *("spot", "s", "s0", "spot price", "underlying", "underlying price", "underlying last"),
        *("stock price", "underlying close", "index level", "x", "opt undl px", "und price"),
    ),
    R.FORWARD: (
        "forward",
        "fwd",
        "f",
        "forward price",
        "future",
        "futures",
        "futures price",
        *("underlying future", "future price", "implied forward", "implied fwd", "fwd price"),
        *("atm forward", "forward level", "ifwd", "underlying forward"),
        "terminkurs",
    ),
    R.RATE: (
        *("rate", "r", "risk free rate", "riskfree rate", "risk free", "interest rate"),
        *("interest", "zins", "zinssatz", "ois rate", "ois", "implied rate", "funding rate"),
        *("sofr", "estr", "libor", "risk free interest rate", "rf"),
    ),
    R.DIVIDEND: (
        *("dividend", "q", "dividend yield", "div", "div yield", "dividends", "implied dividend"),
        *("implied dividend yield", "implied div", "implied div yield", "dvd yield", "idiv"),
    ),
    R.DISCOUNT: ("discount factor", "discount", "df", "disc", "p 0 t"),
    R.DATE: (
        *("quote date", "valuation date", "as of", "as of date", "asof", "pricing date"),
        *("trade date", "valuation", "quote readtime", "date", "datum", "stichtag"),
        *("trading date", "observation date", "snapshot date", "data date", "handelstag"),
        *("quote timestamp", "quote datetime", "quote time", "timestamp", "datetime", "date time"),
    ),
}
TIMES = (R.MATURITY, R.YEARS, R.MONTHS, R.WEEKS, R.DAYS)
LEVELS = (R.STRIKE, R.MONEYNESS, R.LOG_MONEYNESS)
VALUES = (R.PRICE, R.BID, R.ASK, R.VOLATILITY, R.BID_VOLATILITY, R.ASK_VOLATILITY, R.YIELD)
CARRY = (R.RATE, R.FORWARD, R.DIVIDEND, R.DISCOUNT, R.SPOT)
"""What may stand beside the cells of a matrix, one number per maturity."""
CURVES = {R.YIELD, R.DISCOUNT}
"""Beside these a date is a maturity, if nothing else is."""
CONTRACTS = {"contract name", "contract symbol", "instrument name", "option symbol", "contract"}
CONTRACTS |= {"symbol", "osi", "osi key", "option", "instrument", "contract id"}
"""Columns whose cells may tell maturity, strike and type."""
SIDES = {"call": "call", "calls": "call", "c": "call", "put": "put", "puts": "put", "p": "put"}
SIDES |= {"ce": "call", "pe": "put"}
TOLD = "bid|ask|offer|mid|last|calls?|puts?"
"""What a bracket behind a price or a volatility may say of it."""
UNITS = {"years": R.YEARS, "year": R.YEARS, "y": R.YEARS, "yrs": R.YEARS, "months": R.MONTHS}
UNITS |= {"days": R.DAYS, "day": R.DAYS, "d": R.DAYS, "m": R.MONTHS, "weeks": R.WEEKS}
UNITS |= {"yr": R.YEARS, "month": R.MONTHS, "mths": R.MONTHS, "mo": R.MONTHS, "mos": R.MONTHS}
UNITS |= {"week": R.WEEKS, "wks": R.WEEKS, "w": R.WEEKS}
"""What a bracket behind a time means."""


def plain(name: str) -> str:
    """A name without case, units in brackets and punctuation.

    Example:
        >>> plain("Implied_Vol (%)"), plain("daysToExpiry"), plain("IV (bid)")
        ('implied vol', 'days to expiry', 'iv bid')
    """
    inner = re.sub(r"^\s*[\[(](.*)[\])]\s*$", r"\1", name)
    inner = re.sub(rf"[\[(]\s*({TOLD})\s*[\])]", r" \1", inner, flags=re.IGNORECASE)
    bare = re.sub(r"\(.*?\)|\[.*?\]|%", " ", inner)
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", bare)
    return " ".join(re.findall(r"[^\W_]+", spaced.lower()))


def role_of(name: str) -> Role | None:
    """The role that a name means, if any.

    Example:
        >>> role_of("Expiry Date"), role_of("T (days)"), role_of("volume") is None
        (<Role.MATURITY: 'maturity'>, <Role.DAYS: 'days'>, True)
    """
    found = next((role for role, names in SYNONYMS.items() if plain(name) in names), None)
    unit = re.search(r"[(\[]\s*(?:in )?([a-z]+)\s*[)\]]", name.lower())
    return UNITS.get(unit[1], found) if found is R.MATURITY and unit else found


def side_of(name: str) -> tuple[str, Role] | None:
    """call or put, and what of it, for columns such as `Call Bid` and `IV (put)`.

    Example:
        >>> side_of("C_BID"), side_of("bid") is None
        (('call', <Role.BID: 'bid'>), True)
    """
    for side, rest in _sides(name):
        if (role := role_of(rest)) in VALUES and role:
            return side, role
    return None


def _sides(name: str) -> list[tuple[str, str]]:
    """call or put before or behind a name, and the rest of it."""
    first, *words = plain(name).split() or [""]
    *most, last = [first, *words]
    parts = ((first, " ".join(words)), (last, " ".join(most)))
    return [(SIDES[word], rest) for word, rest in parts if word in SIDES]


def sides(header: Sequence[str]) -> dict[str, tuple[str, Role]]:
    """Which columns are of calls and which of puts; `Call` beside `Put` are prices.

    Example:
        >>> [side for side, _ in sides(["K", "Call", "Put"]).values()], sides(["K", "Put"])
        (['call', 'put'], {})
    """
    found = {name: side for name in header if (side := side_of(name))}
    alone = {SIDES[plain(n)]: n for n in header if plain(n) in SIDES and len(plain(n)) > 1}
    if len(alone) == 2:
        found |= {name: (side, R.PRICE) for side, name in sorted(alone.items())}
    return found


def guess(header: Sequence[str], given: Mapping[Role, str]) -> dict[Role, str]:
    """The column of each role: the given one, or the best synonym.

    Where a time or a level is given, no other column is guessed to be one.

    Raises:
        InputError: a given column does not exist.

    Example:
        >>> guess(["K", "Last", "Mid"], {})[Role.PRICE]
        'Mid'
    """
    for role, name in given.items():
        if name not in header:
            raise InputError(
                f"there is no column {name!r} for the {role}; there are: {', '.join(header)}."
            )
    found = dict(given)
    settled = {role for group in (TIMES, LEVELS) if given.keys() & {*group} for role in group}
    rest = [name for name in header if name not in given.values()]
    for name in sorted(rest, key=rank):
        meant = role_of(name)
        if meant is not None and meant not in {*found, *settled}:
            found[meant] = name
    if not found.keys() & {*TIMES, *LEVELS} and found.keys() & CURVES and R.DATE in found:
        found[R.MATURITY] = found.pop(R.DATE)
    return found


def rank(name: str) -> int:
    """How good a synonym the name is, also of a call's or put's."""
    for words in (plain(name), *(rest for _, rest in _sides(name))):
        if (role := role_of(words)) and words in SYNONYMS[role]:
            return SYNONYMS[role].index(words)
    return 0


def is_long_header(cells: Sequence[str], given: Mapping[Role, str]) -> bool:
    """Whether a line names a strike or a maturity, and something to fit."""
    roles = {role_of(cell) for cell in cells} | {r for r, name in given.items() if name in cells}
    where, what = {*TIMES, *LEVELS}, {*VALUES, R.RATE, R.DISCOUNT}
    named = sides(cells) if all(cells) else [c for c in cells if side_of(c)]  # no title of a chain
    dated = R.DATE in roles and bool(roles & CURVES)
    placed = bool(roles & where) or any(map(names_contracts, cells))
    return dated or (placed and bool(roles & what or named))


def names_contracts(name: str) -> bool:
    """Whether a column may name contracts.

    Example:
        >>> names_contracts("contractSymbol")
        True
    """
    return plain(name) in CONTRACTS


def is_matrix_header(cells: Sequence[str]) -> bool:
    """Whether all cells but the first are maturities or strikes, or rates and the like.

    Example:
        >>> is_matrix_header(["strike", "3M", "6M"]), is_matrix_header(["strike", "3M", "bid"])
        (True, False)
    """
    rest = [cell for cell in cells[1:] if cell and role_of(cell) not in CARRY]
    return len(rest) > 1 and not is_place(cells[0]) and all(is_place(cell) for cell in rest)


def is_place(cell: str) -> bool:
    """Whether a cell is a number, a date or a tenor."""
    if is_date(cell):
        return True
    number, tenor = parse_number(cell), parse_tenor(cell)
    return number == number or tenor == tenor
