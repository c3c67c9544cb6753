r"""A companion of a solution for its certificates: u on the region that paths visit.

Certificates choose between plain paths and paths beside the martingale of a control (see
`analysis/martingale.py`). Plain paths usually win; where they are too noisy, a good control helps.
Paths leave the box of x at once, so that the solution itself is a poor one. The companion is
trained as solutions are, but on visits. It is kept in the folder `control` of the run.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from feynkac.analysis.martingale import Control
from feynkac.display import showing
from feynkac.errors import InputError
from feynkac.execution import execute
from feynkac.families.family import outputs
from feynkac.methods import Fast
from feynkac.preparation import make_run
from feynkac.runs.artifact import MANIFEST
from feynkac.runs.folder import CONTROL, remove_folder
from feynkac.runs.run import Run
from feynkac.sampling.visited import visited
from feynkac.solution import Solution
from feynkac.training.loop import Progress

NEW = "control.new"  # until it is finished


def add_control(
    solution: Solution,
    budget: float | str = "20s",
    folder: str | Path | None = None,
    report: Callable[[Progress], None] | None = None,
    progress: bool | None = None,
) -> Solution:
    """The same solution with a control trained for it.

    A control it has already is kept if it is of use (better than a linear fit) and was trained for
    at least as long; otherwise a new one takes its place, if that is better.

    Args:
        solution: whose certificates must be sharp.
        budget: of the training.
        folder: of the run; the control is written into it.
        report: sees the `Progress` of every step.
        progress: whether to show what is going on; by default on terminals and in notebooks.

    Example:
        >>> import feynkac as fk
        >>> solution = fk.solve(fk.BlackScholes(), steps=2, batch_size=64)
        >>> add_control(solution, budget=1.0).control is not None
        True
    """
    if outputs(solution.family) > 1:
        raise InputError("a control is for solutions with one output; this one has several.")
    with showing(progress):
        return _with_control(solution, budget, folder, report)


def _with_control(
    solution: Solution,
    budget: float | str,
    folder: str | Path | None,
    report: Callable[[Progress], None] | None,
) -> Solution:
    run = solution.manifest.run
    wide = visited(solution.family, run.method.scheme)
    settings = {"budget": budget, "seed": run.training.seed, "evaluations": 1}
    wanted = make_run(wide, Fast(scheme=run.method.scheme), settings)
    if _suffices(solution.control, wanted):
        return solution
    target = None if folder is None else _free(Path(folder) / NEW)
    trained = execute(wanted, wide, target, report).as_control()
    old = solution.control
    if old is not None and old.error < 1.0 and old.error <= trained.error:
        if target is not None:
            remove_folder(target)
        return solution
    if target is not None:
        _replace(target, target.with_name(CONTROL))
    return replace(solution, control=trained)


def _suffices(control: Control | None, wanted: Run) -> bool:
    """Whether there is a control that is of use and was trained for at least as long."""
    asked = wanted.training.budget or 0.0
    return control is not None and control.error < 1.0 and asked <= (control.budget or 0.0)


def _free(folder: Path) -> Path:
    """A folder without the rest of a training that was broken off."""
    if folder.is_symlink() or not (folder / MANIFEST).exists():
        remove_folder(folder)
    return folder


def _replace(source: Path, target: Path) -> None:
    remove_folder(target)
    source.rename(target)
