"""Theorem 2 as a table: its rows, its scale, and that a second call computes nothing."""

import json

import pytest

from feynkac.experiments.reproduction import theorem_2
from feynkac.experiments.reproduction.result import FULL
from feynkac.experiments.reproduction.settings import Settings
from feynkac.experiments.reproduction.store import Store
from feynkac.experiments.reproduction.weak_error import Case
from feynkac.families.models.basket_put import BasketPut
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.sampling.exact import Exact
from feynkac.sampling.log_ode import LogOde

SMALL = (
    Case("put", BlackScholes(), Exact(), inputs=8, paths=512, finest=8, share=0.4),
    Case("basket", BasketPut(), LogOde(steps=4), inputs=2, paths=32, finest=16, share=0.4),
)
REFERENCE = {"reference_error": 0.001, "reference_error_se": 0.0002}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(theorem_2, "CASES", SMALL)
    monkeypatch.setattr(
        theorem_2, "reference_error", lambda *_: dict(REFERENCE)
    )  # has its own test


@pytest.fixture
def settings(tmp_path):
    return Settings(Store(tmp_path), budget=0.0)


def test_the_table_has_a_row_for_each_number_of_steps_and_the_slopes(settings):
    result = theorem_2.run(settings)
    assert [row[0] for row in result.rows] == ["1", "2", "4", "8", "16", "slope"]
    assert {len(row) for row in result.rows} == {len(result.columns)} == {9}
    assert result.rows[4][1:5] == ("–",) * 4
    assert "–" not in result.rows[4][5:]
    assert result.rows[-1][4] == result.rows[-1][8] == "-0.50"
    json.dumps(result.data, allow_nan=False)
    assert result.notes[-1] == "Mean error of the reference, basket: 1.0e-03 ± 2.0e-04."
    assert len(result.figure.axes) == 2


def test_errors_are_below_the_bound_and_shrink(settings):
    found = theorem_2.run(settings).data["put"]
    for i, m in enumerate(found["steps"]):
        assert found["largest"][i] <= found["constant"] / m**0.5 * (1 + 1e-12)
        assert found["l2"][i] <= found["largest"][i] * 1.01
    assert found["l2"][-1] < 0.3 * found["l2"][0]


def test_the_scale_says_how_many_inputs(settings):
    scale = theorem_2.run(settings).scale
    assert scale == "16 random inputs for put and 4 random inputs for basket, in place of 4,096."


def test_the_full_scale_is_full(tmp_path, monkeypatch):
    monkeypatch.setattr(theorem_2, "INPUTS", 16)
    result = theorem_2.run(Settings(Store(tmp_path), full=True))
    assert result.scale == FULL
    assert {found["inputs"] for found in result.data.values()} == {16}


def test_a_second_call_computes_nothing_and_another_seed_does(settings, monkeypatch):
    first = theorem_2.run(settings)
    for name in ("block_errors", "reference_error", "time_block"):
        monkeypatch.setattr(theorem_2, name, lambda *_: pytest.fail("computed again"))
    assert theorem_2.run(settings).rows == first.rows
    with pytest.raises(pytest.fail.Exception, match="computed again"):
        theorem_2.run(Settings(settings.store, budget=0.0, seeds=(5,)))


def test_a_larger_budget_adds_inputs(tmp_path, monkeypatch):
    monkeypatch.setattr(theorem_2, "time_block", lambda _case: 1.0)
    few, more = (
        theorem_2.run(Settings(Store(tmp_path), budget=budget)).data["put"]["inputs"]
        for budget in (5.0, 10.0)
    )
    assert (few, more) == (2 * 8, 4 * 8)


def test_each_family_is_announced(tmp_path):
    said = []
    theorem_2.run(Settings(Store(tmp_path), budget=0.0, announce=said.append))
    assert [text.split(":")[0] for text in said] == ["put", "basket"]


def test_a_slope_that_is_not_resolved_is_not_shown():
    found = {"mean_slope": -3.0, "mean_slope_se": 2.0, "l2_slope": -1.0, "l2_slope_se": 0.01}
    assert theorem_2._slopes(found) == ("–", "-1.00 ± 0.01", "–", "-0.50")
