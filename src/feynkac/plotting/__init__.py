"""Pictures of results, each a matplotlib figure (extra `plot`); `fk.plot` in Python.

fk.plot.sweep(solution.sweep("x", t=0.5, …)).savefig("sweep.png")
"""

from feynkac.plotting.history import history
from feynkac.plotting.pictures import (
    calibration,
    error_map,
    posterior,
    sobol_indices,
    sweep,
    uncertainty,
)
from feynkac.plotting.smiles import smiles

__all__ = [
    "calibration",
    "error_map",
    "history",
    "posterior",
    "smiles",
    "sobol_indices",
    "sweep",
    "uncertainty",
]
