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
from feynkac.training.objective import Objective
from feynkac.training.settings import Training
from feynkac.training.state import Record, State


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
    report: Callable[[Progress], None] = lambda _progress: None
    """Sees every step."""
    save: Callable[[State], None] = lambda _state: None
    """Makes the state durable."""


def train(
    state: State,
    objective: Objective,
    domain: Domain,
    training: Training,
    steps: int,
    hooks: Hooks = Hooks(),  # noqa: B008  (frozen)
) -> State:
    """Bring `state` to `steps` updates.

    Raises:
        Interrupted: the user asked to stop; the state was saved first.
        NonFiniteError: a NaN or infinity arose; the last finite state was saved.
    """
    saved = time.monotonic()
    with deferred_interrupts() as stop:
        while state.step < steps:
            try:
                loss = update(state, objective, domain, training, steps)
            except NonFiniteError:
                if state.is_finite():
                    hooks.save(state)
                raise
            record = None
            if _evaluation_due(state.step, steps, training.evaluations):
                record = _measure(state, loss, hooks)
            hooks.report(Progress(state.step, steps, loss, state.seconds, record))
            if stop.requested and state.step < steps:
                if state.is_finite():
                    hooks.save(state)
                raise Interrupted(f"stopped at step {state.step} of {steps}")
            if time.monotonic() - saved > training.checkpoint_seconds and state.is_finite():
                hooks.save(state)
                saved = time.monotonic()
    return state


def update(
    state: State, objective: Objective, domain: Domain, training: Training, steps: int
) -> float:
    """One step; returns its loss. A non-finite number stops it before the parameters change."""
    start = time.perf_counter()
    before = state.generator.get_state()
    batch = objective.sample(state.generator)
    loss = objective.differentiate(state.network, batch, state.optimiser)
    gradients = [p.grad for p in state.network.parameters() if p.grad is not None]
    size = torch.nn.utils.get_total_norm(gradients)
    if not (loss.isfinite() and size.isfinite()):
        state.generator.set_state(before)
        raise explain(state.network, batch, domain, state.step + 1)
    rate = training.schedule.rate(training.optimiser.learning_rate, state.step, steps)
    for group in state.optimiser.param_groups:
        group["lr"] = rate
    state.optimiser.step()
    state.step += 1
    if state.step == steps and not state.is_finite():
        raise explain(state.network, batch, domain, state.step + 1)
    value = loss.item()
    state.seconds += time.perf_counter() - start
    return value


def steps_within(
    budget: float,
    state: State,
    objective: Objective,
    domain: Domain,
    training: Training,
    evaluate: Callable[[Network, int], Record],
) -> int:
    """How many steps fit into `budget` seconds beside the evaluations, from timing both.

    The steps taken here are undone, but their time counts: it stays in `state.seconds`.
    """
    start = time.perf_counter()
    before = state.tensors()
    durations: list[float] = []
    while len(durations) < 3 or (
        len(durations) < 20 and time.perf_counter() - start < 0.1 * budget
    ):
        tick = state.seconds
        update(state, objective, domain, training, steps=10**9)
        durations.append(state.seconds - tick)
    state.restore(before)
    state.step = 0
    _evaluate(state, evaluate)  # a simulated reference is made once, now
    state.seconds = time.perf_counter() - start
    evaluating = training.evaluations * _time_evaluation(state, evaluate)
    return max(1, int((budget - state.seconds - evaluating) / median(durations[1:])))


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
