"""StepDecay is the paper's rule, step by step; LinearDecay rises, holds, and falls to zero."""

import pytest
from pydantic import ValidationError

from feynkac.training.schedules import LinearDecay, StepDecay


def literal_rates(initial, decay, patience, minimal, steps):
    """The rule as a program that goes through the steps one by one."""
    rates, rate = [], initial
    for step in range(steps):
        if step > 0 and step % patience == 0 and rate > minimal:
            rate *= decay
        rates.append(rate)
    return rates


@pytest.mark.parametrize(
    ("initial", "decay", "patience", "minimal"),
    [
        (1e-2, 0.25, 40, 1e-8),
        (1e-3, 0.4, 7, 1e-8),
        (1e-3, 0.4, 1, 1e-4),  # reaches the minimal rate early
        (1e-3, 0.5, 3, 0.0),
        (1e-9, 0.5, 3, 1e-8),  # starts below it
        (0.5, 0.5, 2, 0.125),  # meets it exactly
        (1.0, 0.9, 1000, 1e-8),
    ],
)
def test_equals_the_rule_step_by_step(initial, decay, patience, minimal):
    schedule = StepDecay(decay=decay, patience=patience, minimal=minimal)
    found = [schedule.rate(initial, step, step / 300) for step in range(300)]
    assert found == literal_rates(initial, decay, patience, minimal, 300)


def test_the_paper_s_rates_for_black_scholes():
    schedule = StepDecay(decay=0.25, patience=4000, minimal=1e-8)
    starts = [schedule.rate(1e-2, 4000 * k, k / 6) for k in range(6)]
    assert starts == pytest.approx([1e-2 / 4**k for k in range(6)])
    assert schedule.rate(1e-2, 3999, 3999 / 24_000) == 1e-2


def test_the_rate_stops_falling_at_the_minimal_rate():
    schedule = StepDecay(decay=0.3, patience=1, minimal=1e-8)
    last = schedule.rate(1e-2, 10**6, 1.0)
    assert 0.3 * 1e-8 < last <= 1e-8
    assert schedule.rate(1e-2, 100, 1e-4) == last


@pytest.mark.parametrize(
    "wrong", [{"decay": 0.0}, {"decay": 1.0}, {"patience": 0}, {"minimal": -1e-8}, {"every": 5}]
)
def test_meaningless_settings_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(ValidationError, match=name):
        StepDecay(**wrong)


@pytest.mark.parametrize(
    ("warmup", "hold", "step", "expected"),
    [
        (10, 0.5, 0, 0.1),
        (10, 0.5, 4, 0.5),
        (10, 0.5, 9, 1.0),
        (10, 0.5, 500, 1.0),
        (10, 0.5, 750, 0.5),
        (10, 0.5, 999, 0.002),
        (1, 0.0, 0, 1.0),
        (1, 0.0, 250, 0.75),
        (30, 0.0, 999, 0.001),
    ],
)
def test_linear_decay_at_known_steps(warmup, hold, step, expected):
    rate = LinearDecay(warmup=warmup, hold=hold).rate(0.3, step, step / 1000)
    assert rate == pytest.approx(0.3 * expected, rel=1e-12)


@pytest.mark.parametrize("steps", [1, 2, 7, 300])
@pytest.mark.parametrize("warmup", [1, 5, 1000])
@pytest.mark.parametrize("hold", [0.0, 0.5, 0.99])
def test_linear_decay_rises_then_falls_and_stays_positive(steps, warmup, hold):
    schedule = LinearDecay(warmup=warmup, hold=hold)
    rates = [schedule.rate(0.3, step, step / steps) for step in range(steps)]
    top = rates.index(max(rates))
    assert rates == sorted(rates[:top]) + sorted(rates[top:], reverse=True)
    assert all(0.0 < rate <= 0.3 for rate in rates)
    assert schedule.rate(0.3, steps, 1.0) == 0.0


@pytest.mark.parametrize("wrong", [{"warmup": 0}, {"hold": 1.0}, {"hold": -0.1}, {"cooldown": 5}])
def test_meaningless_settings_of_linear_decay_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(ValidationError, match=name):
        LinearDecay(**wrong)
