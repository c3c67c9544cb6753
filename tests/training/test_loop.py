"""The loop evaluates and saves on time, stops cleanly and lets nothing non-finite through."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import pytest
import torch

from feynkac.analysis.metrics import make_yardstick
from feynkac.errors import Interrupted, NonFiniteError
from feynkac.families import BlackScholes
from feynkac.networks.multilevel import Multilevel
from feynkac.networks.network import make_network
from feynkac.sampling.schemes.exact import Exact
from feynkac.training.interrupts import SIGNALS
from feynkac.training.loop import Hooks, time_step, train, update
from feynkac.training.objective import Batch, MeanSquare, Objective
from feynkac.training.optimisers.optimiser import SGD, AdamW
from feynkac.training.pace import Pace, Segment
from feynkac.training.schedules import LinearDecay, StepDecay
from feynkac.training.settings import Training
from feynkac.training.state import State

FAMILY = BlackScholes()
DOMAIN = FAMILY.domain
OBJECTIVE = MeanSquare(FAMILY, Exact(), batch_size=32)


@dataclass(frozen=True)
class Poisoned(Objective):
    """The ordinary objective until its n-th sample, which has one NaN among its labels."""

    nth: int
    drawn: list[Batch] = field(default_factory=list)

    def sample(self, generator):
        batch = OBJECTIVE.sample(generator)
        self.drawn.append(batch)
        if len(self.drawn) == self.nth:
            batch.values[5] = torch.nan
        return batch

    def with_paths(self, paths):
        return self

    def differentiate(self, network, batch, optimiser):
        return OBJECTIVE.differentiate(network, batch, optimiser)


@dataclass(frozen=True)
class Slow(Objective):
    """The ordinary objective, but a sample takes at least `seconds`."""

    seconds: float

    def sample(self, generator):
        time.sleep(self.seconds)
        return OBJECTIVE.sample(generator)

    def with_paths(self, paths):
        return self

    def differentiate(self, network, batch, optimiser):
        return OBJECTIVE.differentiate(network, batch, optimiser)


class Chosen(NamedTuple):
    """What the loop is told, and the optimiser whose learning rate it sets."""

    training: Training
    rate: Callable[[int, float], float]


def choose(optimiser=AdamW(), schedule=StepDecay(), **training):  # noqa: B008  (frozen)
    def rate(step, done):
        return schedule.rate(optimiser.learning_rate, step, done)

    rate.optimiser = optimiser
    return Chosen(Training(**training), rate)


def fresh_state(chosen, norm="batch"):
    architecture = Multilevel(levels=2, factor=3, norm=norm)
    network = make_network(architecture, DOMAIN, torch.Generator().manual_seed(0))
    return State(network, chosen.rate.optimiser.build(network), torch.Generator().manual_seed(0))


def trained(steps, hooks=Hooks(), objective=OBJECTIVE, **settings):  # noqa: B008
    chosen = choose(steps=steps, **settings)
    state = fresh_state(chosen)
    train(state, objective, DOMAIN, *chosen, Pace.of(steps), hooks)
    return state


def learned(state):
    """Parameters and moments: what an update changes on purpose."""
    aside = ("generator", "running_mean", "running_var", "num_batches_tracked")
    return {k: v for k, v in state.tensors().items() if not k.endswith(aside)}


def assert_same(first, second):
    assert first.keys() == second.keys()
    for name in first:
        torch.testing.assert_close(first[name], second[name], rtol=0, atol=0, equal_nan=True)


# One update


def test_an_update_is_one_step_of_the_optimiser_on_fresh_data():
    """SGD without momentum: θ ← θ − η ∇loss."""
    chosen = choose(steps=1, optimiser=SGD(learning_rate=0.1, momentum=0.0))
    state, twin = fresh_state(chosen), fresh_state(chosen)
    expected = OBJECTIVE.loss(twin.network, OBJECTIVE.sample(twin.generator))
    expected.backward()
    assert update(state, OBJECTIVE, DOMAIN, chosen.rate, Pace.of(1)) == expected.item()
    for new, old in zip(state.network.parameters(), twin.network.parameters(), strict=True):
        torch.testing.assert_close(new, old - 0.1 * old.grad)
    assert state.step == 1
    assert state.seconds > 0


def test_the_learning_rate_follows_the_schedule():
    schedule = StepDecay(decay=0.5, patience=2)
    chosen = choose(steps=6, optimiser=AdamW(0.01), schedule=schedule)
    state, rates = fresh_state(chosen), []
    for _ in range(6):
        update(state, OBJECTIVE, DOMAIN, chosen.rate, Pace.of(6))
        rates.append(state.optimiser.param_groups[0]["lr"])
    assert rates == [0.01, 0.01, 0.005, 0.005, 0.0025, 0.0025]


def test_training_beats_the_trivial_predictions(generator):
    state = trained(
        400,
        objective=MeanSquare(FAMILY, Exact(), batch_size=512),
        optimiser=AdamW(1e-2),
        schedule=StepDecay(decay=0.25, patience=100),
    )
    yardstick = make_yardstick(FAMILY, Exact(), generator, inputs=5000)
    errors = yardstick.measure(state.network.eval())
    assert errors.l1 + 4.5 * errors.l1_se < errors.linear_baseline < errors.mean_baseline


def test_the_seed_and_settings_determine_the_result():
    assert_same(trained(5).tensors(), trained(5).tensors())


# Evaluations, reports and checkpoints


@pytest.mark.parametrize(
    ("steps", "evaluations"), [(10, 10), (10, 3), (7, 2), (3, 10), (1, 1), (1, 5), (23, 7)]
)
def test_evaluations_are_as_many_as_asked_and_the_last_is_at_the_end(steps, evaluations):
    asked = []

    def evaluate(network, step):
        asked.append(step)
        return {"l1": 0.5}

    history = trained(steps, Hooks(evaluate=evaluate), evaluations=evaluations).history
    assert asked == [record["step"] for record in history]
    assert len(history) == min(steps, evaluations)
    assert history[-1]["step"] == steps
    gaps = {b - a for a, b in pairwise([0, *asked])}
    assert max(gaps) - min(gaps) <= 1


def test_a_record_holds_step_time_loss_and_the_errors():
    reports = []
    history = trained(
        4, Hooks(evaluate=lambda _n, _s: {"l1": 0.5}, report=reports.append), evaluations=2
    ).history
    assert list(history[0]) == ["step", "seconds", "loss", "l1"]
    assert [r.record for r in reports] == [None, history[0], None, history[1]]
    assert [r["loss"] for r in history] == [reports[1].loss, reports[3].loss]


def test_every_step_is_reported():
    reports = []
    trained(5, Hooks(report=reports.append))
    assert [(r.step, r.steps) for r in reports] == [(k, 5) for k in range(1, 6)]
    assert all(a.seconds < b.seconds for a, b in pairwise(reports))


def test_evaluation_happens_in_evaluation_mode_and_does_not_disturb_training():
    modes = []

    def evaluate(network, step):
        modes.append(network.training)
        network(DOMAIN.sample(16, torch.Generator().manual_seed(step)))
        return {}

    often = trained(6, Hooks(evaluate=evaluate), evaluations=6)
    assert modes == [False] * 6
    assert often.network.training
    assert_same(often.tensors(), trained(6, evaluations=1).tensors())


@pytest.mark.parametrize(("interval", "saved"), [(1e-9, [1, 2, 3, 4]), (1e9, [])])
def test_checkpoints_are_saved_at_their_interval(interval, saved):
    steps = []
    trained(4, Hooks(save=lambda s: steps.append(s.step)), checkpoint_seconds=interval)
    assert steps == saved


def test_training_continues_from_the_step_it_is_at():
    chosen, steps = choose(steps=6), []
    state = fresh_state(chosen)
    train(state, OBJECTIVE, DOMAIN, *chosen, Pace.of(3))
    train(
        state, OBJECTIVE, DOMAIN, *chosen, Pace.of(6), Hooks(report=lambda r: steps.append(r.step))
    )
    assert steps == [4, 5, 6]
    assert_same(state.tensors(), trained(6).tensors())
    train(state, OBJECTIVE, DOMAIN, *chosen, Pace.of(6))
    assert state.step == 6


# Stopping


def stopping_at(step, number, saved):
    """Hooks that send a real signal to this process in the middle of a step."""

    def report(progress):
        if progress.step == step:
            os.kill(os.getpid(), number)

    return Hooks(report=report, save=lambda state: saved.append(state.step))


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_saves_once_and_stops_after_the_step_under_way(number):
    before, saved = [signal.getsignal(s) for s in SIGNALS], []
    with pytest.raises(Interrupted, match="stopped at step 3 of 10"):
        trained(10, stopping_at(3, number, saved))
    assert saved == [3]
    assert [signal.getsignal(s) for s in SIGNALS] == before


def test_a_stopped_run_continues_to_the_same_result():
    chosen = choose(steps=6)
    state = fresh_state(chosen)
    with pytest.raises(Interrupted, match="step 2 of 6"):
        train(state, OBJECTIVE, DOMAIN, *chosen, Pace.of(6), stopping_at(2, signal.SIGINT, []))
    train(state, OBJECTIVE, DOMAIN, *chosen, Pace.of(6))
    assert_same(state.tensors(), trained(6).tensors())


def test_a_signal_during_the_last_step_lets_the_run_finish():
    saved = []
    assert trained(3, stopping_at(3, signal.SIGTERM, saved)).step == 3
    assert saved == []


# NaN and infinity


def test_a_bad_label_stops_the_run_at_its_step_with_the_last_good_parameters():
    saved, chosen = [], choose(steps=10, checkpoint_seconds=1e-9)
    state = fresh_state(chosen)
    hooks = Hooks(save=lambda s: saved.append(s.step))
    with pytest.raises(NonFiniteError, match=r"step 4: .* in 1 of 32 simulated paths, first at x="):
        train(state, Poisoned(nth=4), DOMAIN, *chosen, Pace.of(10), hooks)
    assert saved == [1, 2, 3, 3]  # the last time on the way out
    assert state.step == 3
    assert_same(learned(state), learned(trained(3)))


@pytest.mark.parametrize("where", ["sample", "differentiate"])
def test_a_matrix_that_cannot_be_factored_stops_the_run_as_a_nan_does(where):
    """Real linear algebra fails, in the labels or in the optimiser, at the third step."""
    calls, saved = [], []

    class Failing(MeanSquare):
        def sample(self, generator):
            found = super().sample(generator)
            calls.append("sample")
            if where == "sample" and len(calls) == 3:
                torch.linalg.cholesky(-torch.eye(2))
            return found

        def differentiate(self, network, batch, optimiser):
            if where == "differentiate" and len(calls) == 3:
                torch.linalg.cholesky(-torch.eye(2))
            return super().differentiate(network, batch, optimiser)

    failing = Failing(OBJECTIVE.family, OBJECTIVE.scheme, OBJECTIVE.batch_size)
    hooks = Hooks(save=lambda state: saved.append((state.step, state.tensors())))
    with pytest.raises(NonFiniteError, match=r"step 3: linear algebra failed \(linalg.cholesky"):
        trained(5, hooks, objective=failing)
    assert [step for step, _ in saved] == [2]
    assert_same(saved[0][1], trained(2).tensors())


def spoil_parameter(network):
    with torch.no_grad():
        network.core.levels[0][0].linear.weight[0, 0] = torch.nan


def spoil_layer(network):
    with torch.no_grad():
        network.core.entries[1].weight.fill_(3e38)


def spoil_gradient(network):
    network.core.entries[0].weight.register_hook(lambda gradient: gradient * torch.inf)


@pytest.mark.parametrize("optimiser", [AdamW(), SGD()])
@pytest.mark.parametrize(
    ("spoil", "place"),
    [
        (spoil_parameter, "in the parameter core.levels.0.0.linear.weight"),
        (spoil_layer, "in the output of the layer core.entries.1"),
        (spoil_gradient, "in the gradient of core.entries.0.weight"),
    ],
)
def test_an_update_names_the_place_before_anything_changes(spoil, place, optimiser):
    chosen = choose(steps=5, optimiser=optimiser)
    state = fresh_state(chosen)
    update(state, OBJECTIVE, DOMAIN, chosen.rate, Pace.of(5))
    spoil(state.network)
    before = learned(state)
    with pytest.raises(NonFiniteError, match=f"step 2: a NaN or infinity arose {place}"):
        update(state, OBJECTIVE, DOMAIN, chosen.rate, Pace.of(5))
    assert_same(learned(state), before)
    assert state.step == 1


@pytest.mark.parametrize(
    ("optimiser", "place"),
    [
        (AdamW(1e30, weight_decay=0.0), "in the output of the layer core"),
        (SGD(1e30), "in the output of the layer core"),
        (SGD(3e38), "in the parameter core"),
    ],
)
def test_a_learning_rate_that_overshoots_is_noticed_at_the_next_step(optimiser, place):
    chosen = choose(steps=5, optimiser=optimiser)
    state = fresh_state(chosen, norm="none")
    update(state, OBJECTIVE, DOMAIN, chosen.rate, Pace.of(5))
    with pytest.raises(NonFiniteError, match=rf"step 2: .*{place}.*lower the learning rate"):
        update(state, OBJECTIVE, DOMAIN, chosen.rate, Pace.of(5))


# A length that moves


def test_timing_a_step_leaves_the_state_as_it_was():
    chosen = choose(budget=0.1)
    state = fresh_state(chosen)
    before = state.tensors()
    assert time_step(state, Slow(0.02), DOMAIN, chosen.rate) >= 0.02
    assert_same(state.tensors(), before)
    assert (state.step, state.seconds, state.history) == (0, 0.0, [])
    train(state, OBJECTIVE, DOMAIN, *chosen, Pace.of(3))
    assert_same(state.tensors(), trained(3).tensors())


def moving(plan, kept, **hooks):
    """Hooks that move the end to `plan[step]` after a step, and note what is written down."""
    return Hooks(
        end=lambda step, pace: plan.get(step, pace.steps),
        keep=lambda pace: kept.append((pace, len(kept))),
        **hooks,
    )


SETTINGS = {"schedule": LinearDecay(warmup=1), "evaluations": 2}


def test_the_end_moves_when_it_is_told_to():
    chosen, kept, steps = choose(budget=1.0, **SETTINGS), [], []
    state = fresh_state(chosen)
    hooks = moving({2: 8, 5: 6}, kept, report=lambda p: steps.append((p.step, p.steps)))
    pace = train(state, OBJECTIVE, DOMAIN, *chosen, Pace.of(4), hooks)
    assert pace.segments == (Segment(0, 4), Segment(2, 8), Segment(5, 6))
    assert [found for found, _ in kept] == [
        Pace((Segment(0, 4), Segment(2, 8))),
        pace,
    ]
    assert steps == [(1, 4), (2, 8), (3, 8), (4, 8), (5, 6), (6, 6)]
    assert [record["step"] for record in state.history] == [2, 6]


def test_a_new_end_is_written_down_before_the_first_step_that_uses_it():
    """The learning rate of a step is the one of the last pace that was kept."""
    chosen, kept = choose(budget=1.0, **SETTINGS), [(Pace.of(4), 0)]
    state, rates = fresh_state(chosen), []

    def look(progress):
        rates.append(state.optimiser.param_groups[0]["lr"])

    train(state, OBJECTIVE, DOMAIN, *chosen, Pace.of(4), moving({2: 8}, kept, report=look))
    initial = chosen.rate.optimiser.learning_rate
    done = [kept[0 if k <= 2 else 1][0].fraction(k) for k in range(8)]
    assert rates == pytest.approx([initial * (1.0 - s) for s in done])


def test_a_run_that_ends_at_once_is_measured_there():
    chosen = choose(budget=1.0, **SETTINGS)
    state = fresh_state(chosen)
    pace = train(state, OBJECTIVE, DOMAIN, *chosen, Pace.of(9), moving({3: 3}, []))
    assert (pace.steps, state.step, state.history[-1]["step"]) == (3, 3, 3)


def test_a_run_continued_with_its_segments_repeats_them_to_the_bit():
    chosen = choose(budget=1.0, **SETTINGS)
    first, again = fresh_state(chosen), fresh_state(chosen)
    pace = train(first, OBJECTIVE, DOMAIN, *chosen, Pace.of(4), moving({2: 8, 5: 6}, []))
    train(again, OBJECTIVE, DOMAIN, *chosen, pace)
    assert_same(first.tensors(), again.tensors())


def test_parameters_that_the_last_update_made_infinite_are_no_result():
    chosen = choose(steps=1, optimiser=SGD(3e38))
    with pytest.raises(NonFiniteError, match=r"step 1: .* in the parameter core"):
        train(fresh_state(chosen, norm="none"), OBJECTIVE, DOMAIN, *chosen, Pace.of(1))
