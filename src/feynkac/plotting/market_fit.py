"""Quotes beside the fitted model: a smile per maturity, or the curve of yields."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from feynkac.market.market_fit import MarketFit, maturities
from feynkac.market.quotes import Bools, OptionQuotes

MOST_COLUMNS = 4


def market_fit(fit: MarketFit) -> Figure:
    """Volatilities over strikes, one panel per maturity; of bonds, yields over maturities."""
    quotes = fit.quotes
    panels = maturities(quotes) if isinstance(quotes, OptionQuotes) else [quotes.t > 0.0]
    columns = min(MOST_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    size = (max(5.0, 3.0 * columns), 1.0 + 2.5 * rows)
    figure = Figure(figsize=size, layout="constrained")
    grid = list(figure.subplots(rows, columns, squeeze=False, sharey=True).flat)
    for axes, panel in zip(grid, panels, strict=False):
        _panel(axes, fit, panel)
    for axes in grid[len(panels) :]:
        axes.axis("off")
    grid[0].set_ylabel(f"{quotes.level_name} in %")
    grid[0].legend(fontsize=8)
    found = fit.calibration
    entries = zip(found.labels, found.estimate, found.std, strict=True)
    said = ", ".join(f"{name} {value:.4g} ± {std:.1g}" for name, value, std in entries)
    figure.suptitle(f"{fit.family}: {said}", fontsize=10)
    return figure


def _panel(axes: Axes, fit: MarketFit, rows: Bools) -> None:
    quotes = fit.quotes
    option = isinstance(quotes, OptionQuotes)
    where = (quotes.strike if isinstance(quotes, OptionQuotes) else quotes.t)[rows]
    order = np.argsort(where)
    quoted, fitted = 100.0 * quotes.level[rows][order], 100.0 * fit.level[rows][order]
    bars = None
    if quotes.half_spread is not None:
        bars = 100.0 * (quotes.half_spread / quotes.vega)[rows][order]
    axes.errorbar(where[order], quoted, bars, fmt="o", ms=3, label="quoted")
    axes.plot(where[order], fitted, color="tab:red", label="fitted")
    axes.set_xlabel("strike" if option else "years")
    if option:
        axes.set_title(f"{_time(float(quotes.t[rows][0]))}", fontsize=9)


def _time(t: float) -> str:
    return f"{t:.2f} years" if t >= 1.0 else f"{365.0 * t:.0f} days"
