"""From a `Run` to a `Solution`: train it, continue it, or hand back its result."""

import math
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path

import torch
import torch._dynamo  # seconds that an optimiser would take otherwise

from feynkac.analysis.metrics import Errors
from feynkac.analysis.rounding import error_text, number
from feynkac.analysis.warnings import warnings_of
from feynkac.clock import Allowance, Clock
from feynkac.errors import ArtifactError, FeynkacWarning
from feynkac.evaluation import Evaluator
from feynkac.families.family import Family
from feynkac.files import tolerated
from feynkac.grids.grid import grid_error
from feynkac.grids.table import Table
from feynkac.phases import Phase, enter, heard, tell
from feynkac.runs.artifact import Discretisation, make_manifest
from feynkac.runs.folder import RunFolder
from feynkac.runs.run import Decisions, Run, record_family, run_to_dict
from feynkac.runs.tracking import Tracker, tracking
from feynkac.sampling.discretisation import pilot_bias
from feynkac.sampling.generators import make_generator
from feynkac.sampling.path import weak_order
from feynkac.solution import Solution
from feynkac.threads import calm_threads, faster_threads, using_threads
from feynkac.training.loop import Hooks, Progress, time_step, train
from feynkac.training.objective import Objective
from feynkac.training.pace import FEW_STEPS, Pace, Pacemaker
from feynkac.training.settings import resolve_device
from feynkac.training.state import Record, State, begin
from feynkac.training.team import Alone, Team

BIAS_INPUTS, BIAS_PATHS = 64, 256  # for the discretisation error
LABELS_SHARE = 0.5  # of a budget, when labels made before training must be ready
SMALL_SHARE = 0.025  # of a budget, for each of the measurements before training
SAVING = 0.05  # seconds
FEWEST_STEPS = 10.0  # to begin with; the clock decides


@torch.inference_mode(False)  # with gradients, whatever the caller does
def execute(
    run: Run,
    family: Family,
    folder: Path | None = None,
    report: Callable[[Progress], bool | None] | None = None,
    clock: Clock | None = None,
    team: Team = Alone(),  # noqa: B008  (stateless)
    retrain: bool = False,
    tracker: Tracker | None = None,
) -> Solution:
    """Carry `run` out, or continue it, or hand back its finished result.

    A budget counts from the start of `clock`. Every member of a `team` makes the same call, with a
    folder that all can read; the leader writes.
    """
    clock = clock or Clock()
    now, planned = record_family(family), run.family
    if (now.source, now.samplers) != (planned.source, planned.samplers):
        raise ArtifactError(
            f"the formulas of {planned.name} have changed since this run was planned; run the "
            "same command again."
        )
    files = RunFolder(folder) if folder is not None else None
    if files and files.finished and not retrain:
        return _finished(run, family, files)
    resolve_device(run.training.device)  # refuse it before anything is written
    with files.locked() if files and team.rank == 0 else nullcontext():
        if files and retrain and team.rank == 0:
            files.clear()
        if files and files.finished and team.size == 1:  # by another process, just now
            return _finished(run, family, files)
        with torch.autocast("cpu", enabled=False):  # likewise
            return _Execution(run, family, files, clock, team).complete(report, tracker)


def _finished(run: Run, family: Family, files: RunFolder) -> Solution:
    """The result in the folder, which was made with the same settings."""
    enter("reading the finished result")
    files.require(run)
    return Solution.load(files.path, family)


@dataclass
class _Execution:
    """A run in this process."""

    run: Run
    family: Family
    files: RunFolder | None
    clock: Clock
    team: Team

    def __post_init__(self) -> None:
        self.device = resolve_device(self.run.training.device)
        self.leads = self.team.rank == 0
        self.evaluator = Evaluator(self.run, self.family, self.device)
        self.unkept: Pace | None = None  # a pace that could not be written

    def complete(
        self, report: Callable[[Progress], bool | None] | None, tracker: Tracker | None
    ) -> Solution:
        """Train to the end and measure."""
        run, method, domain = self.run, self.run.method, self.family.domain
        optimiser = method.optimiser
        enter("planning the run")
        with using_threads(self._threads()):
            state = begin(
                method.architecture, optimiser, self.family, run.training, self.device, self.team
            )
            table = self._labels()
            made = {"table": table} if table else {}  # methods that make none need not take them
            objective = method.objective(self.family, state.network, run.training, **made)
            kept = self._continue(state)
            decisions, pace = kept or self._begin(state, objective, table and table.sets)
        training = replace(run.training, evaluations=decisions.evaluations)
        hooks = self._hooks(state, decisions, report, tracker)
        rate = method.rate
        followed = tracking(tracker, run_to_dict(run), state.step)
        enter("training")
        with using_threads(decisions.threads), followed:
            pace = train(state, objective, domain, training, rate, pace, hooks, self.team)
        return self._finish(state, decisions, pace)

    def _threads(self) -> int | None:
        """For what precedes training by the clock: as before, or so many as do not wait."""
        if self.run.training.budget is None or self.team.size > 1:
            return None
        if self.files and self.files.begun:
            self.files.require(self.run)
            return self.files.decisions()[0].began_with
        return calm_threads()

    def _labels(self) -> Table | None:
        """Those made before training: as many as before, or as there is time for."""
        run, method, budget = self.run, self.run.method, self.run.training.budget
        if budget is None or self.team.size > 1:  # all of them
            return method.labels(self.family, run.training)
        if self.files and self.files.begun:
            self.files.require(run)
            sets = self.files.decisions()[0].sets
            return method.labels(self.family, run.training, sets=sets)
        allowance = Allowance(LABELS_SHARE * budget - self.clock.spent())
        return method.labels(self.family, run.training, allowance)

    def _continue(self, state: State) -> tuple[Decisions, Pace] | None:
        """What the run in the folder has decided, its checkpoint loaded; None if there is none."""
        if self.files is None:
            return None
        begun, under_way = self.team.decide(self.files.begun, self.files.under_way)
        if not begun:
            return None
        self.files.require(self.run)
        decisions, pace = self.files.decisions()
        _say_threads(decisions)
        if under_way:
            self.files.restore(state, self.run.identity)
            self.clock = Clock(self.clock.started - state.spent)
        if self.run.training.budget is not None and self.leads:
            self.evaluator.affordable(state.network.eval())  # makes the reference again
            state.network.train()
        self.evaluator.count = len(state.history)
        return decisions, pace

    def _begin(
        self, state: State, objective: Objective, sets: int | None
    ) -> tuple[Decisions, Pace]:
        """Evaluations and length as given, or found by timing."""
        training = self.run.training
        if training.budget is None:
            assert training.steps is not None
            bias = self._bias(Allowance()) if self.leads else None
            decisions, pace = Decisions(training.evaluations, bias), Pace.of(training.steps)
        else:
            decisions, pace = self._measure_machine(state, objective, training.budget)
        decisions = replace(decisions, sets=sets, began_with=torch.get_num_threads())
        if self.files and self.leads:
            self.files.keep(self.run, decisions, pace)
        return decisions, pace

    def _measure_machine(
        self, state: State, objective: Objective, budget: float
    ) -> tuple[Decisions, Pace]:
        """How many steps and evaluations this machine can do within the budget."""
        team, share, rate = self.team, SMALL_SHARE * budget, self.run.method.rate
        bias = self._bias(Allowance(share)) if self.leads else None
        timed = partial(time_step, state, objective, self.family.domain, rate, team, share)
        threads, step = faster_threads(timed, share) if team.size == 1 else (None, timed())
        evaluations = self.evaluator.affordable(state.network.eval()) if self.leads else 1
        state.network.train()
        left = budget - self.clock.spent() - self.evaluator.reserved(evaluations) - SAVING
        evaluations, steps = map(int, team.decide(evaluations, max(FEWEST_STEPS, left / step)))
        return Decisions(evaluations, bias, threads), Pace.of(steps)

    def _bias(self, allowance: Allowance) -> tuple[float, float] | None:
        """Discretisation error of the run's scheme on a few inputs, and its standard error."""
        family, method, seed = self.family, self.run.method, self.run.training.seed
        if not (method.simulates or method.grid):  # labels are exact
            return None
        if method.grid is None and weak_order(family, method.scheme) is None:
            return None
        inputs = family.domain.sample(
            BIAS_INPUTS, make_generator(seed, "discretisation inputs", device=self.device)
        )
        if method.grid:
            l1, se = allowance.afford(
                partial(grid_error, family, method.grid, inputs), 16, len(inputs)
            )
        else:
            setting = (method.scheme, method.noise, inputs, BIAS_PATHS, seed, allowance)
            found = pilot_bias(family, *setting)
            if found is None:
                return None
            l1, se = (part.abs().mean().item() for part in found)
        return (l1, se) if math.isfinite(l1 + se) else None

    def _hooks(
        self,
        state: State,
        decisions: Decisions,
        report: Callable[[Progress], bool | None] | None,
        tracker: Tracker | None,
    ) -> Hooks:
        files, run, budget = self.files, self.run, self.run.training.budget

        def save(current: State) -> None:
            current.spent = self.clock.spent()
            if files and self.unkept:  # a checkpoint is of no use without its pace
                files.keep(run, decisions, self.unkept)
                self.unkept = None
            if files:
                files.save(current, run.identity)

        def observe(progress: Progress) -> bool | None:
            if files and progress.record:
                with tolerated():
                    files.write_metrics(state.history)
            if heard():
                tell(training_phase(progress, state.history[-1] if state.history else None))
            if tracker:
                with tolerated():
                    tracker.record(progress.step, _tracked(progress))
            return report(progress) if report else None

        def keep(pace: Pace) -> None:
            self.unkept = pace
            with tolerated():
                if files:
                    files.keep(run, decisions, pace)
                self.unkept = None

        hooks = Hooks(self.evaluator, observe, save)
        if budget is None:
            return hooks
        pacemaker = Pacemaker(
            budget,
            spent=self.clock.spent,
            reserved=lambda: self.evaluator.reserved(decisions.evaluations) + SAVING,
            aside=lambda: self.evaluator.spent,
        )
        return replace(hooks, end=pacemaker.end, keep=keep)

    def _finish(self, state: State, decisions: Decisions, pace: Pace) -> Solution:
        network, bias = state.network.eval().requires_grad_(False), decisions.bias
        budgeted = self.run.training.budget is not None
        pace = pace.closed() if budgeted else pace
        manifest = make_manifest(
            self.run,
            self.family.domain,
            steps=state.step,
            segments=list(pace.segments) if budgeted else [],
            seconds=self.clock.spent(),
            training_seconds=state.seconds,
            threads=decisions.threads or torch.get_num_threads(),
            discretisation=bias and Discretisation(l1=bias[0], se=bias[1]),
            parameters=network.parameter_count,
            history=state.history,
            warnings=_warnings(self.run, self.family, decisions, state),
        )
        solution = Solution(self.family, network, manifest)
        if self.files and self.leads:
            self.files.keep(self.run, decisions, pace)
            solution.save(self.files.path)
            self.files.drop_checkpoint()
        return solution


def training_phase(progress: Progress, measured: Record | None = None) -> Phase:
    """What a display says about a step, with the error that was measured last.

    Example:
        >>> training_phase(Progress(5, 10, 0.25, 0.1, None)).detail
        'step 5/10  loss 0.25  50.0 steps/s'
    """
    record = progress.record or measured or {}
    ends = (record.get(name) for name in ("l1", "l1_se", "l1_low", "l1_high"))
    return Phase(
        "training",
        progress.step / progress.steps,
        (f"L1 {error_text(*ends)}  " if record else "")
        + f"step {progress.step}/{progress.steps}  loss {progress.loss:.3g}  "
        f"{progress.step / max(progress.seconds, 1e-9):.1f} steps/s",
        landmark=progress.record is not None,
    )


def _tracked(progress: Progress) -> dict[str, float | None]:
    """The numbers of a step: all names each time, None where nothing was measured."""
    errors = dict.fromkeys(f.name for f in fields(Errors) if f.name not in ("worst", "volatility"))
    found = {"seconds": progress.seconds, "loss": progress.loss} | errors
    return found | {n: v for n, v in (progress.record or {}).items() if n in found}


def _say_threads(decisions: Decisions) -> None:
    """Warn if a resumed run cannot be the same to the bit."""
    began, now = decisions.began_with, torch.get_num_threads()
    if decisions.threads is None and began not in (None, now):
        warnings.warn(
            f"this run was begun with {began} threads and continues with {now}: its numbers may "
            f"differ in the last digits. For the same bits, call torch.set_num_threads({began}).",
            FeynkacWarning,
            stacklevel=2,
        )


def _warnings(run: Run, family: Family, decisions: Decisions, state: State) -> list[str]:
    """What is wrong with the result, one sentence each."""
    found, budget = [], run.training.budget
    if budget is not None and state.step < FEW_STEPS:
        found.append(
            f"only {state.step} training steps fit into {budget:g} seconds, too few to trust the "
            "result; give a larger budget, or a cheaper scheme."
        )
    if decisions.bias is None and weak_order(family, run.method.scheme) is not None:
        found.append(
            "the discretisation error of the scheme was not estimated, and the errors do not "
            "contain it; give a larger budget, or compare with a scheme of more steps."
        )
    last = state.history[-1].get("l1") if state.history else None
    if decisions.bias and last is not None and decisions.bias[0] > max(last, 2 * decisions.bias[1]):
        found.append(
            f"the scheme's own error is estimated at {number(decisions.bias[0])}, more than the "
            "fit's, and the errors do not contain it; choose a scheme with more steps, or give a "
            "larger budget."
        )
    return found + (warnings_of(state.history[-1]) if state.history else [])
