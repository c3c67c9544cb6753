"""Warnings: a bad corner, a noisy reference, an error like that of a linear fit."""

import pytest

from feynkac.analysis.warnings import warnings_of

GOOD = {
    "l1": 4e-4,
    "l1_se": 1e-5,
    "l2": 6e-4,
    "max": 0.01,
    "mean_baseline": 0.4,
    "linear_baseline": 0.1,
    "reference_se": 1e-5,
    "inputs": 65536,
    "l1_low": 3.8e-4,
    "l1_high": 4.2e-4,
    "max_se": 1e-5,
}


def test_a_good_solution_raises_none():
    assert warnings_of(GOOD) == []


def test_a_record_of_an_older_run_has_fewer_figures():
    assert warnings_of({"l1": 4e-4, "max": 0.01, "linear_baseline": None, "l2": 6e-4}) == []
    assert len(warnings_of({"l1": 4e-4, "max": 1.4})) == 1


@pytest.mark.parametrize(
    ("change", "start"),
    [
        ({"max": 1.43}, "the largest error, 1.43, is 3575 times the mean error: see where"),
        ({"reference_se": 5e-4}, "the noise of the reference (5.00e-04) is as large as the error"),
        ({"l1_low": 0.0}, "the noise of the reference (1.00e-05) is as large as the error"),
        ({"inputs": 100}, "few of the 100 inputs carry the error (effectively 44)"),
        ({"linear_baseline": 7e-4}, "the error is more than half that of a linear fit"),
    ],
)
def test_each_has_its_sentence(change, start):
    (sentence,) = warnings_of(GOOD | change)
    assert sentence.startswith(start)
    assert sentence.endswith(".")


@pytest.mark.parametrize(
    "change",
    [
        {"max": 0.049, "mean_baseline": 0.01},  # far above the mean, but small
        {"max": 0.79},  # twice what predicting the mean is off by
        {"max": 1.43, "max_se": 0.35},  # the reference may be wrong there
        {"l1": 0.05, "l1_low": 0.04, "l1_high": 0.06, "max": 1.43},  # bad everywhere
    ],
)
def test_a_largest_error_is_flagged_only_if_large_certain_and_far_from_the_mean(change):
    assert warnings_of(GOOD | change) == []
