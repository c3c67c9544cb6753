"""The dimension study: slopes by least squares, the first step that meets the target."""

import json
import math

import pytest

import feynkac as fk
from feynkac.experiments.dimensions import (
    DIMS,
    Point,
    Study,
    loglog_slope,
    reach,
    run_dimensions,
)
from feynkac.experiments.figures import draw_scaling


def synthetic(*reached: int | None) -> Study:
    """Parameters = inputs, steps as given."""
    points = (
        Point(dim=d, inputs=1 + d + d * d, parameters=1 + d + d * d, steps=steps, seconds=1.0)
        for d, steps in enumerate(reached, 1)
    )
    return Study(target=0.01, seed=0, points=tuple(points))


@pytest.mark.parametrize("exponent", [-1.0, 0.0, 0.5, 2.0])
def test_a_power_law_has_its_exponent_as_slope(exponent):
    x = [3.0, 7.0, 13.0, 931.0]
    assert loglog_slope(x, [5 * v**exponent for v in x]) == pytest.approx(exponent)


def test_the_slope_is_that_of_least_squares():
    x, y = [math.e**k for k in range(3)], [1.0, math.e**3, math.e**2]
    assert loglog_slope(x, y) == pytest.approx(1.0)


@pytest.mark.parametrize("x", [[], [3.0], [3.0, 3.0]])
def test_one_size_has_no_slope(x):
    assert loglog_slope(x, [2.0] * len(x)) is None


def test_the_cost_grows_one_power_faster_than_the_steps():
    study = synthetic(3, 7, 13)
    assert study.steps_slope == pytest.approx(1.0)
    assert study.cost_slope == pytest.approx(2.0)
    assert [p.cost for p in study.points] == [9, 49, 169]


def test_what_was_not_reached_is_null_and_left_out_of_the_slope():
    study = synthetic(3, 7, None)
    found = json.loads(json.dumps(study.record(), allow_nan=False))
    assert found["points"][2]["steps"] is None
    assert found["points"][2]["cost"] is None
    assert found["steps_slope"] == pytest.approx(1.0)
    assert study.table()[1][2][3:5] == ("–", "–")
    assert study.table()[1][-1][3:5] == ("1.00", "2.00")


def test_the_dimensions_are_those_of_the_target():
    assert DIMS == (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 20, 30)


def test_training_stops_at_the_first_step_that_meets_the_target():
    point = reach(fk.HeatParaboloid(dim=1), target=0.05, seed=0, steps=100, every=1)
    again = reach(fk.HeatParaboloid(dim=1), target=0.05, seed=0, steps=100, every=1)
    coarse = reach(fk.HeatParaboloid(dim=1), target=0.05, seed=0, steps=100, every=10)
    assert point.steps is not None
    assert 1 < point.steps < 100
    assert again.steps == point.steps
    assert coarse.steps >= point.steps
    assert coarse.steps % 10 == 0
    assert point.inputs == 3


def test_a_target_out_of_reach_is_not_met():
    assert reach(fk.HeatParaboloid(dim=1), target=1e-9, seed=0, steps=3).steps is None


def test_a_harder_target_takes_more_steps():
    easy, hard = (
        reach(fk.HeatParaboloid(dim=2), target, seed=0, steps=100, every=1).steps
        for target in (0.1, 0.01)
    )
    assert easy < hard


def test_each_dimension_is_announced():
    said: list[str] = []
    study = run_dimensions([1, 2], target=1e-9, steps=2, announce=said.append)
    assert said == ["d = 1: not within 2 steps", "d = 2: not within 2 steps"]
    assert [p.dim for p in study.points] == [1, 2]


@pytest.mark.parametrize("study", [synthetic(3, 7, 13), synthetic(3)], ids=["slopes", "one point"])
def test_the_figure_is_a_picture(tmp_path, study):
    path = draw_scaling(study, tmp_path / "scaling.png")
    assert path.read_bytes().startswith(b"\x89PNG")
