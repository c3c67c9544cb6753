"""Quotes beside the fitted model: a smile per maturity, or the curve of yields."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from feynkac.market.market_fit import MarketFit, maturities
from feynkac.market.quotes import Bools, OptionQuotes
from feynkac.plotting.style import ALONE, BLUE, VERMILION, panels, styled, symbol

MOST_COLUMNS = 4
PANEL = (2.9, 2.5)


@styled
def market_fit(fit: MarketFit) -> Figure:
    """Volatilities over strikes, one panel per maturity; of bonds, yields over maturities."""
    quotes = fit.quotes
    groups = maturities(quotes) if isinstance(quotes, OptionQuotes) else [quotes.t > 0.0]
    columns = min(MOST_COLUMNS, len(groups))
    size = ALONE if len(groups) == 1 else PANEL
    figure, grid = panels(-(-len(groups) // columns), columns, panel=size, sharey=True)
    for axes, rows in zip(grid, groups, strict=False):
        _panel(axes, fit, rows)
    for axes in grid[len(groups) :]:
        axes.axis("off")
    for axes in grid[::columns]:
        axes.set_ylabel(f"{quotes.level_name} in %")
    grid[0].legend()
    found = fit.calibration
    entries = zip(found.labels, found.estimate, found.std, strict=True)
    said = ", ".join(f"{symbol(name)} {value:.4g} ± {std:.1g}" for name, value, std in entries)
    figure.suptitle(f"{fit.family}: {said.replace('-', '−')}")
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
    axes.errorbar(where[order], quoted, bars, fmt="o", ms=4, color=BLUE, label="quoted")
    axes.plot(where[order], fitted, color=VERMILION, label="fitted")
    axes.set_xlabel("strike" if option else "years")
    if option:
        axes.set_title(_time(float(quotes.t[rows][0])))


def _time(t: float) -> str:
    return f"{t:.2f} years" if t >= 1.0 else f"{365.0 * t:.0f} days"
