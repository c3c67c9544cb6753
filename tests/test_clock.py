"""An allowance is what is left of some seconds, and how much of something it can pay for."""

import math
from types import SimpleNamespace

import pytest

from feynkac.clock import Allowance, Clock


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes as far as it is told."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr("feynkac.clock.time", SimpleNamespace(perf_counter=lambda: clock.now))
    return clock


def test_a_clock_counts_from_its_start(clock):
    first = Clock()
    clock.now += 3.0
    assert (first.spent(), Clock().spent(), Clock(90.0).spent()) == (3.0, 0.0, 13.0)


def test_an_allowance_runs_out(clock):
    allowance = Allowance(10.0)
    clock.now += 4.0
    assert allowance.left == 6.0
    assert allowance.times(0.5) == 12
    assert allowance.share(0.5).left == 3.0
    clock.now += 40.0
    assert (allowance.left, allowance.times(0.5)) == (0.0, 0)


def test_without_a_limit_everything_can_be_afforded(clock):
    clock.now += 1e9
    assert Allowance().left == math.inf
    assert Allowance().times(1.0, most=7) == 7


@pytest.mark.parametrize(
    ("seconds", "chosen"),
    [(0.5, [16]), (1.0, [16]), (3.2, [16, 32]), (9.0, [16, 128]), (1e6, [16, 256])],
)
def test_the_largest_affordable_amount_is_computed_after_the_smallest(clock, seconds, chosen):
    """The smallest takes a second, so that 9 seconds leave time for 8 times as much."""
    asked = []

    def compute(count):
        asked.append(count)
        clock.now += count / 16
        return count

    assert Allowance(seconds).afford(compute, 16, 256) == chosen[-1]
    assert asked == chosen


def test_without_a_limit_the_most_is_computed_at_once(clock):
    asked = []
    Allowance().afford(asked.append, 16, 256)
    assert asked == [256]
