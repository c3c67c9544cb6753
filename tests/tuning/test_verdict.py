"""The verdict: a trial beats the default with every seed, or it does not."""

import json

import pytest

import feynkac as fk
from feynkac.analysis.comparison import Comparison
from feynkac.tuning.verdict import Verdict, judge

BETTER = Comparison(0.010, 0.001, 0.020, 0.001, -0.010, 0.001)
CLOSE = Comparison(0.019, 0.001, 0.020, 0.001, -0.001, 0.001)


@pytest.mark.parametrize(
    ("trainings", "beat"),
    [
        ({}, False),
        ({1: BETTER}, True),
        ({1: BETTER, 2: BETTER}, True),
        ({1: BETTER, 2: CLOSE}, False),
        ({1: BETTER, 2: None}, False),
        ({1: None}, False),
    ],
    ids=["none", "one", "both", "one of two", "one diverged", "all diverged"],
)
def test_a_trial_must_win_with_every_seed(trainings, beat):
    verdict = Verdict(3, trainings)
    assert verdict.beat == beat
    assert json.loads(json.dumps(verdict.record()))["beat_default"] == beat


def test_in_words():
    assert Verdict(3, {1: BETTER, 2: BETTER}).sentence(15.0) == (
        "trial 3 beat the default: l1 1.00e-02 ± 7.1e-04 against the default's l1 2.00e-02 ± "
        "7.1e-04 at equal budget (15 s), better in 2 of 2 trainings with seed 1, 2."
    )
    assert "did not clearly beat" in Verdict(3, {1: BETTER, 2: CLOSE}).sentence(15.0)
    assert "better in 1 of 2" in Verdict(3, {1: BETTER, 2: None}).sentence(15.0)
    assert Verdict(0, {}).sentence(15.0) == "no trial beat the default at equal budget (15 s)."


def test_seeds_that_disagree_widen_the_error():
    other = Comparison(0.020, 0.001, 0.020, 0.001, 0.0, 0.001)
    assert "l1 1.50e-02 ± 5.0e-03" in Verdict(3, {1: BETTER, 2: other}).sentence(15.0)


@pytest.fixture(scope="module")
def solutions():
    few = {"evaluations": 1, "batch_size": 32, "seed": 0}
    return [fk.solve(fk.BlackScholes(), steps=steps, **few) for steps in (60, 2)]


def test_real_solutions_are_compared_on_common_inputs(solutions):
    good, bad = solutions
    verdict = judge(1, {7: (good, bad), 8: (good, good), 9: (None, bad)})
    assert verdict.trainings[7].better
    assert verdict.trainings[7].l1 == verdict.trainings[8].l1
    assert verdict.trainings[8].difference == 0.0
    assert verdict.trainings[9] is None
    assert verdict.wins == 1


def test_nothing_to_compare():
    assert judge(0, {}) == Verdict(0, {})
    assert judge(2, {1: (None, None)}) == Verdict(2, {1: None})
