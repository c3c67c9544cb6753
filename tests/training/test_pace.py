"""A pace is a fraction of the run by step; the pacemaker keeps a budget whatever the load does."""

import math
import random

import pytest

from feynkac.training.pace import Pace, Pacemaker, Segment, read_pace

# The fraction that is done


def test_a_run_of_n_steps_is_done_by_nths_to_the_bit():
    assert [Pace.of(7).fraction(k) for k in range(8)] == [k / 7 for k in range(8)]


def test_a_new_end_keeps_what_is_done_and_spreads_the_rest_evenly():
    pace = Pace.of(10).ending(at=4, end=16).ending(at=10, end=12)
    done = [pace.fraction(k) for k in range(13)]
    assert done[:5] == [0.0, 0.1, 0.2, 0.3, 0.4]
    assert done[10] == pytest.approx(0.7)
    assert done[11:] == [pytest.approx(0.85), 1.0]
    assert done == sorted(done)


def test_an_end_at_once_is_the_end():
    pace = Pace.of(10).ending(at=4, end=4)
    assert (pace.fraction(3), pace.fraction(4), pace.steps, pace.settled) == (0.3, 1.0, 4, 4)


def test_the_same_end_is_no_new_segment():
    assert Pace.of(10).ending(at=4, end=10).segments == (Segment(0, 10),)


@pytest.mark.parametrize(
    "segments",
    [[], [[1, 5]], [[0, 5], [3, 2]], [[0, 5], [4, 8], [2, 9]], [[0, 1.5]], [[0, True]], [[0]], [5]],
)
def test_what_is_no_pace_is_refused(segments):
    with pytest.raises((ValueError, TypeError)):
        read_pace(segments)


def test_a_pace_is_read_back():
    pace = Pace.of(10).ending(at=4, end=16)
    assert read_pace([list(segment) for segment in pace.segments]) == pace


# Keeping a budget


def run(budget, step_time, *, guess, evaluation=0.0, evaluations=10, start=0.0):
    """A run on a clock of its own: seconds when it ends, its steps, and its pace.

    A step begun at time s takes `step_time(s)`; evaluations are spread over the fraction done.
    """
    clock, aside, measured, step, pace = start, 0.0, 0, 0, Pace.of(guess)

    def reserved():
        return evaluation * max(1, evaluations - measured)

    maker = Pacemaker(budget, lambda: clock, reserved, lambda: aside)
    while step < pace.steps:
        clock += step_time(clock)
        step += 1
        pace = pace.ending(step, maker.end(step, pace))
        if int(pace.fraction(step) * evaluations + 1e-9) > measured:
            measured = int(pace.fraction(step) * evaluations + 1e-9)
            clock, aside = clock + evaluation, aside + evaluation
    return clock, step, pace


BUDGET, STEP = 60.0, 0.05
noise = random.Random(0)
LOADS = {
    "quiet": lambda _s: 1.0,
    "busy all the time": lambda _s: 4.0,
    "busy from the middle on": lambda s: 1.0 if s < 30 else 4.6,
    "busy at first": lambda s: 5.0 if s < 20 else 1.0,
    "busy every ten seconds": lambda s: 3.5 if int(s / 10) % 2 else 1.0,
    "slower and slower": lambda s: 1.0 + s / 15,
    "now and then a long pause": lambda _s: 40.0 if noise.random() < 0.01 else 1.0,
    "quiet in the last seconds": lambda s: 6.0 if s < 55 else 1.0,
}


@pytest.mark.parametrize("guess", [60, 1200, 30_000], ids=lambda steps: f"guess {steps}")
@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
def test_a_budget_is_kept_under_every_load(load, guess):
    durations = []

    def step_time(clock):
        durations.append(STEP * load(clock))
        return durations[-1]

    end, steps, pace = run(BUDGET, step_time, guess=guess, evaluation=0.1)
    assert 0.98 * BUDGET <= end <= 1.01 * BUDGET + max(durations)  # a step is not cut short
    assert pace.fraction(steps) == 1.0
    assert len(pace.segments) < 60


def test_a_rule_that_estimates_once_would_fail():
    """What the traces are for: steps extrapolated at the start miss the budget by far."""
    ends = []
    for load in LOADS.values():
        clock, steps = 0.0, int(BUDGET / (STEP * load(0.0)))
        for _ in range(steps):
            clock += STEP * load(clock)
        ends.append(clock / BUDGET)
    assert min(ends) < 0.5
    assert max(ends) > 2.0


def test_a_few_long_steps_stay_near_the_budget():
    end, steps, _ = run(10.0, lambda _s: 1.1, guess=100)
    assert steps == 9
    assert end == pytest.approx(9.9)


def test_a_budget_that_is_gone_before_the_first_step_is_one_step():
    _, steps, _ = run(1.0, lambda _s: 0.1, guess=50, start=2.0)
    assert steps == 1


def test_time_for_evaluations_is_kept_back():
    end, _, _ = run(60.0, lambda _s: 0.05, guess=1200, evaluation=0.9)
    assert end == pytest.approx(60.0, rel=0.01)


def test_what_was_written_down_is_repeated_without_a_look_at_the_clock():
    pace = Pace.of(10).ending(at=4, end=20)
    maker = Pacemaker(1.0, lambda: math.inf, lambda: 0.0)
    assert [maker.end(step, pace) for step in (1, 2, 3, 20)] == [20, 20, 20, 20]
    assert maker.end(4, pace) == 4
