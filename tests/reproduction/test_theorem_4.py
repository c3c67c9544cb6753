"""Theorem 4: steps that fit the budget, resuming, what is measured and what is said."""

import json
import time

import pytest

from feynkac.benchmarks.store import Store
from feynkac.reproduction import theorem_4
from feynkac.reproduction.empirical_risk import Fit
from feynkac.reproduction.settings import Settings
from feynkac.reproduction.theorem_4 import Scope, choose_scope, draw


def made(dim: int, size: int, excess: float, seed: int = 0, risk: float = 1.0) -> Fit:
    """A training with this outcome; R̂(ū) = 1."""
    return Fit(dim, size, seed, excess, constant=0.1, risk=risk, truth=1.0, largest=2.5)


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Two dimensions, two sizes, a second."""
    monkeypatch.setattr(theorem_4, "SCALED_SCOPE", Scope((1, 2), (64, 256), 20))
    return Settings(Store(tmp_path), budget=2.0)


def test_the_full_effort_has_all_dimensions(tmp_path):
    scope = choose_scope(Settings(Store(tmp_path), full=True))
    assert scope.dims == tuple(range(1, 21))
    assert scope.sizes[0] == 256
    assert scope.sizes[-1] >= 2**16


@pytest.mark.slow
def test_more_time_means_more_steps(small, monkeypatch):
    monkeypatch.setattr(theorem_4, "_time", lambda _dim: (0.01, 0.1))
    scope = choose_scope(Settings(small.store, budget=2.0, seeds=(0,)))
    more = choose_scope(Settings(small.store, budget=4.0, seeds=(0,)))
    assert scope.steps == int(theorem_4.SAFETY * (2.0 - 2 * 0.01) / (2 * 0.1))
    assert more.steps == 16
    assert choose_scope(Settings(small.store, budget=99.0, seeds=(0,))).steps == 20


def test_the_choice_of_steps_is_kept(small, monkeypatch):
    first = choose_scope(small)
    monkeypatch.setattr(theorem_4, "_time", None)
    assert choose_scope(small) == first


def test_everything_is_found_again(small, monkeypatch):
    start = time.perf_counter()
    first = theorem_4.run(small)
    assert time.perf_counter() - start < 30.0
    monkeypatch.setattr(theorem_4, "fit", None)
    again = theorem_4.run(small)
    assert again.rows == first.rows
    assert again.data == first.data
    assert [row[0] for row in first.rows] == ["1", "2", "exponent of d"]
    assert {len(row) for row in first.rows} == {len(first.columns)}
    assert len(first.data["fits"]) == 2 * 2 * 2
    assert "d = 1, 2 in place of" in first.scale
    assert f"{first.data['steps']} steps in place of 10,000" in first.scale
    json.dumps(first.data, allow_nan=False)


def with_fits(monkeypatch, excess, risk=lambda _size: 1.0):
    """Trainings whose outcome is known; returns the list of those asked for."""
    cells = []

    def fit(dim, sizes, seed, steps):
        cells.append((dim, seed, steps))
        return [made(dim, size, excess(dim, size, seed), seed, risk(size)) for size in sizes]

    monkeypatch.setattr(theorem_4, "_time", lambda _dim: (0.0, 1e-4))
    monkeypatch.setattr(theorem_4, "fit", fit)
    return cells


def test_each_cell_is_trained_with_its_own_settings(small, monkeypatch):
    cells = with_fits(monkeypatch, lambda dim, size, _seed: dim / size)
    result = theorem_4.run(small)
    assert cells == [(1, 0, 20), (1, 1, 20), (2, 0, 20), (2, 1, 20)]
    assert result.rows[0][:4] == ("1", "73", "1", "0.1")
    assert {len(row) for row in result.rows} == {len(result.columns)}


def test_the_growth_with_d_is_measured_and_said(small, monkeypatch):
    """s(d, ε) = d³/ε: faster than the bound."""
    monkeypatch.setattr(theorem_4, "SCALED_SCOPE", Scope((2, 4), (128, 512, 2048), 20))
    monkeypatch.setattr(theorem_4, "TOLERANCES", (0.04,))
    with_fits(monkeypatch, lambda dim, size, _seed: dim**3 / size)
    result = theorem_4.run(small)
    assert [row[-1] for row in result.rows] == ["200", "1,600", "3.00 ± 0"]
    assert "as d to the power 3.00 ± 0 (ε = 0.04, d = 2 to 4)" in result.notes[2]
    assert "exponent 2 is **not shown**" in result.notes[2]
    assert "a bound linear in d is not shown" in result.notes[2]
    assert "to the power -1.00 to -1.00" in result.notes[1]
    (found,) = result.data["exponents of d"]
    assert found["dims"] == [2, 4]


def test_a_growth_within_the_bound_is_said_too(small, monkeypatch):
    monkeypatch.setattr(theorem_4, "SCALED_SCOPE", Scope((2, 4), (128, 512, 2048), 20))
    monkeypatch.setattr(theorem_4, "TOLERANCES", (0.04,))
    with_fits(monkeypatch, lambda dim, size, seed: dim**1.5 * (8 + seed) / size / 2)
    notes = theorem_4.run(small).notes
    assert "exponent 2 is kept for these d" in notes[2]


def test_how_near_to_the_minimum_is_said(small, monkeypatch):
    with_fits(monkeypatch, lambda *_: 0.01, {64: 0.5, 256: 1.25}.get)
    note = theorem_4.run(small).notes[3]
    assert "in 4 of 8 trainings, and at most 25.0% larger in the others, whose" in note
    assert "the largest here is 2.5." in note


def test_errors_are_standard_errors_over_the_seeds(small, monkeypatch):
    with_fits(monkeypatch, lambda _dim, _size, seed: 0.01 + 0.002 * seed)
    row = theorem_4.run(small).rows[0]
    assert row[4] == "0.011 ± 0.001"


def test_the_figure_has_a_line_a_dimension_and_both_slopes(monkeypatch):
    monkeypatch.setattr(theorem_4, "TOLERANCES", (0.004,))
    fits = [made(d, s, d / s, seed) for d in (1, 5) for s in (64, 4096) for seed in (0, 1)]
    left, right = draw(fits).axes
    labels = [text.get_text() for text in left.get_legend().get_texts()]
    assert labels == ["slope −1/2: Theorem 4", "d = 1", "d = 5"]
    bound = next(line for line in left.lines if line.get_label().startswith("slope"))
    assert bound.get_ydata()[1] / bound.get_ydata()[0] == pytest.approx(1 / 8)
    texts = [text.get_text() for text in right.get_legend().get_texts()]
    assert texts == ["ε = 0.004: exponent of d 1.00 ± 0", "slope 2: Theorem 4 up to logarithms"]
    slope = right.lines[-1].get_ydata()
    assert slope[1] / slope[0] == pytest.approx(25.0)
