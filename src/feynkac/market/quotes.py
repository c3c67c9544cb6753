r"""Quotes as numbers, whatever the sheet looked like.

    call = D (F Ψ(d₁) − K Ψ(d₂)),   put = D (K Ψ(−d₂) − F Ψ(−d₁)),   bond = e^{−yt},

with forward F, strike K, discount factor D, time t in years. An option has a price and the
volatility that Black's formula needs for it, a bond has a price and a yield y.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from feynkac.analysis.implied_volatility import black_vega, implied_volatility

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Dropped:
    """A row of a sheet that is not used, and why.

    Example:
        >>> str(Dropped(7, "bid 3 exceeds ask 2"))
        'row 7: bid 3 exceeds ask 2'
    """

    row: int
    reason: str

    def __str__(self) -> str:
        return f"row {self.row}: {self.reason}"


@dataclass(frozen=True)
class Reading:
    """How a sheet was understood.

    Example:
        >>> Reading({"strike": "K"}).columns
        {'strike': 'K'}
    """

    columns: dict[str, str] = field(default_factory=dict)
    """The column of each role."""
    notes: list[str] = field(default_factory=list)
    """Guesses and assumptions, one sentence each."""
    dropped: list[Dropped] = field(default_factory=list)

    def record(self) -> dict[str, Any]:
        """As plain data."""
        left_out = [{"row": each.row, "reason": each.reason} for each in self.dropped]
        return {"columns": self.columns, "notes": self.notes, "dropped": left_out}


@dataclass(frozen=True)
class Quotes(ABC):
    """Quotes of options or of bonds, `(n,)` numbers each; `read_quotes` makes them.

    Example:
        >>> import feynkac as fk
        >>> sheet = {"strike": [90, 100], "maturity": ["6M", "6M"], "iv": ["25 %", "22 %"]}
        >>> quotes = fk.read_quotes(sheet, spot=100.0)
        >>> len(quotes), quotes.volatility.tolist()
        (2, [0.25, 0.22])
    """

    t: Array
    """Years to maturity."""
    price: Array
    half_spread: Array | None
    """Half of ask − bid, in the units of the price; NaN where it is not known."""
    rows: NDArray[np.int64]
    """Their rows in the sheet."""
    in_price: bool
    """Whether prices were quoted, and not volatilities or yields."""
    reading: Reading

    def __len__(self) -> int:
        return len(self.t)

    @property
    @abstractmethod
    def level(self) -> Array:
        """What is quoted beside a price: volatilities, or yields."""

    @property
    def vega(self) -> Array:
        """|∂price/∂level| of the quotes."""
        return np.abs(self.slope(self.level))

    @property
    @abstractmethod
    def level_name(self) -> str:
        """volatility or yield."""

    @abstractmethod
    def slope(self, level: Array) -> Array:
        """∂price/∂level at other volatilities or yields."""

    @abstractmethod
    def levels(self, price: Array) -> Array:
        """The volatilities or yields of other prices; NaN where there is none."""

    def select(self, keep: Bools, reasons: list[str] | None = None) -> Self:
        """Some of them; the others are dropped, each for its reason."""
        columns: dict[str, Any] = {
            name: value[keep] for name, value in vars(self).items() if isinstance(value, np.ndarray)
        }
        if reasons is None:
            return replace(self, **columns)
        gone = [
            Dropped(int(r), why)
            for r, why, k in zip(self.rows, reasons, keep, strict=True)
            if not k
        ]
        reading = replace(self.reading, dropped=[*self.reading.dropped, *gone])
        return replace(self, **columns, reading=reading)


@dataclass(frozen=True)
class OptionQuotes(Quotes):
    """European calls and puts.

    Example:
        >>> import feynkac as fk
        >>> sheet = {"strike": [90], "maturity": ["6M"], "iv": [0.25], "type": ["put"]}
        >>> quotes = fk.read_quotes(sheet, spot=100.0)
        >>> quotes.call.tolist(), quotes.forward.tolist(), round(float(quotes.price[0]), 4)
        ([False], [100.0], 2.8412)
    """

    strike: Array
    forward: Array
    discount: Array
    call: Bools
    volatility: Array

    @property
    def level(self) -> Array:
        """Volatilities."""
        return self.volatility

    @property
    def level_name(self) -> str:
        """volatility."""
        return "volatility"

    def slope(self, level: Array) -> Array:
        """D F ψ(d₁) √t."""
        found = black_vega(self.forward, self.strike, self.t, level, self.discount)
        return np.asarray(found.numpy())

    @property
    def as_calls(self) -> Array:
        """Prices of the calls with the same volatility, by put–call parity."""
        return np.where(
            self.call, self.price, self.price + self.discount * (self.forward - self.strike)
        )

    def levels(self, price: Array) -> Array:
        """Black volatilities of prices of these options."""
        where = (self.forward, self.strike, self.t, self.discount, self.call)
        return np.asarray(implied_volatility(price, *where).numpy())


@dataclass(frozen=True)
class BondQuotes(Quotes):
    """Zero-coupon bonds that pay 1.

    Example:
        >>> import feynkac as fk
        >>> quotes = fk.read_quotes({"maturity": ["1Y", "2Y"], "zero rate": ["3 %", "3.5 %"]})
        >>> quotes.zero_yield.tolist()
        [0.03, 0.035]
    """

    zero_yield: Array
    """Continuously compounded."""

    @property
    def level(self) -> Array:
        """Yields."""
        return self.zero_yield

    @property
    def level_name(self) -> str:
        """yield."""
        return "yield"

    def slope(self, level: Array) -> Array:
        """−t e^{−yt}."""
        return np.asarray(-self.t * np.exp(-level * self.t))

    def levels(self, price: Array) -> Array:
        """−ln P / t."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(-np.log(price) / self.t)
