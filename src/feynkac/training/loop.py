r"""The training loop: draw, compare, differentiate, update  (paper, Section 2).

The loop knows no files and no screen. The caller passes functions for evaluations, checkpoints and
progress.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from feynkac.errors import Interrupted, NonFiniteError
from feynkac.families.domain import Domain
from feynkac.files import tolerated
from feynkac.networks.network import Network
from feynkac.training.diagnosis import explain, explain_algebra, explain_parameters
from feynkac.training.interrupts import deferred_interrupts
from feynkac.training.objective import Batch, Objective, stack
from feynkac.training.pace import Pace
from feynkac.training.settings import Training
from feynkac.training.state import Record, State
from feynkac.training.team import Alone, Team

LearningRate = Callable[[int, float], float]
"""The learning rate of a step, given its number and the completed fraction of the run."""


@dataclass(frozen=True)
class Progress:
    """The state of a run after a step, for `report`.

    Example:
        >>> Progress(step=3, steps=10, loss=0.5, seconds=0.1, record=None).step
        3
    """

    step: int
    steps: int
    loss: float
    seconds: float
    record: Record | None
    """The errors, if they were measured at this step."""


@dataclass(frozen=True)
class Hooks:
    """Functions that the loop calls; by default they do nothing."""

    evaluate: Callable[[Network, int], Record] = lambda _network, _step: {}
    """Measures the error at a step."""
    report: Callable[[Progress], bool | None] = lambda _progress: None
    """Called after every step; returning True stops the run, as Ctrl-C does."""
    save: Callable[[State], None] = lambda _state: None
    """Saves the state."""
    end: Callable[[int, Pace], int] = lambda _step, pace: pace.steps
    """Called after a step; returns the step at which the run ends now."""
    keep: Callable[[Pace], None] = lambda _pace: None
    """Saves a new pace, before the first step that uses it."""


def train(
    state: State,
    objective: Objective,
    domain: Domain,
    training: Training,
    rate: LearningRate,
    pace: Pace,
    hooks: Hooks = Hooks(),  # noqa: B008  (frozen)
    team: Team = Alone(),  # noqa: B008  (stateless)
) -> Pace:
    """Train `state` to the end of `pace`, which may move; only the leader calls the hooks.

    Raises:
        Interrupted: the user requested a stop; the state was saved first.
        NonFiniteError: a NaN or infinity arose; the last finite state was saved.
    """
    saved = time.monotonic()
    with deferred_interrupts() as stop:
        while state.step < pace.steps:
            try:
                loss = update(state, objective, domain, rate, pace, team)
            except NonFiniteError:
                with tolerated():  # the NaN matters more
                    _save(state, hooks, team)
                raise
            end = _new_end(state.step, pace, hooks) if team.rank == 0 else pace.steps
            asked = team.rank == 0 and _tell(state, loss, training.evaluations, pace, end, hooks)
            late = time.monotonic() - saved > training.checkpoint_seconds
            stopping, saving, end = map(int, team.decide(stop.requested or asked, late, end))
            pace = pace.ending(state.step, end)
            if stopping and state.step < pace.steps:
                _save(state, hooks, team)
                raise Interrupted(f"stopped at step {state.step} of {pace.steps}")
            if saving:
                with tolerated():
                    _save(state, hooks, team)
                saved = time.monotonic()
    if not state.is_finite():
        raise explain_parameters(state.network, state.step)
    return pace


def _new_end(step: int, pace: Pace, hooks: Hooks) -> int:
    """The step at which the run ends now; saved if it has changed."""
    end = hooks.end(step, pace)
    if end != pace.steps:
        hooks.keep(pace.ending(step, end))
    return end


def _tell(state: State, loss: float, evaluations: int, pace: Pace, end: int, hooks: Hooks) -> bool:
    """Measure the error if an evaluation is due, then report; returns whether to stop."""
    before, pace = pace.fraction(state.step - 1), pace.ending(state.step, end)
    due = _due(pace.fraction(state.step), evaluations) > _due(before, evaluations)
    record = _measure(state, loss, hooks) if due else None
    return hooks.report(Progress(state.step, pace.steps, loss, state.seconds, record)) is True


def _due(done: float, evaluations: int) -> int:
    """Number of evaluations that are due after a fraction of the run."""
    return int(done * evaluations + 1e-9)


def _save(state: State, hooks: Hooks, team: Team) -> None:
    """Save the state if it is finite."""
    team.share(state.streams)
    if team.rank == 0 and state.is_finite():
        hooks.save(state)


def update(
    state: State,
    objective: Objective,
    domain: Domain,
    rate: LearningRate,
    pace: Pace,
    team: Team = Alone(),  # noqa: B008  (stateless)
) -> float:
    """One step; returns its loss. A NaN or infinity stops it before the parameters change."""
    start = time.perf_counter()
    streams = team.mine(state.streams)
    with _undone_if_it_fails(state, streams):
        batch = stack([objective.sample(stream) for stream in streams])
        batch = team.gather(batch) if objective.whole else batch
        loss = objective.differentiate(state.network, batch, state.optimiser)
        gradients = [p.grad for p in state.network.parameters() if p.grad is not None]
        team.average([loss, *gradients])
        size = torch.nn.utils.get_total_norm(gradients)
        if not (loss.isfinite() and size.isfinite()):
            raise _explain(state, objective, batch, domain, team)
    learning_rate = rate(state.step, pace.fraction(state.step))
    for group in state.optimiser.param_groups:
        group["lr"] = learning_rate
    state.optimiser.step()
    state.step += 1
    value = loss.item()
    state.seconds += time.perf_counter() - start
    return value


@contextmanager
def _undone_if_it_fails(state: State, streams: Sequence[torch.Generator]) -> Iterator[None]:
    """Streams, and running means of the network, as before if a NaN arises or algebra fails."""
    before = [stream.get_state() for stream in streams]
    buffers = [(buffer, buffer.clone()) for buffer in state.network.core.buffers()]
    try:
        yield
    except (NonFiniteError, torch.linalg.LinAlgError) as error:  # type: ignore[attr-defined]
        for stream, its_state in zip(streams, before, strict=True):
            stream.set_state(its_state)
        for buffer, value in buffers:
            buffer.copy_(value)
        if isinstance(error, NonFiniteError):
            raise
        raise explain_algebra(error, state.step + 1) from error


def _explain(
    state: State, objective: Objective, batch: Batch, domain: Domain, team: Team
) -> NonFiniteError:
    """The error, from the rows of all workers: any of them may have caused it."""
    batch = batch if objective.whole else team.gather(batch)
    return explain(state.network, batch, domain, state.step + 1)


def time_step(
    state: State,
    objective: Objective,
    domain: Domain,
    rate: LearningRate,
    team: Team = Alone(),  # noqa: B008  (stateless)
    enough: float = math.inf,
) -> float:
    """Seconds of the second of two steps, or of the first if it took `enough`; both are undone."""
    before, step = state.tensors(), state.step
    seconds = 0.0
    for _ in range(2):  # the first compiles, where something is compiled
        seconds = state.seconds
        update(state, objective, domain, rate, Pace.of(10**9), team)
        seconds, state.seconds = state.seconds - seconds, seconds
        if team.decide(seconds)[0] > enough:
            break
    state.restore(before)
    state.step = step
    return seconds


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
