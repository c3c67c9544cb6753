"""What a model fitted to quotes says: parameters, residuals, and how far its prices are right."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from feynkac.analysis.calibration import Calibration
from feynkac.analysis.observations import Problem
from feynkac.analysis.rounding import number
from feynkac.cards import Card, Shown
from feynkac.market.quotes import Array, Bools, OptionQuotes, Quotes
from feynkac.sketches import bars

SAME = 1e-6  # years: maturities nearer are one


@dataclass(frozen=True)
class Check:
    """Fitted prices beside a reference that is not the network.

    Example:
        >>> Check("the closed form", np.array([1.0]), np.array([0.0])).by
        'the closed form'
    """

    by: str
    price: Array
    """Of the reference, in the units of the quotes."""
    half_width: Array
    """Of its intervals; 0 for a formula."""


@dataclass(frozen=True)
class Slice:
    """The residuals of one maturity: root mean squares."""

    t: float
    count: int
    price: float
    level: float


@dataclass(frozen=True, repr=False)
class MarketFit(Shown):
    """A model fitted to quotes; `solution.calibrate(quotes)` returns it.

    Example:
        >>> import feynkac as fk
        >>> solution = fk.solve(fk.BlackScholesMerton(), steps=20, evaluations=1)
        >>> sheet = {"strike": [95, 100, 105], "maturity": ["6M"] * 3, "iv": [0.2, 0.21, 0.22]}
        >>> fit = solution.calibrate(fk.read_quotes(sheet, spot=100.0))
        >>> fit.calibration.labels, len(fit.slices)
        (['sigma'], 1)
    """

    family: str
    quotes: Quotes
    """Those that were fitted."""
    calibration: Calibration
    problem: Problem
    """What was minimised, for `posterior`."""
    in_level: bool
    """Whether residuals are in volatility (or yield), and not in price."""
    price: Array
    """Fitted."""
    level: Array
    """Fitted volatilities or yields; NaN where there is none."""
    check: Check | None
    notes: list[str]
    seconds: float
    """Until the estimate is known."""
    network: Array | None = None
    """Prices of the network at the estimate, where the closed form took the last steps."""

    def card(self) -> Card:
        """The estimates with their intervals, and the residuals per maturity."""
        found, name = self.calibration.card(), self.quotes.level_name
        rows = dict(found.rows) | {
            f"{name} residuals at t = {number(s.t)}, rms": f"{number(s.level)} ({s.count} quotes)"
            for s in self.slices
        }
        if self.check is not None:
            rows[f"largest error against {self.check.by}"] = number(self.largest_error)
        fitted = f"{len(self.quotes)} quotes of {len(self.slices)} maturities"
        residuals = f"{name} residuals {number(_rms(self.level_residuals))} rms"
        return Card(
            found.title.replace("Calibration", f"MarketFit of {self.family}", 1),
            [f"{fitted}, {residuals}"],
            rows,
            bars([s.level for s in self.slices], f"{name} residuals, rms per maturity"),
            found.warnings,
        )

    @property
    def price_residuals(self) -> Array:
        """Fitted − quoted prices."""
        return np.asarray(self.price - self.quotes.price)

    @property
    def level_residuals(self) -> Array:
        """Fitted − quoted volatilities or yields."""
        return np.asarray(self.level - self.quotes.level)

    @property
    def slices(self) -> list[Slice]:
        """Residuals per maturity, the shortest first."""
        return [
            Slice(
                float(self.quotes.t[rows][0]),
                int(rows.sum()),
                _rms(self.price_residuals[rows]),
                _rms(self.level_residuals[rows]),
            )
            for rows in maturities(self.quotes)
        ]

    @property
    def objective(self) -> float:
        """Σ (fitted − quoted level)², in percentage points: what QuantLib's helpers report."""
        return float(np.nansum((100.0 * self.level_residuals) ** 2))

    @property
    def largest_error(self) -> float | None:
        """Of the network's prices against the check, in volatility or yield."""
        if self.check is None:
            return None
        return float(np.nanmax(np.abs(self.level_errors)))

    @property
    def level_errors(self) -> Array:
        """Of the network's prices, in volatility or yield, by vega."""
        assert self.check is not None
        asked = self.price if self.network is None else self.network
        return np.asarray((asked - self.check.price) / self.quotes.vega)

    def record(self) -> dict[str, Any]:
        """As plain data."""
        name = self.quotes.level_name
        return {
            "family": self.family,
            **self.calibration.record(),
            "seconds": self.seconds,
            "residuals_in": name if self.in_level else "price",
            "objective": self.objective,
            "sheet": self.quotes.reading.record(),
            "notes": self.notes,
            "maturities": [
                {"t": s.t, "quotes": s.count, "price_rms": s.price, f"{name}_rms": s.level}
                for s in self.slices
            ],
            "quotes": [self._row(i) for i in range(len(self.quotes))],
            "check": None if self.check is None else self._check_record(),
        }

    def _row(self, i: int) -> dict[str, Any]:
        quotes, name = self.quotes, self.quotes.level_name
        own = (
            {"strike": quotes.strike[i], "call": quotes.call[i]}
            if isinstance(quotes, OptionQuotes)
            else {}
        )
        numbers = {
            "t": quotes.t[i],
            **own,
            "price": quotes.price[i],
            "fitted_price": self.price[i],
            name: quotes.level[i],
            f"fitted_{name}": self.level[i],
        }
        return {"row": int(quotes.rows[i])} | {key: _plain(v) for key, v in numbers.items()}

    def _check_record(self) -> dict[str, Any]:
        assert self.check is not None
        errors = np.abs(self.level_errors)
        return {
            "by": self.check.by,
            "largest_error": float(np.nanmax(errors)),
            "median_error": float(np.nanmedian(errors)),
            "largest_half_width": float(np.max(self.check.half_width / self.quotes.vega)),
        }


def maturities(quotes: Quotes) -> list[Bools]:
    """Which quotes have which maturity, the shortest first."""
    times: list[float] = []
    for t in np.sort(quotes.t):
        if not times or t - times[-1] > SAME:
            times.append(float(t))
    return [np.abs(quotes.t - t) <= SAME for t in times]


def _rms(values: Array) -> float:
    found = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(found**2))) if len(found) else float("nan")


def _plain(value: Any) -> Any:
    number = value.item()
    return None if isinstance(number, float) and not np.isfinite(number) else number
