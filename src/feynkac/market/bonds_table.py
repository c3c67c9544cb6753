r"""Bond quotes from a table:  P = e^{−yt},  y continuously compounded."""

import numpy as np

from feynkac.errors import InputError
from feynkac.market.assembling import HIGHEST_RATE, Table
from feynkac.market.cells import parse_number
from feynkac.market.columns import Role, plain
from feynkac.market.quotes import Array, BondQuotes, Reading

PER_HUNDRED = 2.0
"""Prices with a median beyond are for a payment of 100."""
R = Role
YIELDS = (R.YIELD, R.RATE)
PRICES = (R.PRICE, R.DISCOUNT)
BONDS = ("bond price", "zero bond", "zcb")
COUPONS = ("coupon", "coupons", "coupon rate", "cpn")
WITH_COUPONS = ("par yield", "yield to maturity", "ytm")


def is_curve(table: Table) -> bool:
    """Whether the sheet has yields or bonds, and no strikes."""
    levels = {R.STRIKE, R.MONEYNESS, R.LOG_MONEYNESS, R.VOLATILITY, R.TYPE}
    known = any(role in table.columns for role in (R.YIELD, R.RATE, R.DISCOUNT))
    asset = any(table.has(role) for role in (R.SPOT, R.FORWARD))
    bonds = plain(table.columns.get(R.PRICE, "")) in BONDS or (
        R.PRICE in table.columns and not asset
    )
    return not levels & table.columns.keys() and (known or bonds)


def bond_quotes(table: Table, reading: Reading) -> BondQuotes:
    """All rows that can be used."""
    t = table.times()
    role = next((role for role in (*YIELDS, *PRICES) if role in table.columns), None)
    if role is None:
        raise table.missing("the yield or the price of a bond", "yield", "ZERO")
    half = None
    if role in YIELDS:
        zero = table.fractions(role, HIGHEST_RATE)
        coupons = plain(table.columns[role]) in WITH_COUPONS or _has_coupons(table)
        of = ", and as those of bonds without coupons" if coupons else ""
        table.notes.append(f"yields are taken as continuously compounded{of}.")
        price = np.exp(-zero * t)
    else:
        if role is R.PRICE:
            table.notes.append(f"{table.columns[role]}: prices of bonds without coupons.")
        price, half = _prices(table, role)
        with np.errstate(invalid="ignore", divide="ignore"):
            zero = -np.log(price) / t
    table.drop(~(np.abs(zero) < 1.0), [f"the yield {100 * y:g} % is beyond ±100 %" for y in zero])
    _drop_repeated(table, t)
    rows = np.array(table.sheet.numbers)
    return BondQuotes(t, price, half, rows, role in PRICES, reading, zero).select(table.usable)


def _prices(table: Table, role: Role) -> tuple[Array, Array | None]:
    """Mid and half the spread, for a payment of 1."""
    if _has_coupons(table):
        raise InputError(
            f"{table.sheet.name} has prices of bonds with coupons; give zero yields, discount "
            "factors or prices of bonds without coupons."
        )
    price, half = table.numbers(role), None
    if R.BID in table.columns and R.ASK in table.columns:
        bid, ask = table.numbers(R.BID), table.numbers(R.ASK)
        pairs = list(zip(bid, ask, strict=True))
        table.drop(bid > ask, [f"crossed: bid {b:g} exceeds ask {a:g}" for b, a in pairs])
        price, half = 0.5 * (bid + ask), 0.5 * (ask - bid)
    table.drop(~(price > 0.0), [f"price {p:g} is not positive" for p in price])
    if np.nanmedian(price) > PER_HUNDRED:
        table.notes.append("prices are taken as for a payment of 100.")
        return price / 100.0, None if half is None else half / 100.0
    return price, half


def _has_coupons(table: Table) -> bool:
    names = [name for name in table.sheet.header if plain(name) in COUPONS]
    cells = (cell for name in names for cell in table.sheet.column(name))
    return any(parse_number(cell, table.sheet.decimal) > 0.0 for cell in cells)


def _drop_repeated(table: Table, t: Array) -> None:
    first: dict[float, int] = {}
    for i in np.flatnonzero(table.usable):
        place = first.setdefault(round(float(t[i]), 9), int(i))
        if place != i:
            table.reasons[int(i)] = f"repeats row {table.sheet.numbers[place]}"
