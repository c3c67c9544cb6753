"""Pictures of results, each a matplotlib figure (extra `plot`); `fk.plot` in Python.

fk.plot.sweep(solution.sweep("x", t=0.5, …)).savefig("sweep.png")

A solution draws itself, see `Plots`: `solution.plot.curve("x", t=0.5, …)`.
"""

try:
    import matplotlib as matplotlib
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "pictures need matplotlib, which is not installed; install it, or the extra `plot`.",
        name="matplotlib",
    ) from error

from feynkac.plotting.history import history
from feynkac.plotting.market_fit import market_fit
from feynkac.plotting.pictures import (
    calibration,
    error_map,
    posterior,
    sobol_indices,
    uncertainty,
)
from feynkac.plotting.smile import smile, volatility_surface
from feynkac.plotting.sweeps import curve, surface, sweep

__all__ = [
    "calibration",
    "curve",
    "error_map",
    "history",
    "market_fit",
    "posterior",
    "smile",
    "sobol_indices",
    "surface",
    "sweep",
    "uncertainty",
    "volatility_surface",
]
