r"""`solve(family)`: from coefficients to a Solution.

Wires the layers: check the family, draw the network, train it on simulated paths, measure its
error, and, given a folder, keep the run there so that the same call continues it.
"""

import functools
import json
import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from feynkac.analysis.metrics import Yardstick, make_yardstick
from feynkac.analysis.rehearsal import rehearse
from feynkac.errors import ArtifactError, InputError
from feynkac.families.conformance import check_family
from feynkac.families.family import ClosedForm, Family, outputs
from feynkac.files import locked, make_folder, write_atomically
from feynkac.networks.architecture import Architecture
from feynkac.networks.network import Network, make_network
from feynkac.networks.synchronised import synchronise
from feynkac.sampling.discretisation import relative_bias
from feynkac.sampling.noise import make_generator
from feynkac.sampling.path import weak_order
from feynkac.sampling.scheme import Scheme
from feynkac.solution import Solution
from feynkac.storage import MANIFEST, PLAN, Discretisation, make_manifest, read_artifact
from feynkac.training.allocation import choose_paths
from feynkac.training.fast import fast_setup
from feynkac.training.fitting import make_objective
from feynkac.training.loop import Hooks, Progress, steps_within, train
from feynkac.training.objective import Objective
from feynkac.training.paper import complete_paper_setup
from feynkac.training.run import Run, differences, record_family, run_to_dict
from feynkac.training.settings import Training, one_sentence, resolve_device
from feynkac.training.state import Record, State, load_checkpoint, save_checkpoint
from feynkac.training.team import Alone, Team, make_streams

Method = Literal["fast", "paper"]
METHODS = {"fast": fast_setup, "paper": complete_paper_setup}
CHECKPOINT = "checkpoint.safetensors"
BIAS_INPUTS, BIAS_PATHS = 64, 256  # to estimate the discretisation error with


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
    **training: Any,
) -> Solution:
    """Train one network for the whole family.

    Args:
        family: what to solve.
        method: "fast" is ours, "paper" the paper's with its settings.
        steps: number of updates; by default the method's.
        budget: wall-clock time instead, in seconds or as "60s", "20m".
        seed: determines the result.
        out: a folder for checkpoints and the artifact; the same call continues there.
        architecture: network settings; by default the method's.
        scheme: how paths are simulated; by default the method's.
        report: sees the `Progress` of every step; answering True stops the run, as Ctrl-C does.
        training: further fields of `Training`, such as `batch_size` or `compile`.

    Example:
        >>> import feynkac as fk
        >>> fk.solve(fk.BlackScholes(), steps=3, seed=0).manifest.parameters
        11073
    """
    started = time.perf_counter()
    lengths = {"steps": steps, "budget": budget, "seed": seed}
    run = plan_run(family, method, architecture, scheme, {**lengths, **training})
    return execute(run, family, Path(out) if out is not None else None, report, started)


@torch.inference_mode(False)  # and with gradients, whatever the caller does: pilots need them
def plan_run(
    family: Family,
    method: str,
    architecture: Architecture | None,
    scheme: Scheme | None,
    training: dict[str, Any],
) -> Run:
    """All settings of a run, from the method's defaults and the given ones; nothing is run."""
    if not isinstance(family, Family):
        raise InputError(f"solve expects a Family, got {type(family).__name__}.")
    check_family(family)
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; there are: {', '.join(METHODS)}.")
    if scheme is not None:
        scheme.check(family)
    setup = METHODS[method](family, scheme)
    rehearse(family, setup.scheme)
    given = {k: v for k, v in training.items() if v is not None}
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


@torch.inference_mode(False)  # likewise
def execute(
    run: Run,
    family: Family,
    folder: Path | None = None,
    report: Callable[[Progress], bool | None] | None = None,
    started: float | None = None,
    team: Team = Alone(),  # noqa: B008  (stateless)
) -> Solution:
    """Carry `run` out, or continue it, or hand back its finished result.

    A budget counts from `started`, by the clock of `time.perf_counter`. Every member of a `team`
    makes the same call, with a folder that all can read; the leader writes.
    """
    start = time.perf_counter() if started is None else started
    if folder is not None and (folder / MANIFEST).exists():
        return _finished(run, family, folder)
    resolve_device(run.training.device)  # refuse it before anything is written
    if folder is None:
        return _train(run, family, None, report, start, team)
    make_folder(folder)
    with locked(folder) if team.rank == 0 else nullcontext():
        return _train(run, family, folder, report, start, team)


def _train(
    run: Run,
    family: Family,
    folder: Path | None,
    report: Callable[[Progress], bool | None] | None,
    start: float,
    team: Team,
) -> Solution:
    device = resolve_device(run.training.device)
    state = _initial_state(run, family, device, team)
    objective = make_objective(run, family, state.network)
    evaluate = _evaluator(run, family, device)
    plan = _resume(run, state, folder, team) if folder is not None else None
    bias = _estimate_bias(run, family, device) if team.rank == 0 else None
    if plan is None:
        plan = _plan(run, family, state, objective, evaluate, start, team)
        if folder is not None and team.rank == 0:
            _write_plan(run, plan, folder)
    training = replace(run.training, paths=plan.paths)
    files = _RunFiles(folder, run.identity) if folder is not None else None
    hooks = Hooks(
        evaluate=evaluate,
        report=_observer(state, files, report),
        save=files.save if files else lambda _state: None,
    )
    objective = objective.with_paths(plan.paths)
    train(state, objective, family.domain, training, plan.steps, hooks, team)
    return _finish(run, family, state, plan, bias, folder if team.rank == 0 else None)


@dataclass(frozen=True)
class Plan:
    """What a run decides for itself when it starts, and keeps when it is resumed."""

    steps: int
    paths: int


def _plan(
    run: Run,
    family: Family,
    state: State,
    objective: Objective,
    evaluate: Callable[[Network, int], Record],
    start: float,
    team: Team,
) -> Plan:
    """Steps and paths as given, or found by timing; the time since `start` counts."""
    training = run.training
    if training.budget is None:
        assert training.steps is not None
        return Plan(training.steps, training.paths)
    paths = training.paths
    if training.balance:
        paths = choose_paths(objective.with_paths, state, paths, training.seed)
        paths = int(team.decide(paths)[0])
    spent = time.perf_counter() - start
    left, balanced = training.budget - spent, objective.with_paths(paths)
    steps = steps_within(left, state, balanced, family.domain, training, evaluate, team)
    state.seconds += spent
    return Plan(steps, paths)


def _estimate_bias(run: Run, family: Family, device: str) -> Discretisation | None:
    """Discretisation error of the run's scheme on a few inputs."""
    if weak_order(family, run.scheme) is None:
        return None
    generator = make_generator(run.training.seed, "discretisation", device=device)
    inputs = family.domain.sample(BIAS_INPUTS, generator)
    bias = relative_bias(family, run.scheme, run.noise, inputs, BIAS_PATHS, generator)
    l1, se = (part.abs().mean().item() for part in bias)
    return Discretisation(l1=l1, se=se) if math.isfinite(l1 + se) else None


@dataclass(frozen=True)
class _RunFiles:
    """The files of a run under way."""

    folder: Path
    identity: str

    def save(self, state: State) -> None:
        save_checkpoint(state, self.folder / CHECKPOINT, self.identity)

    def write_metrics(self, history: list[Record]) -> None:
        lines = "".join(json.dumps(record) + "\n" for record in history)
        write_atomically(self.folder / "metrics.jsonl", lines.encode())


def _initial_state(run: Run, family: Family, device: str, team: Team) -> State:
    training = run.training
    weights = make_generator(training.seed, "weights")
    network = make_network(run.architecture, family.domain, weights, outputs(family)).to(device)
    if team.size > 1:
        synchronise(network)
    if training.compile:
        network.compile_layers(device)
    generator, *further = make_streams(training.seed, training.workers, device)
    optimiser = training.optimiser.build(network)
    return State(network, optimiser, generator, further=further)


def _resume(run: Run, state: State, folder: Path, team: Team) -> Plan | None:
    """The plan of the run in `folder`, its checkpoint loaded; None if there is none."""
    plan = folder / PLAN
    begun, under_way = team.decide(plan.exists(), (folder / CHECKPOINT).exists())
    if not begun:
        return None
    try:
        saved = json.loads(plan.read_bytes())
        theirs, steps, paths = saved["run"], int(saved["steps"]), int(saved["paths"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ArtifactError(f"{plan} is damaged; choose another folder.") from error
    _require_same(run, theirs, folder)
    if steps < 1 or paths < 1 or run.training.steps not in (None, steps):
        raise ArtifactError(f"{plan} is damaged; choose another folder.")
    if under_way:
        load_checkpoint(state, folder / CHECKPOINT, run.identity)
    return Plan(steps, paths)


def _write_plan(run: Run, plan: Plan, folder: Path) -> None:
    """Write down the settings and what was decided, which a resumed run must share."""
    content = json.dumps({"run": run_to_dict(run), **asdict(plan)}, indent=1)
    write_atomically(folder / PLAN, content.encode())


def _finish(
    run: Run,
    family: Family,
    state: State,
    plan: Plan,
    bias: Discretisation | None,
    folder: Path | None,
) -> Solution:
    network = state.network.eval().requires_grad_(False)
    manifest = make_manifest(
        run,
        family.domain,
        state.step,
        state.seconds,
        network.parameter_count,
        state.history,
        plan.paths,
        bias,
    )
    solution = Solution(family, network, manifest)
    if folder is not None:
        solution.save(folder)
        (folder / CHECKPOINT).unlink(missing_ok=True)
    return solution


def _finished(run: Run, family: Family, folder: Path) -> Solution:
    manifest, _ = read_artifact(folder)
    _require_same(run, run_to_dict(manifest.run), folder)
    return Solution.load(folder, family)


def _require_same(run: Run, theirs: dict[str, Any], folder: Path) -> None:
    if found := differences(run_to_dict(run), theirs):
        raise ArtifactError(
            f"{folder} holds a run with other settings ({'; '.join(found[:3])}); "
            "choose another folder (--out), or delete that one."
        )


def _evaluator(run: Run, family: Family, device: str) -> Callable[[Network, int], Record]:
    """Fresh inputs each time if u is known there, otherwise the same simulated values."""

    @functools.lru_cache(maxsize=1)
    def yardstick(*stream: int) -> Yardstick:
        generator = make_generator(run.training.seed, "evaluation", *stream, device=device)
        return make_yardstick(family, run.scheme, generator, noise=run.noise)

    def evaluate(network: Network, step: int) -> Record:
        stream = (step,) if isinstance(family, ClosedForm) else ()
        return yardstick(*stream).measure(network).record()

    return evaluate


def _observer(
    state: State, files: _RunFiles | None, report: Callable[[Progress], bool | None] | None
) -> Callable[[Progress], bool | None]:
    def observe(progress: Progress) -> bool | None:
        if files and progress.record:
            files.write_metrics(state.history)
        return report(progress) if report else None

    return observe
