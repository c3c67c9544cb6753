r"""A companion of a solution for its certificates: u on the region that paths visit.

Certificates are unbiased with any control (see `analysis/martingale.py`), but only a good one makes
them sharp, and paths leave the box of x at once. The companion is trained as solutions are, but on
visits. It is kept in the folder `control` of the run.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from feynkac.sampling.visited import visited
from feynkac.solution import CONTROL, Solution
from feynkac.solver import execute, plan_run
from feynkac.training.loop import Progress


def add_control(
    solution: Solution,
    budget: float | str = "20s",
    folder: str | Path | None = None,
    report: Callable[[Progress], None] | None = None,
) -> Solution:
    """The same solution with a control trained for it; one that has a control is handed back.

    Args:
        solution: whose certificates shall be sharp.
        budget: of the training.
        folder: of the run; the control is written into it.
        report: sees the `Progress` of every step.
    """
    if solution.control is not None:
        return solution
    run = solution.manifest.run
    wide = visited(solution.family, run.scheme)
    settings = {"budget": budget, "seed": run.training.seed, "evaluations": 1}
    plan = plan_run(wide, "fast", None, run.scheme, settings)
    target = None if folder is None else Path(folder) / CONTROL
    trained = execute(plan, wide, target, report)
    return replace(solution, control=trained.as_control())
