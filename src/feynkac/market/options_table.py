r"""Option quotes from a table: levels, forwards and discounting, mid prices, and what is wrong.

F = S e^{(r − q)t},   D = e^{−rt},   parity: C − P = D (F − K).
"""

import re

import numpy as np

from feynkac.analysis.implied_volatility import black_price, black_vega, implied_volatility
from feynkac.errors import InputError
from feynkac.market.assembling import HIGHEST_RATE, HIGHEST_VOLATILITY, Table
from feynkac.market.cells import is_percentage, option_sides
from feynkac.market.columns import LEVELS, Role, plain
from feynkac.market.parity import Carry, told_carry
from feynkac.market.quotes import Array, Bools, OptionQuotes, Reading

TOLERANCE = 1e-9  # of the forward: a price below its bound by less is at it
NEAR = 0.03  # of the forward: strikes nearer do not tell calls from puts
MOST_VOLATILITY = 5.0
INVERSE = r"\b([sf]|spot|forward)\s*/\s*(k|strike)\b"
MONEYNESS = 10.0  # strikes below this at a forward of more than five times it are relative
MIDDLE = 3.0  # relative strikes beyond, or below its inverse, in the middle, are none
MOST_NEGATIVE = 0.4  # of the strikes; more of them are no strikes
FAR = 10.0  # times: strikes farther from the forward, in the middle, are in other units
DOUBTFUL = 0.2  # relative difference of volatilities that prices and the sheet give
MOST_OUTSIDE, TOO_CHEAP = 0.2, 0.01  # shares: of prices far beyond their bounds
IMPOSSIBLE = 3.0  # times: volatilities so far from those that the sheet gives
DOUBTFUL_FORWARD = 0.005  # relative difference of forwards that calls and puts give
USUAL = (0.005, 2.0)  # volatilities, in the middle
CLOSE = 0.1  # to the forward: strikes that tell it
R = Role


def option_quotes(table: Table, values: Role | None, reading: Reading) -> OptionQuotes:
    """All rows that can be used.

    Args:
        table: the sheet.
        values: whether the price or the volatility counts where there are both.
        reading: how the sheet was understood so far.
    """
    t = table.times()
    in_price = _in_price(table, values)
    middle, half = _prices(table) if in_price else _volatilities(table)
    forward, discount = _carry(table, t, middle if in_price else None)
    strike = _strikes(table, forward)
    bad = ~((strike > 0.0) & (forward > 0.0) & (discount > 0.0))
    table.drop(bad, "strike, forward and discount factor must be positive")
    _require_same_units(table, strike, forward)
    call = _calls(table, t, strike, forward, discount, middle if in_price else None)
    where = (forward, strike, t)
    if in_price:
        _check_prices(table, middle, forward, strike, discount, call)
        price = middle
        volatility = implied_volatility(price, *where, discount, call).numpy()
        table.drop(~(volatility > 0.0), "its price has no time value, hence no implied volatility")
        table.drop(volatility > MOST_VOLATILITY, _odd(volatility))
        _compare(table, volatility, values is not None)
        _compare_sides(table, price, forward, strike, t, discount, call)
    else:
        table.drop(~((middle > 0.0) & (middle <= MOST_VOLATILITY)), _odd(middle))
        volatility = middle
        price = black_price(*where, volatility, discount, call).numpy()
        half = None if half is None else half * black_vega(*where, volatility, discount).numpy()
    _drop_repeated(table, t, strike, call)
    rows = np.array(table.sheet.numbers)
    found = OptionQuotes(
        t, price, half, rows, in_price, reading, strike, forward, discount, call, volatility
    )
    return found.select(table.usable)


def _require_same_units(table: Table, strike: Array, forward: Array) -> None:
    good = table.usable & (strike > 0.0) & (forward > 0.0)
    ratio = float(np.median(strike[good] / forward[good])) if good.any() else 1.0
    if not 1.0 / FAR <= ratio <= FAR:
        name = next((table.columns[role] for role in LEVELS if role in table.columns), "K")
        relative = f"; if they are relative to the spot, `columns={{'moneyness': {name!r}}}`"
        thousandths = "; thousandths of them must be divided by 1000"
        advice = relative if ratio < 1.0 else thousandths if 300.0 < ratio < 3000.0 else ""
        raise InputError(
            f"{table.sheet.name}: strikes are about {ratio:.3g} times the forward; check the units "
            f"of strike and spot{advice}."
        )
    if good.any() and not 0.5 <= ratio <= 2.0:
        table.notes.append(
            f"strikes are about {ratio:.2g} times the forward in the middle; check the units of "
            "strike and spot."
        )


def _compare(table: Table, volatility: Array, chosen: bool) -> None:
    """A note where volatilities are odd, or the quoted ones are not those of the quoted prices.

    Prices that were not `chosen` are refused if they cannot be in the units of the spot.
    """
    known = volatility[table.usable]
    if len(known) and not USUAL[0] < (middle := float(np.median(known))) < USUAL[1]:
        table.notes.append(
            f"the prices have implied volatilities of {100 * middle:.2g} % in the middle; check "
            "the units of prices and spot."
        )
    if R.VOLATILITY not in table.columns:
        return
    quoted = table.fractions(R.VOLATILITY, HIGHEST_VOLATILITY, needed=False)
    good = table.usable & (quoted > 0.0)
    if not good.any():
        return
    ratio = volatility[good] / quoted[good]
    own, theirs = (100.0 * float(np.median(each[good])) for each in (volatility, quoted))
    said = (
        f"prices do not fit the quoted volatilities: {own:.3g} % against {theirs:.3g} % in the "
        "middle; check spot, rate, date and units, or take the volatilities (`values=volatility`)"
    )
    if not chosen and not 1.0 / IMPOSSIBLE < float(np.median(ratio)) < IMPOSSIBLE:
        raise InputError(f"{table.sheet.name}: {said}, or the prices (`values=price`).")
    if np.median(np.abs(ratio - 1.0)) > DOUBTFUL:
        table.notes.append(f"{said}.")


def _compare_sides(
    table: Table,
    price: Array,
    forward: Array,
    strike: Array,
    t: Array,
    discount: Array,
    call: Bools,
) -> None:
    """A note where calls and puts, by parity, are on another forward."""
    places = {(t[i], strike[i], bool(call[i])): i for i in np.flatnonzero(table.usable)}
    pairs = [(i, places.get((*key[:2], False))) for key, i in places.items() if key[2]]
    both = np.array([pair for pair in pairs if pair[1] is not None], dtype=int)
    both = (
        both[np.abs(strike[both[:, 0]] / forward[both[:, 0]] - 1.0) < CLOSE] if len(both) else both
    )
    if not len(both):
        return
    calls, puts = both.T
    implied = strike[calls] + (price[calls] - price[puts]) / discount[calls]
    gap = float(np.median(implied / forward[calls] - 1.0))
    if abs(gap) > DOUBTFUL_FORWARD:
        table.notes.append(
            f"calls and puts tell forwards that are {100 * gap:+.2g} % from these in the middle; "
            "check spot, rate and dividend, or give the forward."
        )


def _odd(volatility: Array) -> list[str]:
    return [f"the volatility {v:g} is not between 0 and {MOST_VOLATILITY:g}" for v in volatility]


def _told(table: Table, t: Array, price: Array | None) -> Carry | None:
    """What calls and puts tell, where the sheet has nothing but strikes and their prices."""
    said = (R.RATE, R.YIELD, R.DISCOUNT, R.FORWARD, R.DIVIDEND)
    if price is None or any(map(table.has, said)) or R.STRIKE not in table.columns:
        return None
    if R.TYPE not in table.columns:
        return None
    sides = option_sides(table.cells(R.TYPE), plain(table.columns[R.TYPE]))
    known = np.where(table.usable, price, np.nan)
    spot = float(np.nanmedian(table.numbers(R.SPOT))) if table.has(R.SPOT) else None
    found = told_carry(t, table.numbers(R.STRIKE), known, sides, spot)
    if found is not None:
        low, high = np.nanmin(found.rate), np.nanmax(found.rate)
        table.notes.append(
            "no rate is given: forwards and discount factors are those that calls and puts at "
            f"equal strikes tell (rates {100 * low:.2g} % to {100 * high:.2g} %)."
        )
    return found


def _carry(table: Table, t: Array, price: Array | None) -> tuple[Array, Array]:
    """Forward and discount factor."""
    if (told := _told(table, t, price)) is not None:
        return told.forward, np.exp(-told.rate * t)
    dividend = table.fractions(R.DIVIDEND, HIGHEST_RATE) if table.has(R.DIVIDEND) else 0.0
    if table.has(R.DISCOUNT):
        discount = table.numbers(R.DISCOUNT)
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = -np.log(discount) / t
    elif role := next((role for role in (R.RATE, R.YIELD) if table.has(role)), None):
        rate = table.fractions(role, HIGHEST_RATE)
        discount = np.exp(-rate * t)
    else:
        table.notes.append("no rate is given: 0 is taken (`rate=0.03`).")
        rate, discount = np.zeros(len(table)), np.ones(len(table))
    far = [f"the rate {100 * r:.4g} % is beyond ±100 %; check its units" for r in rate]
    table.drop(~(np.abs(rate) < 1.0), far)
    if table.has(R.FORWARD):
        return table.numbers(R.FORWARD), discount
    if not table.has(R.SPOT):
        advice = "Give `spot=100`. "
        raise table.missing("the spot or the forward price", "forward", "F", advice)
    return table.numbers(R.SPOT) * np.exp((rate - dividend) * t), discount


def _strikes(table: Table, forward: Array) -> Array:
    if R.STRIKE in table.columns:
        strike = table.numbers(R.STRIKE)
        known = np.isfinite(strike) & np.isfinite(forward)
        if not known.any():
            return strike
        level = np.median(forward[known])
        if np.mean(strike[known] <= 0.0) > MOST_NEGATIVE:
            raise _no_ratio(table, R.STRIKE, strike)
        if np.nanmax(strike, initial=0.0) < MONEYNESS and level > 5.0 * MONEYNESS:
            middle = float(np.nanmedian(strike))
            if np.nanmin(strike, initial=1.0) <= 0.0 or not 1.0 / MIDDLE < middle < MIDDLE:
                raise _no_ratio(table, R.STRIKE, strike)
            table.notes.append("strikes are small beside the forward: read as moneyness K/S.")
            return strike * _base(table, forward)
        return strike
    if R.MONEYNESS in table.columns:
        moneyness = table.fractions(R.MONEYNESS, MONEYNESS)
        if np.nanmin(moneyness, initial=1.0) <= 0.0:
            raise _no_ratio(table, R.MONEYNESS, moneyness)
        inverse = re.search(INVERSE, table.columns[R.MONEYNESS].lower())
        if inverse:
            of = "spot" if inverse[1].startswith("s") else "forward"
            table.notes.append(f"moneyness is {of} / strike.")
            return (_base(table, forward) if of == "spot" else forward) / moneyness
        if plain(table.columns[R.MONEYNESS]) in ("k f", "strike forward"):
            table.notes.append("moneyness is strike / forward.")
            return moneyness * forward
        of = "spot" if table.has(R.SPOT) else "forward"
        table.notes.append(f"moneyness is strike / {of}.")
        return moneyness * _base(table, forward)
    if R.LOG_MONEYNESS in table.columns:
        table.notes.append("log-moneyness is ln(strike / forward).")
        return np.asarray(np.exp(table.numbers(R.LOG_MONEYNESS)) * forward)
    delta = any(name.lower() == "delta" for name in table.sheet.header)
    advice = "Deltas are not read. " if delta else ""
    raise table.missing("the strike", "strike", "K", advice)


def _no_ratio(table: Table, role: Role, values: Array) -> InputError:
    name = table.columns[role]
    return InputError(
        f"{table.sheet.name}: {name} has values such as {np.nanmin(values):g}, which is no strike "
        f"and no ratio K/S; if it is ln(K/F), say so: `columns={{'log-moneyness': {name!r}}}`."
    )


def _base(table: Table, forward: Array) -> Array:
    """What moneyness is relative to."""
    return table.numbers(R.SPOT) if table.has(R.SPOT) else forward


def _in_price(table: Table, values: Role | None) -> bool:
    prices = any(role in table.columns for role in (R.PRICE, R.BID, R.ASK))
    volatilities = any(
        role in table.columns for role in (R.VOLATILITY, R.BID_VOLATILITY, R.ASK_VOLATILITY)
    )
    if not (prices or volatilities):
        raise table.missing("the price or the volatility", "price", "LAST")
    if prices and volatilities and values is None:
        table.notes.append(
            "prices and volatilities are quoted: prices count (`values=volatility`)."
        )
    return prices and not (volatilities and values is R.VOLATILITY)


def _prices(table: Table) -> tuple[Array, Array | None]:
    """Mid and half the spread."""
    if not (R.BID in table.columns and R.ASK in table.columns):
        role = next(role for role in (R.PRICE, R.BID, R.ASK) if role in table.columns)
        if role is not R.PRICE:
            table.notes.append(f"there are only {role} prices; they are taken as mid prices.")
        return _amounts(table, role), None
    bid, ask = (table.columns[role] for role in (R.BID, R.ASK))
    if other := table.columns.get(R.PRICE):
        closed = not (table.numbers(R.BID, needed=False) > 0.0).any()  # as after hours
        if closed:
            table.notes.append(f"no {bid} is positive: {other} counts.")
            return _amounts(table, R.PRICE), None
        table.notes.append(f"{bid} and {ask} count, not {other}.")
    return _two_sided(table)


def _two_sided(table: Table) -> tuple[Array, Array]:
    bid, ask = _amounts(table, R.BID), _amounts(table, R.ASK)
    _check_sides(table, bid, ask)
    return 0.5 * (bid + ask), 0.5 * (ask - bid)


def _amounts(table: Table, role: Role) -> Array:
    """Prices, which are no percentages."""
    name = table.columns[role]
    if "%" in name or any(is_percentage(cell) for cell in table.cells(role)):
        raise InputError(
            f"{table.sheet.name}: {name} has percentages, which are no prices; write them in the "
            f"units of the spot, or, if they are volatilities, name it "
            f"`columns={{'volatility': {name!r}}}`."
        )
    return table.numbers(role)


def _volatilities(table: Table) -> tuple[Array, Array | None]:
    if not (R.BID_VOLATILITY in table.columns and R.ASK_VOLATILITY in table.columns):
        roles = (R.VOLATILITY, R.BID_VOLATILITY, R.ASK_VOLATILITY)
        role = next(role for role in roles if role in table.columns)
        return table.fractions(role, HIGHEST_VOLATILITY), None
    bid = table.fractions(R.BID_VOLATILITY, HIGHEST_VOLATILITY)
    ask = table.fractions(R.ASK_VOLATILITY, HIGHEST_VOLATILITY)
    _check_sides(table, bid, ask)
    return 0.5 * (bid + ask), 0.5 * (ask - bid)


def _check_sides(table: Table, bid: Array, ask: Array) -> None:
    pairs = list(zip(bid, ask, strict=True))
    table.drop(bid > ask, [f"crossed: bid {b:g} exceeds ask {a:g}" for b, a in pairs])
    table.drop(bid <= 0.0, [f"no bid ({b:g})" for b, _ in pairs])


def _calls(
    table: Table, t: Array, strike: Array, forward: Array, discount: Array, price: Array | None
) -> Bools:
    """Whether each is a call; without a column, what their prices say, or out of the money."""
    if table.has(R.TYPE):
        cells = table.cells(R.TYPE)
        sides = option_sides(cells, plain(table.columns.get(R.TYPE, "")))
        said = [f"type is {cell.strip().lower()!r}, neither call nor put" for cell in cells]
        table.drop(np.array([side is None for side in sides]), said)
        return np.array([side == "call" for side in sides])
    out = strike >= forward
    if price is None:
        return out
    keep = table.usable & np.isfinite(price)
    gain = discount * (forward - strike)
    low, high = strike < (1.0 - NEAR) * forward, strike > (1.0 + NEAR) * forward
    below, above, low, high = keep & ~high, keep & ~low, keep & low, keep & high
    for what, side, worth, near, slope in (
        ("calls", low, gain, below, -1.0),
        ("puts", high, -gain, above, 1.0),
    ):
        dear = side.any() and (price[side] >= 0.98 * worth[side]).mean() > 0.5
        if dear and slope * _trend(t[near], strike[near], price[near]) >= 0.0:
            table.notes.append(f"there is no type: by their prices all are {what}.")
            return np.full(len(table), what == "calls")
    table.notes.append("there is no type: all are taken as out of the money.")
    return out


def _trend(t: Array, strike: Array, price: Array) -> float:
    """Whether prices of one maturity rise (> 0) or fall with the strike; 0 if they do not tell."""
    order = np.lexsort((strike, t))
    same = np.diff(t[order]) == 0.0
    return float(np.sign(np.diff(price[order]))[same].sum())


def _check_prices(
    table: Table, price: Array, forward: Array, strike: Array, discount: Array, call: Bools
) -> None:
    gain = discount * np.where(call, forward - strike, strike - forward)
    least, slack = np.maximum(gain, 0.0), TOLERANCE * forward
    most = discount * np.where(call, forward, strike)
    below = [
        f"price {p:g} is below the intrinsic value {v:g}" for p, v in zip(price, least, strict=True)
    ]
    above = [f"price {p:g} is above the bound {v:g}" for p, v in zip(price, most, strict=True)]
    table.drop(price <= 0.0, [f"price {p:g} is not positive" for p in price])
    outside = table.usable & ((price < (1.0 - TOO_CHEAP) * least) | (price >= most))
    count, all_of_them = int(outside.sum()), int(table.usable.sum())
    if count > MOST_OUTSIDE * all_of_them:
        table.notes.append(
            f"{count} of {all_of_them} prices are beyond the bounds of arbitrage; check the units "
            "of prices and spot, the type, the rate and the date."
        )
    table.drop(price < least - slack, below)
    table.drop(price >= most, above)


def _drop_repeated(table: Table, t: Array, strike: Array, call: Bools) -> None:
    first: dict[tuple[float, float, bool], int] = {}
    for i in np.flatnonzero(table.usable):
        key = (round(float(t[i]), 9), float(strike[i]), bool(call[i]))
        if key in first:
            table.reasons[int(i)] = f"repeats row {table.sheet.numbers[first[key]]}"
        else:
            first[key] = int(i)
