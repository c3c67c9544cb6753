r"""`solve(family)`: from coefficients to a Solution.

    make_run    check the family, let the method choose what is open (`preparation.py`)
    execute     draw the network, train it on simulated paths, measure its error (`execution.py`)

Given a folder, the run is kept there, so that the same call continues it.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from feynkac.clock import Clock
from feynkac.display import showing
from feynkac.errors import FeynkacWarning
from feynkac.execution import execute
from feynkac.families.catalogue import find_family
from feynkac.families.family import Family
from feynkac.methods import Method
from feynkac.preparation import make_run
from feynkac.runs.tracking import Tracker
from feynkac.solution import Solution
from feynkac.training.loop import Progress


def solve(
    family: Family | str,
    method: Method | str = "fast",
    *,
    steps: int | None = None,
    budget: float | str | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    report: Callable[[Progress], bool | None] | None = None,
    retrain: bool = False,
    progress: bool | None = None,
    tracker: Tracker | None = None,
    **settings: Any,
) -> Solution:
    """Train one network for the whole family.

    Args:
        family: what to solve; a built-in one also by its name, such as "black-scholes".
        method: how: `Fast()` is ours, `Paper()` the paper's, each with any choice made beforehand;
            "fast" and "paper" for short.
        steps: number of updates; by default the method's.
        budget: wall-clock time instead, in seconds or as "60s", "20m": from this call to its end,
            pilots, evaluations and saving included.
        seed: determines the result.
        out: a folder for checkpoints and the artifact; the same call continues there.
        report: sees the `Progress` of every step; answering True stops the run, as Ctrl-C does.
        retrain: start over, whatever the folder holds.
        progress: whether to show what is going on; by default on terminals and in notebooks.
        tracker: gets the numbers of every step, such as `CsvTracker("log.csv")`.
        settings: further fields of the method, such as `scheme` or `batch_size`, and of `Training`,
            such as `device` or `evaluations`.

    Example:
        >>> import feynkac as fk
        >>> fk.solve(fk.BlackScholes(), fk.Fast(width=32), steps=3).manifest.parameters
        2849
    """
    clock = Clock()
    lengths = {"steps": steps, "budget": budget, "seed": seed}
    folder = Path(out) if out is not None else None
    with showing(progress):
        family = find_family(family) if isinstance(family, str) else family
        run = make_run(family, method, lengths | settings, None if retrain else folder)
        solution = execute(run, family, folder, report, clock, retrain=retrain, tracker=tracker)
    for sentence in solution.manifest.warnings:
        warnings.warn(sentence, FeynkacWarning, stacklevel=2)
    return solution
