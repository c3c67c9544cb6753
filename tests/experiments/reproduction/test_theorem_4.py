"""Theorem 4: exponents by least squares, steps that fit the budget, resuming, what is said."""

import json
import math
import time

import numpy as np
import pytest

from feynkac.experiments.reproduction import theorem_4
from feynkac.experiments.reproduction.empirical_risk import Fit
from feynkac.experiments.reproduction.settings import Settings
from feynkac.experiments.reproduction.store import Store
from feynkac.experiments.reproduction.theorem_4 import Effort, choose_effort, draw, exponent


def made(dim: int, size: int, excess: float, seed: int = 0, risk: float = 1.0) -> Fit:
    """A training with this outcome; R̂(ū) = 1."""
    return Fit(dim, size, seed, excess, constant=0.1, risk=risk, truth=1.0, largest=2.5)


def by_size(each: Fit) -> float:
    """The number of samples."""
    return each.size


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Two dimensions, two sizes, a second."""
    monkeypatch.setattr(theorem_4, "SCALED_EFFORT", Effort((1, 2), (64, 256), 20))
    return Settings(Store(tmp_path), budget=2.0)


def test_a_power_law_has_its_exponent_and_no_error():
    found = exponent([made(1, s, 3 * s**-0.5) for s in (2, 8, 64)], by_size)
    assert found.value == pytest.approx(-0.5)
    assert found.error == pytest.approx(0.0, abs=1e-9)


def test_the_exponent_and_its_error_are_those_of_numpy():
    sizes, excess = [2, 2, 8, 8, 64], [1.0, 2.0, 0.4, 0.5, 0.02]
    found = exponent([made(1, s, e) for s, e in zip(sizes, excess, strict=True)], by_size)
    coefficients, covariance = np.polyfit(np.log(sizes), np.log(excess), 1, cov=True)
    assert found.value == pytest.approx(coefficients[0])
    assert found.error == pytest.approx(math.sqrt(covariance[0, 0]))


def test_one_size_has_no_exponent():
    assert exponent([made(1, 8, 0.1), made(1, 8, 0.2)], by_size) is None


def test_two_points_have_no_error():
    assert exponent([made(1, 2, 0.1), made(1, 4, 0.05)], by_size).error == 0.0


def test_the_full_effort_has_all_dimensions(tmp_path):
    effort = choose_effort(Settings(Store(tmp_path), full=True))
    assert effort.dims == tuple(range(1, 21))
    assert effort.sizes[0] == 256
    assert effort.sizes[-1] >= 2**16


def test_more_time_means_more_steps(small, monkeypatch):
    monkeypatch.setattr(theorem_4, "_time", lambda _dim: (0.01, 0.1))
    effort = choose_effort(Settings(small.store, budget=2.0, seeds=(0,)))
    more = choose_effort(Settings(small.store, budget=4.0, seeds=(0,)))
    assert effort.steps == int(theorem_4.SAFETY * (2.0 - 2 * 0.01) / (2 * 0.1))
    assert more.steps == 16
    assert choose_effort(Settings(small.store, budget=99.0, seeds=(0,))).steps == 20


def test_the_choice_of_steps_is_kept(small, monkeypatch):
    first = choose_effort(small)
    monkeypatch.setattr(theorem_4, "_time", None)
    assert choose_effort(small) == first


def test_everything_is_found_again(small, monkeypatch):
    start = time.perf_counter()
    first = theorem_4.run(small)
    assert time.perf_counter() - start < 30.0
    monkeypatch.setattr(theorem_4, "fit", None)
    again = theorem_4.run(small)
    assert again.rows == first.rows
    assert again.data == first.data
    assert [row[0] for row in first.rows] == ["1", "2"]
    assert {len(row) for row in first.rows} == {len(first.columns)}
    assert len(first.data["fits"]) == 2 * 2 * 2
    assert "d = 1, 2 in place of" in first.scale
    assert f"{first.data['steps']} steps in place of 10,000" in first.scale
    json.dumps(first.data, allow_nan=False)


def test_each_cell_is_trained_with_its_own_settings(small, monkeypatch):
    cells = []

    def fit(dim, sizes, seed, steps):
        cells.append((dim, seed, steps))
        return [made(dim, size, dim / size, seed) for size in sizes]

    monkeypatch.setattr(theorem_4, "_time", lambda _dim: (0.0, 1e-4))
    monkeypatch.setattr(theorem_4, "fit", fit)
    result = theorem_4.run(small)
    assert cells == [(1, 0, 20), (1, 1, 20), (2, 0, 20), (2, 1, 20)]
    assert [row[-1] for row in result.rows] == ["-1.00 ± 0.00"] * 2
    assert "at most 1.2e-01 d s^(−1/2). With s = 256" in result.notes[2]
    assert "d to the power 1.00 ± 0.00, that of the best constant" in result.notes[2]
    assert result.notes[2].endswith("as d to the power 0.00 ± 0.00.")


def test_how_near_to_the_minimum_is_said(small, monkeypatch):
    monkeypatch.setattr(theorem_4, "_time", lambda _dim: (0.0, 1e-4))
    risks = {64: 0.5, 256: 1.25}

    def fit(dim, sizes, seed, _steps):
        return [made(dim, size, 0.01, seed, risks[size]) for size in sizes]

    monkeypatch.setattr(theorem_4, "fit", fit)
    notes = theorem_4.run(small).notes
    assert "in 4 of 8 trainings, and at most 25.0% larger in the others, whose" in notes[3]
    assert notes[3].endswith("The largest parameter was 2.5; none was bounded.")
    assert "beat the best constant in 4 of 4 trainings" in notes[4]


def test_the_figure_has_a_line_a_dimension_and_the_bound():
    fits = [made(d, s, d / s, seed) for d in (1, 5) for s in (4, 16) for seed in (0, 1)]
    slopes = {d: exponent([f for f in fits if f.dim == d], by_size) for d in (1, 5)}
    left, right = draw(fits, slopes).axes
    labels = [text.get_text() for text in left.get_legend().get_texts()]
    assert labels == ["slope −1/2", "d = 1", "d = 5"]
    bound = next(line for line in left.lines if line.get_label() == "slope −1/2")
    assert bound.get_ydata()[1] / bound.get_ydata()[0] == pytest.approx(0.5)
    assert [h.get_ydata()[0] for h in right.lines[-2:]] == [-0.5, -1.0]
