r"""The training loop: draw, compare, differentiate, update  (paper, Section 2).

The loop owns no files and no screen. What happens at evaluations, checkpoints and progress is
handed in as functions.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median

import torch

from feynkac.errors import Interrupted, NonFiniteError
from feynkac.families.domain import Domain
from feynkac.networks.network import Network
from feynkac.training.diagnosis import explain
from feynkac.training.interrupts import deferred_interrupts
from feynkac.training.objective import Batch, Objective, stack
from feynkac.training.settings import Training
from feynkac.training.state import Record, State
from feynkac.training.team import Alone, Team


@dataclass(frozen=True)
class Progress:
    """What a watcher sees after a step."""

    step: int
    steps: int
    loss: float
    seconds: float
    record: Record | None
    """The errors, if they were measured at this step."""


@dataclass(frozen=True)
class Hooks:
    """What the loop calls; each has a harmless default."""

    evaluate: Callable[[Network, int], Record] = lambda _network, _step: {}
    """Measures the error at a step."""
    report: Callable[[Progress], bool | None] = lambda _progress: None
    """Sees every step; answering True stops the run, as Ctrl-C does."""
    save: Callable[[State], None] = lambda _state: None
    """Makes the state durable."""


def train(
    state: State,
    objective: Objective,
    domain: Domain,
    training: Training,
    steps: int,
    hooks: Hooks = Hooks(),  # noqa: B008  (frozen)
    team: Team = Alone(),  # noqa: B008  (stateless)
) -> State:
    """Bring `state` to `steps` updates; hooks are the leader's.

    Raises:
        Interrupted: the user asked to stop; the state was saved first.
        NonFiniteError: a NaN or infinity arose; the last finite state was saved.
    """
    saved = time.monotonic()
    with deferred_interrupts() as stop:
        while state.step < steps:
            try:
                loss = update(state, objective, domain, training, steps, team)
            except NonFiniteError:
                _save(state, hooks, team)
                raise
            asked = team.rank == 0 and _tell(state, loss, training.evaluations, steps, hooks)
            due = time.monotonic() - saved > training.checkpoint_seconds
            stopping, due = map(bool, team.decide(stop.requested or asked, due))
            if stopping and state.step < steps:
                _save(state, hooks, team)
                raise Interrupted(f"stopped at step {state.step} of {steps}")
            if due:
                _save(state, hooks, team)
                saved = time.monotonic()
    return state


def _tell(state: State, loss: float, evaluations: int, steps: int, hooks: Hooks) -> bool:
    """Measure the error if it is time to, report; whether the answer was to stop."""
    due = _evaluation_due(state.step, steps, evaluations)
    record = _measure(state, loss, hooks) if due else None
    return hooks.report(Progress(state.step, steps, loss, state.seconds, record)) is True


def _save(state: State, hooks: Hooks, team: Team) -> None:
    """Keep what is finite."""
    team.share(state.streams)
    if team.rank == 0 and state.is_finite():
        hooks.save(state)


def update(
    state: State,
    objective: Objective,
    domain: Domain,
    training: Training,
    steps: int,
    team: Team = Alone(),  # noqa: B008  (stateless)
) -> float:
    """One step; returns its loss. A non-finite number stops it before the parameters change."""
    start = time.perf_counter()
    streams = team.mine(state.streams)
    before = [stream.get_state() for stream in streams]
    batch = stack([objective.sample(stream) for stream in streams])
    batch = team.gather(batch) if objective.whole else batch
    loss = objective.differentiate(state.network, batch, state.optimiser)
    gradients = [p.grad for p in state.network.parameters() if p.grad is not None]
    team.average([loss, *gradients])
    size = torch.nn.utils.get_total_norm(gradients)
    if not (loss.isfinite() and size.isfinite()):
        for stream, its_state in zip(streams, before, strict=True):
            stream.set_state(its_state)
        raise _explain(state, objective, batch, domain, team)
    rate = training.schedule.rate(training.optimiser.learning_rate, state.step, steps)
    for group in state.optimiser.param_groups:
        group["lr"] = rate
    state.optimiser.step()
    state.step += 1
    if state.step == steps and not state.is_finite():
        raise _explain(state, objective, batch, domain, team)
    value = loss.item()
    state.seconds += time.perf_counter() - start
    return value


def _explain(
    state: State, objective: Objective, batch: Batch, domain: Domain, team: Team
) -> NonFiniteError:
    """From the rows of all workers, as one of them may have caused it."""
    batch = batch if objective.whole else team.gather(batch)
    return explain(state.network, batch, domain, state.step + 1)


def steps_within(
    budget: float,
    state: State,
    objective: Objective,
    domain: Domain,
    training: Training,
    evaluate: Callable[[Network, int], Record],
    team: Team = Alone(),  # noqa: B008  (stateless)
) -> int:
    """How many steps fit into `budget` seconds beside the evaluations, from timing both.

    The steps taken here are undone, but their time counts: it stays in `state.seconds`.
    """
    start = time.perf_counter()
    before = state.tensors()
    durations: list[float] = []
    while len(durations) < 3 or (
        len(durations) < 20 and team.decide(time.perf_counter() - start)[0] < 0.1 * budget
    ):
        tick = state.seconds
        update(state, objective, domain, training, steps=10**9, team=team)
        durations.append(state.seconds - tick)
    state.restore(before)
    state.step = 0
    evaluating = 0.0
    if team.rank == 0:
        _evaluate(state, evaluate)  # a simulated reference is made once, now
        evaluating = training.evaluations * _time_evaluation(state, evaluate)
    state.seconds = time.perf_counter() - start
    fitting = (budget - state.seconds - evaluating) / median(durations[1:])
    return max(1, int(team.decide(fitting)[0]))


def _time_evaluation(state: State, evaluate: Callable[[Network, int], Record]) -> float:
    """At another step than the first, so that a closed form is evaluated anew, as it will be."""
    start = time.perf_counter()
    _evaluate(replace(state, step=state.step + 1), evaluate)
    return time.perf_counter() - start


def _evaluation_due(step: int, steps: int, evaluations: int) -> bool:
    return (step * evaluations) // steps > ((step - 1) * evaluations) // steps


def _measure(state: State, loss: float, hooks: Hooks) -> Record:
    errors = _evaluate(state, hooks.evaluate)
    record: Record = {"step": state.step, "seconds": state.seconds, "loss": loss, **errors}
    state.history.append(record)
    return record


def _evaluate(state: State, evaluate: Callable[[Network, int], Record]) -> Record:
    state.network.eval()
    with torch.compiler.set_stance("force_eager"):
        errors = evaluate(state.network, state.step)
    state.network.train()
    return errors
