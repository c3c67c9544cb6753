"""The paper's run whole, its schedule when it is scaled down, and how many steps fit."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import feynkac as fk
from feynkac.benchmarks.store import Store
from feynkac.methods.paper import column as table_5
from feynkac.preparation import make_run
from feynkac.reproduction import scaling
from feynkac.reproduction.scaling import (
    Cost,
    affordable_steps,
    describe_scale,
    measure_cost,
    paper_run,
    round_down,
)
from feynkac.reproduction.settings import Settings

FAMILIES = [fk.BlackScholes(), fk.BasketPut(), fk.HeatParaboloid(), fk.HeatGaussian()]
by_name = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name())


@pytest.fixture
def settings(tmp_path):
    return Settings(Store(tmp_path))


@pytest.fixture
def full(settings):
    return replace(settings, full=True)


@pytest.mark.parametrize("seed", [0, 3])
def test_a_full_run_is_the_one_that_solve_would_do(full, seed):
    training = {"steps": 24000, "seed": seed, "compile": True, "evaluations": 6}
    expected = make_run(fk.BlackScholes(), "paper", training)
    assert paper_run(full, fk.BlackScholes(), seed) == expected
    assert paper_run(full, fk.BlackScholes(), seed).identity == expected.identity


def test_a_run_may_be_longer_than_table_5_says(settings, full):
    """The authors' ablations: the learning rate falls after the same steps as before."""
    whole = paper_run(full, fk.BlackScholes(), 0, evaluations=15, whole=30_000)
    assert whole.training.steps == 30_000
    assert whole.method.schedule.patience == 4000
    scaled = paper_run(settings, fk.BlackScholes(), 0, 3000, whole=30_000)
    assert scaled.method.schedule.patience == 400
    assert describe_scale(whole, fk.BlackScholes(), 30_000) == "full"
    assert "3,000 steps in place of 30,000" in describe_scale(scaled, fk.BlackScholes(), 30_000)


@by_name
def test_a_scaled_schedule_keeps_its_shape(settings, family):
    column = table_5(family)
    steps = column.steps // 40
    run = paper_run(settings, family, 0, steps, batch_divisor=32)
    rates = [
        [schedule.rate(1.0, length * i // 56, (length * i // 56) / length) for i in range(56)]
        for schedule, length in ((column.schedule, column.steps), (run.method.schedule, steps))
    ]
    assert rates[0] == rates[1]
    assert run.method.batch_size * 32 == column.batch_size
    assert run.training.evaluations * 4000 == column.steps


@by_name
def test_the_paper_s_run_is_compiled_only_at_full_scale(settings, full, family):
    assert paper_run(full, family, 0).training.compile
    assert not paper_run(settings, family, 0, 200).training.compile


def test_another_network_changes_nothing_else(settings):
    plain = paper_run(settings, fk.BlackScholes(), 0, 200)
    other = paper_run(settings, fk.BlackScholes(), 0, 200, fk.FeedForward())
    assert other.training == plain.training
    assert other.method == replace(plain.method, architecture=fk.FeedForward())


def test_a_run_of_one_step_has_a_schedule(settings):
    assert paper_run(settings, fk.BlackScholes(), 0, 1).method.schedule.patience == 1


@pytest.fixture
def slow_machine(monkeypatch):
    """Steps take 2 s, the first 50 s more; evaluations 7 s, the first 100 s more."""
    now = SimpleNamespace(seconds=0.0)

    def execute(run, _family, report):
        steps, evaluations = run.training.steps, run.training.evaluations
        for step in range(1, steps + 1):
            now.seconds += 2.0 + 50.0 * (step == 1)
            if step % (steps // evaluations) == 0:
                now.seconds += 7.0 + 100.0 * (step == steps // evaluations)
            report(None)

    monkeypatch.setattr(scaling, "execute", execute)
    monkeypatch.setattr(scaling, "time", SimpleNamespace(perf_counter=lambda: now.seconds))


def test_the_parts_of_the_cost_are_told_apart(settings, slow_machine):
    run = paper_run(settings, fk.BlackScholes(), 0)
    assert measure_cost(run, fk.BlackScholes()) == Cost(100.0, 7.0, 2.0, trial=180.0)


def test_one_evaluation_has_its_reference_in_it(settings, slow_machine):
    run = paper_run(settings, fk.BlackScholes(), 0, evaluations=1)
    assert measure_cost(run, fk.BlackScholes()) == Cost(0.0, 107.0, 2.0, trial=173.0)


@given(
    reference=st.floats(0, 10), evaluation=st.floats(0, 10), step=st.floats(0.01, 10.0),
    steps=st.integers(1, 10_000), evaluations=st.integers(1, 10),
)  # fmt: skip
def test_steps_within_the_cost_of_steps(reference, evaluation, step, steps, evaluations):
    seconds = reference + evaluations * evaluation + steps * step
    found = Cost(reference, evaluation, step, 0.0).steps_within(seconds, evaluations)
    assert found == pytest.approx(steps, abs=1e-6, rel=1e-6)


@pytest.mark.parametrize(
    ("seconds", "runs", "steps"),
    [
        (180.0 + 100.0 + 6 * 7.0 + 2.0 * 1234.5, 1, 1200),
        (180.0 + 3 * (100.0 + 6 * 7.0 + 2.0 * 5678.5), 3, 5600),
        (60.0, 1, 100),
        (1e6, 1, 24_000),
    ],
)
def test_the_steps_and_the_timing_fit(settings, slow_machine, seconds, runs, steps):
    assert affordable_steps(settings, fk.BlackScholes(), seconds, 32, runs=runs) == steps


def test_the_decision_is_kept(settings, slow_machine, monkeypatch):
    first = affordable_steps(settings, fk.BlackScholes(), 1000.0, 32)
    monkeypatch.setattr(scaling, "measure_cost", lambda *_: Cost(0.0, 0.0, 1.0, 0.0))
    assert affordable_steps(settings, fk.BlackScholes(), 1000.0, 32) == first
    for other in (
        affordable_steps(settings, fk.BlackScholes(), 1000.5, 32),
        affordable_steps(settings, fk.BlackScholes(), 1000.0, 16),
        affordable_steps(settings, fk.BlackScholes(), 1000.0, 32, fk.FeedForward()),
        affordable_steps(settings, fk.BlackScholes(), 1000.0, 32, evaluations=1),
    ):
        assert other == 1000 != first


def test_real_steps_are_timed(settings):
    family = fk.HeatParaboloid(dim=1)
    cost = measure_cost(paper_run(settings, family, 0, None, None, 2**12), family)
    assert 0.0 < 4 * cost.step < cost.trial
    assert 0.0 <= cost.evaluation < cost.trial


@given(st.floats(1.0, 1e7))
def test_rounding_leaves_two_digits(number):
    rounded = round_down(number)
    assert rounded <= number < 1.1 * rounded + 1
    assert len(str(rounded).rstrip("0")) <= 2


def test_the_scale_is_told(settings, full):
    family = fk.HeatGaussian()
    scaled = paper_run(settings, family, 0, 280, batch_divisor=64)
    assert describe_scale(scaled, family) == (
        "batch size 2,048 in place of 131,072 and 280 steps in place of 28,000."
    )
    shorter = paper_run(settings, family, 0, 280)
    assert describe_scale(shorter, family) == "280 steps in place of 28,000."
    assert describe_scale(paper_run(full, family, 0), family) == "full"
