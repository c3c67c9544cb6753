"""Pictures of results, each a matplotlib figure (extra `plot`); `fk.plot` in Python.

fk.plot.sweep(solution.sweep("x", t=0.5, …)).savefig("sweep.png")
"""

from feynkac.plotting.history import history
from feynkac.plotting.market_fit import market_fit
from feynkac.plotting.pictures import (
    calibration,
    error_map,
    posterior,
    sobol_indices,
    sweep,
    uncertainty,
)
from feynkac.plotting.smile import smile, surface

__all__ = [
    "calibration",
    "error_map",
    "history",
    "market_fit",
    "posterior",
    "smile",
    "sobol_indices",
    "surface",
    "sweep",
    "uncertainty",
]
