r"""`solve(family)`: from coefficients to a Solution.

Wires the layers: check the family, draw the network, train it on simulated paths, measure its
error, and, given a folder, keep the run there so that the same call continues it.
"""

import math
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
import torch._dynamo  # seconds that an optimiser would take otherwise
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from feynkac.analysis.warnings import warnings_of
from feynkac.checks.checkup import require_simulable, require_sound
from feynkac.clock import Allowance, Clock
from feynkac.errors import FeynkacWarning, InputError
from feynkac.evaluation import Evaluator
from feynkac.families.family import Family, outputs
from feynkac.methods.fast.allocation import choose_paths
from feynkac.methods.fast.choices import fast_setup
from feynkac.methods.fitting import SCALE_INPUTS, affordable_scale_inputs, make_objective
from feynkac.methods.paper import complete_paper_setup
from feynkac.networks.architecture import Architecture
from feynkac.networks.network import make_network
from feynkac.networks.synchronised import synchronise
from feynkac.runs.artifact import Discretisation, make_manifest
from feynkac.runs.folder import RunFolder
from feynkac.runs.run import Decisions, Run, asked_for, record_family, run_to_dict
from feynkac.sampling.discretisation import pilot_bias
from feynkac.sampling.noise.noise import make_generator
from feynkac.sampling.path import weak_order
from feynkac.sampling.schemes.scheme import Scheme
from feynkac.solution import Solution
from feynkac.training.loop import Hooks, Progress, time_step, train
from feynkac.training.objective import Objective
from feynkac.training.pace import FEW_STEPS, Pace, Pacemaker
from feynkac.training.settings import Training, one_sentence, resolve_device, seconds
from feynkac.training.state import State
from feynkac.training.team import Alone, Team, make_streams

Method = Literal["fast", "paper"]
METHODS = {"fast": fast_setup, "paper": complete_paper_setup}
BIAS_INPUTS, BIAS_PATHS = 64, 256  # for the discretisation error
PILOT_SHARE = 0.08  # of a budget, for the choice of scheme and noise
SMALL_SHARE = 0.025  # for each of the further pilots
SAVING = 0.05  # seconds
FEWEST_STEPS = 10.0  # to begin with; the clock decides


def solve(
    family: Family,
    *,
    method: Method = "fast",
    steps: int | None = None,
    budget: float | str | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    architecture: Architecture | None = None,
    scheme: Scheme | None = None,
    report: Callable[[Progress], bool | None] | None = None,
    retrain: bool = False,
    **training: Any,
) -> Solution:
    """Train one network for the whole family.

    Args:
        family: what to solve.
        method: "fast" is ours, "paper" the paper's with its settings.
        steps: number of updates; by default the method's.
        budget: wall-clock time instead, in seconds or as "60s", "20m": from this call to its end,
            pilots, evaluations and saving included.
        seed: determines the result.
        out: a folder for checkpoints and the artifact; the same call continues there.
        architecture: network settings; by default the method's.
        scheme: how paths are simulated; by default the method's.
        report: sees the `Progress` of every step; answering True stops the run, as Ctrl-C does.
        retrain: start over, whatever the folder holds.
        training: further fields of `Training`, such as `batch_size` or `compile`.

    Example:
        >>> import feynkac as fk
        >>> fk.solve(fk.BlackScholes(), steps=3, seed=0).manifest.parameters
        11073
    """
    clock = Clock()
    lengths = {"steps": steps, "budget": budget, "seed": seed}
    folder = Path(out) if out is not None else None
    known = None if retrain else folder
    run = plan_run(family, method, architecture, scheme, {**lengths, **training}, known)
    solution = execute(run, family, folder, report, clock, retrain=retrain)
    for sentence in solution.manifest.warnings:
        warnings.warn(sentence, FeynkacWarning, stacklevel=2)
    return solution


@torch.inference_mode(False)  # and with gradients, whatever the caller does: pilots need them
def plan_run(
    family: Family,
    method: str,
    architecture: Architecture | None,
    scheme: Scheme | None,
    training: dict[str, Any],
    folder: Path | None = None,
) -> Run:
    """All settings of a run: the given ones, and what the method chooses, partly by pilots.

    A run that was begun in `folder` with the same words keeps what it chose then.
    """
    if not isinstance(family, Family):
        raise InputError(f"solve expects a Family, got {type(family).__name__}.")
    require_sound(family)
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; there are: {', '.join(METHODS)}.")
    if scheme is not None:
        scheme.check(family)
    given = {k: v for k, v in training.items() if v is not None}
    asked = asked_for(family, method, architecture, scheme, given)
    if folder is not None and (found := RunFolder(folder).run_asked_for(asked)):
        return found
    setup = METHODS[method](family, scheme, _pilots_allowance(given.get("budget")))
    require_simulable(family, setup.scheme)
    if "steps" not in given and "budget" not in given:
        given["steps"] = setup.steps
    given.setdefault("balance", setup.balance and "budget" in given and "paths" not in given)
    defaults: dict[str, Any] = {
        "optimiser": setup.optimiser,
        "schedule": setup.schedule,
        "batch_size": setup.batch_size,
        "paths": setup.paths,
    }
    try:
        run = Run(
            family=record_family(family),
            method=method,
            architecture=architecture or setup.architecture,  # type: ignore[arg-type]
            scheme=setup.scheme,  # type: ignore[arg-type]
            noise=setup.noise,  # type: ignore[arg-type]
            training=Training(**(defaults | given)),
            asked=asked,
        )
        run_to_dict(run)
    except ValidationError as error:
        raise InputError(one_sentence(error)) from error
    except PydanticSerializationError as error:
        raise InputError(
            f"the fields of {type(family).__name__} must be plain data (numbers, texts, lists), "
            f"so that a run can be written down: {error}."
        ) from error
    return run


def _pilots_allowance(budget: Any) -> Allowance:
    try:
        return Allowance() if budget is None else Allowance(PILOT_SHARE * seconds(budget))
    except ValueError as error:
        raise InputError(f"budget: {error} (got {budget!r}).") from error


@torch.inference_mode(False)  # likewise
def execute(
    run: Run,
    family: Family,
    folder: Path | None = None,
    report: Callable[[Progress], bool | None] | None = None,
    clock: Clock | None = None,
    team: Team = Alone(),  # noqa: B008  (stateless)
    retrain: bool = False,
) -> Solution:
    """Carry `run` out, or continue it, or hand back its finished result.

    A budget counts from the start of `clock`. Every member of a `team` makes the same call, with a
    folder that all can read; the leader writes.
    """
    clock = clock or Clock()
    files = RunFolder(folder) if folder is not None else None
    if files and files.finished and not retrain:
        files.require(run)
        return Solution.load(files.path, family)
    resolve_device(run.training.device)  # refuse it before anything is written
    with files.locked() if files and team.rank == 0 else nullcontext():
        if files and retrain and team.rank == 0:
            files.clear()
        return _Execution(run, family, files, clock, team).complete(report)


def initial_state(
    run: Run,
    family: Family,
    device: str,
    team: Team = Alone(),  # noqa: B008  (stateless)
) -> State:
    """Before the first step: parameters drawn from the run's seed."""
    training = run.training
    weights = make_generator(training.seed, "weights")
    network = make_network(run.architecture, family.domain, weights, outputs(family)).to(device)
    if team.size > 1:
        synchronise(network)
    if training.compile:
        network.compile_layers(device)
    generator, *further = make_streams(training.seed, training.workers, device)
    return State(network, training.optimiser.build(network), generator, further=further)


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

    def complete(self, report: Callable[[Progress], bool | None] | None) -> Solution:
        """Train to the end and measure."""
        state = initial_state(self.run, self.family, self.device, self.team)
        decisions, pace, objective = self._continue(state) or self._begin(state)
        training = replace(
            self.run.training, paths=decisions.paths, evaluations=decisions.evaluations
        )
        hooks = self._hooks(state, decisions, report)
        objective = objective.with_paths(decisions.paths)
        pace = train(state, objective, self.family.domain, training, pace, hooks, self.team)
        return self._finish(state, decisions, pace)

    def _continue(self, state: State) -> tuple[Decisions, Pace, Objective] | None:
        """What the run in the folder has decided, its checkpoint loaded; None if there is none."""
        if self.files is None:
            return None
        begun, under_way = self.team.decide(self.files.begun, self.files.under_way)
        if not begun:
            return None
        self.files.require(self.run)
        decisions, pace = self.files.decisions()
        objective = self._objective(state, decisions.scale_inputs)
        if under_way:
            self.files.restore(state, self.run.identity)
            self.clock = Clock(self.clock.started - state.spent)
            self.evaluator.count = len(state.history)
        return decisions, pace, objective

    def _begin(self, state: State) -> tuple[Decisions, Pace, Objective]:
        """Paths, evaluations and length as given, or found by timing."""
        training = self.run.training
        if training.budget is None:
            assert training.steps is not None
            bias = self._bias(Allowance()) if self.leads else None
            decisions = Decisions(training.paths, training.evaluations, SCALE_INPUTS, bias)
            pace, objective = Pace.of(training.steps), self._objective(state, SCALE_INPUTS)
        else:
            decisions, pace, objective = self._measure_machine(state, training.budget)
        if self.files and self.leads:
            self.files.keep(self.run, decisions, pace)
        return decisions, pace, objective

    def _measure_machine(self, state: State, budget: float) -> tuple[Decisions, Pace, Objective]:
        """How much of everything this machine can do within the budget."""
        training, team, share = self.run.training, self.team, SMALL_SHARE * budget
        bias = self._bias(Allowance(share)) if self.leads else None
        inputs = SCALE_INPUTS
        if self.leads:
            inputs = affordable_scale_inputs(self.run, self.family, Allowance(share), self.device)
        (inputs,) = map(int, team.decide(inputs))
        objective, paths = self._objective(state, inputs), training.paths
        if training.balance:
            found = choose_paths(
                objective.with_paths, state, paths, training.seed, Allowance(share)
            )
            (paths,) = map(int, team.decide(found))
        chosen, domain = objective.with_paths(paths), self.family.domain
        step = time_step(state, chosen, domain, training, team, enough=share)
        evaluations = self.evaluator.affordable(state.network.eval()) if self.leads else 1
        state.network.train()
        left = budget - self.clock.spent() - self.evaluator.reserved(evaluations) - SAVING
        evaluations, steps = map(int, team.decide(evaluations, max(FEWEST_STEPS, left / step)))
        return Decisions(paths, evaluations, inputs, bias), Pace.of(steps), objective

    def _objective(self, state: State, scale_inputs: int) -> Objective:
        return make_objective(self.run, self.family, state.network, scale_inputs)

    def _bias(self, allowance: Allowance) -> tuple[float, float] | None:
        """Discretisation error of the run's scheme on a few inputs, and its standard error."""
        run, family = self.run, self.family
        if weak_order(family, run.scheme) is None:
            return None

        seed = run.training.seed
        inputs = family.domain.sample(
            BIAS_INPUTS, make_generator(seed, "discretisation inputs", device=self.device)
        )
        found = pilot_bias(family, run.scheme, run.noise, inputs, BIAS_PATHS, seed, allowance)
        if found is None:
            return None
        l1, se = (part.abs().mean().item() for part in found)
        return (l1, se) if math.isfinite(l1 + se) else None

    def _hooks(
        self,
        state: State,
        decisions: Decisions,
        report: Callable[[Progress], bool | None] | None,
    ) -> Hooks:
        files, run, budget = self.files, self.run, self.run.training.budget

        def save(current: State) -> None:
            current.spent = self.clock.spent()
            if files:
                files.save(current, run.identity)

        def observe(progress: Progress) -> bool | None:
            if files and progress.record:
                files.write_metrics(state.history)
            return report(progress) if report else None

        hooks = Hooks(self.evaluator, observe, save)
        if budget is None:
            return hooks
        pacemaker = Pacemaker(
            budget,
            spent=self.clock.spent,
            reserved=lambda: self.evaluator.reserved(decisions.evaluations) + SAVING,
            aside=lambda: self.evaluator.spent,
        )
        keep = (lambda pace: files.keep(run, decisions, pace)) if files else hooks.keep
        return replace(hooks, end=pacemaker.end, keep=keep)

    def _finish(self, state: State, decisions: Decisions, pace: Pace) -> Solution:
        network, bias = state.network.eval().requires_grad_(False), decisions.bias
        budgeted = self.run.training.budget is not None
        pace = pace.closed() if budgeted else pace
        manifest = make_manifest(
            self.run,
            self.family.domain,
            steps=state.step,
            paths=decisions.paths,
            segments=list(pace.segments) if budgeted else [],
            seconds=self.clock.spent(),
            training_seconds=state.seconds,
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


def _warnings(run: Run, family: Family, decisions: Decisions, state: State) -> list[str]:
    """What is wrong with the result, one sentence each."""
    found, budget = [], run.training.budget
    if budget is not None and state.step < FEW_STEPS:
        found.append(
            f"only {state.step} training steps fit into {budget:g} seconds, too few to trust the "
            "result; give a larger budget, or a cheaper scheme."
        )
    if decisions.bias is None and weak_order(family, run.scheme) is not None:
        found.append(
            "the discretisation error of the scheme was not estimated, and the errors do not "
            "contain it; give a larger budget, or compare with a scheme of more steps."
        )
    return found + (warnings_of(state.history[-1]) if state.history else [])
