"""Theorem 1: the decomposition of the risk, variances from closed forms, the regression."""

import json

import pytest
import torch

from feynkac.benchmarks.store import Store
from feynkac.reproduction import theorem_1
from feynkac.reproduction.settings import Settings
from feynkac.reproduction.theorem_1 import (
    HEAT,
    PUT,
    compare,
    rates,
    simple_maps,
)
from feynkac.sampling.labels import labels
from feynkac.sampling.schemes.exact import Exact


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.setattr(theorem_1, "SCALED", 2**12)
    monkeypatch.setattr(theorem_1, "LABELS_AT_ONCE", 2**11)
    monkeypatch.setattr(theorem_1, "SIZES", (512, 2048, 8192))
    monkeypatch.setattr(theorem_1, "DEGREE", 2)
    monkeypatch.setattr(theorem_1, "PROJECTION_NODES", 2**12)
    monkeypatch.setattr(theorem_1, "TRAININGS", {"network": {"method": "fast", "steps": 1}})
    return Settings(Store(tmp_path))


@pytest.mark.parametrize("problem", [PUT, HEAT])
def test_the_variance_is_that_of_simulated_labels(problem, generator):
    inputs = problem.family.domain.sample(6, generator, torch.float64)
    inputs[:, problem.family.domain.slices()["t"]].clamp_min_(0.1)
    values = labels(problem.family, Exact(), inputs.repeat(40_000, 1), generator)
    residual = values.reshape(40_000, 6) - problem.solution(inputs)[:, 0]
    error = residual.square().std(0) / 200
    assert (residual.square().mean(0) - problem.variance(inputs)[:, 0]).abs().le(5 * error).all()


@pytest.mark.parametrize("problem", [PUT, HEAT])
def test_the_risk_is_the_distance_and_the_variance(problem, generator):
    rows = compare(problem, simple_maps(problem), 2**17, generator)
    for row in rows:
        assert abs(row["gap"]) < 4.5 * row["gap_se"]
    constant = rows[1]
    assert constant["excess"] > 50 * constant["excess_se"]


def test_a_wrong_solution_would_be_found_out(generator):
    """Labels of another family: the decomposition does not hold."""
    wrong = theorem_1.Problem("wrong", PUT.family, PUT.second)
    object.__setattr__(wrong, "solution", lambda inputs: PUT.solution(inputs) + 0.1)
    rows = compare(wrong, {"other": lambda inputs: PUT.solution(inputs) + 0.3}, 2**16, generator)
    assert abs(rows[0]["gap"]) > 10 * rows[0]["gap_se"]


def test_normalised_inputs_run_through_the_cube(generator):
    inputs = PUT.family.domain.sample(1000, generator, torch.float64)
    w = PUT.normalised(inputs)
    assert -1.0 <= w.min() < -0.99
    assert 0.99 < w.max() <= 1.0
    torch.testing.assert_close(PUT.placed(w), inputs)


def test_the_table_has_all_maps_and_the_notes_the_regression(settings):
    result = theorem_1.run(settings)
    assert {len(row) for row in result.rows} == {len(result.columns)}
    assert len(result.rows) == (5 + 3 + 1) + 5
    assert [row[1] for row in result.rows[5:9]] == [
        "regression on 512 labels",
        "regression on 2,048 labels",
        "regression on 8,192 labels",
        "network",
    ]
    assert result.scale == "4,096 samples in place of 4,194,304."
    assert result.notes[-1].count("\n") == 4
    assert "No map has a risk significantly below" in result.notes[0]
    json.dumps(result.data, allow_nan=False)
    assert len(result.figure.axes) == 2


def test_the_regression_converges_at_the_rate_and_size_predicted(settings):
    found = theorem_1.converge(settings)
    slope, error = rates(found)
    assert slope == pytest.approx(-0.5, abs=4 * error + 0.02)
    assert error < 0.1
    squares = torch.tensor(found["errors"]).square().mean(0)
    predicted = found["predicted"] / torch.tensor(theorem_1.SIZES)
    torch.testing.assert_close(squares, predicted, rtol=0.5, atol=0.0)


def test_a_second_call_computes_nothing(settings, monkeypatch):
    first = theorem_1.run(settings)
    for name in ("compare", "converge", "make_run"):
        monkeypatch.setattr(theorem_1, name, lambda *_: pytest.fail("computed again"))
    assert theorem_1.run(settings).rows == first.rows
