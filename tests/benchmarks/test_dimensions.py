"""The dimension study: slopes by least squares, the first step that meets the target."""

import json
import math
import re

import pytest

import feynkac as fk
from feynkac.benchmarks.dimensions import (
    DIMS,
    Point,
    Study,
    loglog_slope,
    reach,
    run_dimensions,
)
from feynkac.benchmarks.dimensions_figure import draw_scaling
from feynkac.interfaces.console import training_display
from feynkac.plotting.writing import write_figure
from feynkac.sampling.generators import make_generator

pytestmark = pytest.mark.slow


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


@pytest.mark.parametrize(
    ("method", "options"), [("fast", {}), ("paper", {"batch_size": 256})], ids=["fast", "paper"]
)
def test_the_curve_is_that_of_a_training_by_solve(method, options):
    family = fk.HeatParaboloid(dim=2)
    point = reach(family, 1e-9, seed=3, steps=8, every=4, inputs=512, method=method, **options)
    network = fk.solve(family, method=method, steps=8, seed=3, device="cpu", **options).network
    x = family.domain.sample(512, make_generator(3, "dimensions"))
    truth = family.closed_form(*family.domain.split(x.double()))
    l1 = ((network(x).double() - truth).abs() / (1.0 + truth)).mean().item()
    assert [step for step, _ in point.curve] == [4, 8]
    assert point.curve[-1][1] == pytest.approx(l1, rel=1e-6)
    assert point.parameters == sum(p.numel() for p in network.parameters())


def test_a_looser_target_is_read_off_the_curve():
    point = Point(1, 3, 7, steps=30, seconds=1.0, curve=[(10, 0.5), (20, 0.05), (30, 0.01)])
    assert [point.first(target) for target in (0.6, 0.05, 0.02, 0.001)] == [10, 20, 30, None]


def test_training_ends_when_the_time_is_over():
    family = fk.HeatParaboloid(dim=1)
    none = reach(family, 1e-9, seed=0, steps=10**6, limit=0.0)
    some = reach(family, 1e-9, seed=0, steps=10**6, every=1, limit=none.seconds + 0.2)
    assert (none.steps, list(none.curve)) == (None, [])
    assert none.seconds > 0.0
    assert some.steps is None
    assert 0 < len(some.curve) < 1000


class StoppedError(Exception):
    """Stands for a killed process."""


def test_a_stopped_training_goes_on_from_its_checkpoint(tmp_path):
    def call(report=None):
        family = fk.HeatParaboloid(dim=1)
        return reach(family, 1e-9, 0, 12, every=4, checkpoint=tmp_path / "c", report=report)

    def stop(progress):
        if progress.step == 10:
            raise StoppedError

    seen: list[int] = []
    whole = call()
    assert not (tmp_path / "c").exists()
    with pytest.raises(StoppedError):
        call(stop)
    assert (tmp_path / "c").exists()
    resumed = call(lambda progress: seen.append(progress.step))
    assert seen == [9, 10, 11, 12]
    assert list(resumed.curve) == list(whole.curve)
    assert not (tmp_path / "c").exists()


def test_a_watcher_sees_the_error_where_it_is_measured():
    seen = []
    reach(fk.HeatParaboloid(dim=1), 1e-9, 0, 4, every=2, report=seen.append)
    assert [progress.step for progress in seen] == [1, 2, 3, 4]
    assert [progress.record is not None for progress in seen] == [False, True, False, True]
    assert seen[1].record["step"] == 2


def test_each_dimension_is_announced():
    said: list[str] = []
    study = run_dimensions([1, 2], target=1e-9, steps=2, announce=said.append)
    assert said == ["d = 1: not within 2 steps", "d = 2: not within 2 steps"]
    assert [p.dim for p in study.points] == [1, 2]


@pytest.mark.parametrize("study", [synthetic(3, 7, 13), synthetic(3)], ids=["slopes", "one point"])
def test_the_figure_is_a_picture(tmp_path, study):
    path = write_figure(draw_scaling(study), tmp_path / "scaling.png")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_its_progress_can_be_shown(capsys):
    with training_display() as report:
        reach(fk.HeatParaboloid(dim=1), 1e-9, 0, 10, every=5, report=report)
    shown = capsys.readouterr().err.splitlines()
    steps = [re.search(r" training  .*  step (\d+/10) ", line)[1] for line in shown]
    assert steps == ["5/10", "10/10"]
    assert all("L1 0." in line and " ± " in line for line in shown)
