"""Theorem 2 as a table: its rows, its scale, and that a second call computes nothing."""

import json
from dataclasses import replace

import pytest

from feynkac.benchmarks.store import Store
from feynkac.families.models.basket_put import BasketPut
from feynkac.reproduction import theorem_2
from feynkac.reproduction.result import FULL
from feynkac.reproduction.settings import Settings
from feynkac.reproduction.weak_error import Case
from feynkac.sampling.schemes.log_ode import LogOde

pytestmark = pytest.mark.slow

BASKET = Case("basket", BasketPut(), LogOde(steps=4), inputs=2, paths=32, finest=8)
REFERENCE = {"reference_error": 0.001, "reference_error_se": 0.0002}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(theorem_2, "BASKET", BASKET)
    monkeypatch.setattr(theorem_2, "AT_CORNERS", replace(BASKET, paths=64))
    monkeypatch.setattr(theorem_2, "STEPS", (1, 4, 8, 16))
    monkeypatch.setattr(theorem_2, "mean_square", lambda _line, m: 0.01 / m**2)  # own tests
    monkeypatch.setattr(theorem_2, "search", lambda _line, m: {"error": -1 / m, "at": {"t": 1.0}})
    monkeypatch.setattr(theorem_2, "reference_error", lambda *_: dict(REFERENCE))


@pytest.fixture
def settings(tmp_path):
    return Settings(Store(tmp_path), budget=0.0)


def test_the_table_has_a_row_for_each_number_of_steps_and_the_slopes(settings):
    result = theorem_2.run(settings)
    assert [row[0] for row in result.rows] == ["1", "4", "8", "16", "slope"]
    assert {len(row) for row in result.rows} == {len(result.columns)} == {8}
    assert result.rows[1][1:5] == ("0.25", "0.025", "0.5", "0.25")
    assert result.rows[-1][1:5] == ("-1.000", "-1.000", "-0.5", "-1.000")
    assert result.rows[-1][-1] == "-0.5"
    json.dumps(result.data, allow_nan=False)
    assert result.notes[-1].endswith("mean error is 1.0e-03 ± 2.0e-04.")
    assert "norm of ū^M − ū in L^∞" in result.notes[0]
    assert len(result.figure.axes) == 2


def test_the_constant_covers_every_error_of_the_table(settings):
    found = theorem_2.run(settings).data
    assert found["Black–Scholes"]["constant"] == 1.0
    basket = found["basket put"]
    seen = [*zip(basket["sup"], basket["steps"], strict=True)]
    seen += zip(basket["corners"]["largest"], basket["corners"]["steps"], strict=True)
    assert basket["constant"] == max(e * m**0.5 for e, m in seen)


def test_the_scale_says_how_many_inputs(settings):
    assert theorem_2.run(settings).scale == (
        "basket put: 4 random inputs in place of 4,096 and 4 random corners in place of 256. "
        "All else is full."
    )


def test_the_full_scale_is_full(tmp_path, monkeypatch):
    monkeypatch.setattr(theorem_2, "FULL_INPUTS", 6)
    monkeypatch.setattr(theorem_2, "FULL_CORNERS", 4)
    result = theorem_2.run(Settings(Store(tmp_path), full=True))
    assert result.scale == FULL
    assert result.data["basket put"]["inputs"]["inputs"] == 6


def test_a_second_call_computes_nothing_and_another_seed_does(settings, monkeypatch):
    first = theorem_2.run(settings)
    for name in ("search", "mean_square", "block_errors", "reference_error", "time_block"):
        monkeypatch.setattr(theorem_2, name, lambda *_: pytest.fail("computed again"))
    assert theorem_2.run(settings).rows == first.rows
    with pytest.raises(pytest.fail.Exception, match="computed again"):
        theorem_2.run(Settings(settings.store, budget=0.0, seeds=(5,)))


def test_a_larger_budget_adds_inputs_and_corners(tmp_path, monkeypatch):
    monkeypatch.setattr(theorem_2, "time_block", lambda _case: 0.3)
    for budget, inputs, corners in ((4.0, 8, 4), (8.0, 16, 8)):
        found = theorem_2.run(Settings(Store(tmp_path), budget=budget)).data["basket put"]
        assert (found["inputs"]["inputs"], found["corners"]["inputs"]) == (inputs, corners)


def test_each_part_is_announced(tmp_path):
    said = []
    theorem_2.run(Settings(Store(tmp_path), budget=0.0, announce=said.append))
    assert [text.split(":")[0] for text in said] == ["Black–Scholes", *["basket"] * 4]
