"""Figure 9: slopes of costs, what was not reached, the division of the time, resuming."""

import json
import math
from statistics import mean

import pytest

from feynkac.benchmarks.dimensions import Point
from feynkac.benchmarks.store import Store
from feynkac.reproduction import figure_9
from feynkac.reproduction.figure_9 import (
    FULL_PLANS,
    LOOSE,
    TARGET,
    Plan,
    authors_study,
    costs,
    draw,
    slope,
    steps_to,
)
from feynkac.reproduction.result import FULL
from feynkac.reproduction.settings import Settings

pytestmark = pytest.mark.slow


def point(dim: int, steps: int | None, seconds: float = 1.0) -> Point:
    """The loose target after 10 steps, the other after `steps`; as many parameters as inputs."""
    inputs = 1 + dim + dim * dim
    curve = [(10, LOOSE), *([(steps, TARGET)] if steps else [])]
    return Point(dim, inputs, inputs, steps, seconds, curve)


def study(*steps: tuple[int | None, ...]) -> list[list[Point]]:
    """A dimension a tuple, a seed an entry."""
    return [[point(dim, each) for each in seeds] for dim, seeds in enumerate(steps, 1)]


def plans(dims: tuple[int, ...]) -> dict[str, Plan]:
    """The same for both methods."""
    return {"paper": Plan(dims, 5, training={"batch_size": 64}), "fast": Plan(dims, 5)}


def trained_here(result):
    """The rows without the authors'."""
    return [row for row in result.rows if row[0] != "the authors'"]


def legend(figure):
    """The one below both panels, which show the same lines."""
    (found,) = figure.legends
    return [text.get_text() for text in found.get_texts()]


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Two dimensions, small batches, a few seconds."""
    monkeypatch.setattr(figure_9, "SCALED_PLANS", plans((1, 2)))
    return Settings(Store(tmp_path), budget=1.0)


def test_the_full_scale_is_the_papers():
    paper = FULL_PLANS["paper"]
    assert paper.dims == tuple(range(1, 16))
    assert (paper.every, paper.training) == (250, {})
    assert set(paper.dims) | {30} <= set(FULL_PLANS["fast"].dims)
    assert paper.target == TARGET == 0.01


def test_the_cost_is_parameters_times_the_mean_of_the_steps():
    assert costs(study((20, 40), (30, 50)), TARGET) == [(3, 3 * 30), (7, 7 * 40)]


def test_a_dimension_counts_only_if_every_seed_reached_it():
    found = study((20, 40), (30, None))
    assert steps_to(found[1], TARGET) is None
    assert costs(found, TARGET) == [(3, 90)]
    assert costs(found, LOOSE) == [(3, 30), (7, 70)]
    assert slope(found, TARGET) is None
    assert slope(found, LOOSE) == pytest.approx(1.0)


def test_the_slope_is_the_exponent_of_the_inputs():
    found = study((3 * 20,), (7 * 20,), (13 * 20,))
    assert slope(found, TARGET) == pytest.approx(2.0)
    found[0] = [point(1, 5000)]
    assert slope(found, TARGET) != pytest.approx(2.0, abs=0.1)
    assert slope(found, TARGET, least_dim=2) == pytest.approx(2.0)


def test_ours_is_given_more_steps_in_more_dimensions():
    assert figure_9.most_steps("paper", 1) == figure_9.most_steps("paper", 15) == 28_000
    assert figure_9.most_steps("fast", 30) > figure_9.most_steps("fast", 15)


def test_the_time_left_is_divided_between_the_seeds_of_a_dimension(monkeypatch, tmp_path):
    limits = []

    def reach(family, *_args, limit, method, **_options):
        limits.append((method, family.dim, limit))
        return point(family.dim, None, seconds=4.0 if family.dim == 1 else limit)

    monkeypatch.setattr(figure_9, "reach", reach)
    monkeypatch.setattr(figure_9, "SCALED_PLANS", plans((1, 2, 3)))
    result = figure_9.run(Settings(Store(tmp_path), budget=80.0))
    expected = [(1, 20.0), (1, 36.0), (2, 16.0), (2, 16.0)]
    assert limits == [(method, *each) for method in ("paper", "fast") for each in expected]
    assert [row[1] for row in trained_here(result)] == ["1", "2"] * 2
    assert "Ours, trained in d = 1 … 2: not all seeds reached 0.01 in d = 1, 2." in result.notes


def test_a_full_run_has_no_limit_and_keeps_checkpoints(monkeypatch, tmp_path):
    calls = []

    def reach(family, target, seed, steps, every, **options):
        calls.append((family.dim, seed, every, options["limit"], options["checkpoint"]))
        return point(family.dim, 20)

    monkeypatch.setattr(figure_9, "reach", reach)
    result = figure_9.run(Settings(Store(tmp_path), full=True))
    assert result.scale == FULL
    assert [call[:3] for call in calls[:3]] == [(1, 0, 250), (1, 1, 250), (2, 0, 250)]
    assert all(call[3] == float("inf") for call in calls)
    assert len({call[4] for call in calls}) == 2 * (15 + 18)


def test_one_method_can_be_at_full_scale_and_is_found_again(monkeypatch, tmp_path):
    """With the paper's dimensions trained it counts, whatever is asked for later."""
    trained = []

    def reach(family, *_args, method, **_options):
        trained.append(method)
        return point(family.dim, 20)

    monkeypatch.setattr(figure_9, "reach", reach)
    monkeypatch.setattr(figure_9, "SCALED_PLANS", plans((1, 2)))
    store = Store(tmp_path)
    asked = figure_9.run(Settings(store, full=True, methods=("fast",)))
    assert (trained.count("paper"), trained.count("fast")) == (2 * 2, 2 * 18)
    assert asked.scale.startswith("60 s for the paper's, here, for as many dimensions as fit")
    assert figure_9.run(Settings(store)).rows == asked.rows
    assert len(trained) == 2 * 2 + 2 * 18


def test_a_full_run_that_was_stopped_is_shown_as_far_as_it_came(monkeypatch, tmp_path):
    def reach(family, *_args, method, **_options):
        if method == "fast" and family.dim > 20:
            raise KeyboardInterrupt
        return point(family.dim, 20)

    monkeypatch.setattr(figure_9, "reach", reach)
    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        figure_9.run(Settings(store, full=True, methods=("fast",)))
    rows = figure_9.run(Settings(store)).rows
    assert [row[1] for row in rows if row[0] == "ours"][-2:] == ["15", "20"]


def test_everything_is_found_again(small, monkeypatch):
    first = figure_9.run(small)
    monkeypatch.setattr(figure_9, "reach", None)
    again = figure_9.run(small)
    assert again.rows == first.rows
    assert json.dumps(again.data) == json.dumps(first.data, allow_nan=False)
    owners = ["the authors'", "the paper's, here", "ours"]
    assert [row[:2] for row in first.rows if row[1] == "1"] == [(owner, "1") for owner in owners]
    assert {len(row) for row in first.rows} == {len(first.columns)}
    assert "batches of 64 in place of 131,072, until L1 ≤ 0.01 in place" in first.scale


def test_what_was_not_reached_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(
        figure_9,
        "reach",
        lambda family, *_, **__: point(family.dim, [20, 30, None][family.dim - 1]),
    )
    monkeypatch.setattr(figure_9, "SCALED_PLANS", plans((1, 2, 3)))
    result = figure_9.run(Settings(Store(tmp_path)))
    rows = trained_here(result)
    assert [row[4] for row in rows] == ["20 ± 0", "30 ± 0", "not reached"] * 2
    assert rows[2][5] == "–"
    assert "Ours, trained in d = 1 … 3: not all seeds reached 0.01 in d = 3." in result.notes


def test_the_figure_shows_what_was_reached_twice():
    figure = draw({"paper": study((20,), (30,)), "fast": study((None,), (None,))})
    left, right = figure.axes
    assert [len(line.get_xdata()) for line in left.lines] == [2, 2, 2]
    assert right.get_xscale() == right.get_yscale() == "log"
    assert list(right.lines[0].get_ydata()) == [60, 210]
    exponent = math.log(210 / 60) / math.log(7 / 3)
    assert f"slope {exponent:.2f} from d = 1" in legend(figure)[0]


def test_the_slope_of_ours_leaves_out_the_other_optimiser(monkeypatch, tmp_path):
    steps = [20, 20, 13 * 20, 21 * 20]
    monkeypatch.setattr(
        figure_9, "reach", lambda family, *_, **__: point(family.dim, steps[family.dim - 1])
    )
    monkeypatch.setattr(figure_9, "SCALED_PLANS", plans((1, 2, 3, 4)))
    notes = figure_9.run(Settings(Store(tmp_path))).notes
    assert "Ours: the cost of L1 ≤ 0.01 grows as inputs^2.00 from d = 3 on." in notes
    assert "Ours, trained in d = 1 … 4: all seeds reached both." in notes


def test_nothing_reached_is_an_empty_figure():
    no_curve = [[Point(1, 3, 3, None, 1.0)]]
    assert not draw({"fast": no_curve}).axes[0].lines


def test_the_authors_costs_are_those_of_their_records():
    """Their repository has these numbers of parameters; the means are those that issue 15 gives."""
    found = authors_study()
    steps = {points[0].dim: mean(steps_to(points, TARGET)) for points in found}
    assert [round(steps[dim]) for dim in (1, 10, 15)] == [1312, 8250, 9625]
    assert {p[0].dim: p[0].parameters for p in found if p[0].dim in (1, 2, 9, 15)} == {
        1: 2140,
        2: 10364,
        9: 1602332,
        15: 11184332,
    }
    assert slope(found, TARGET) == pytest.approx(2.364, abs=5e-4)
    assert all(step % 250 == 0 for points in found for step in steps_to(points, TARGET))


def test_the_authors_are_a_line_of_their_own(small):
    result = figure_9.run(small)
    labels = legend(result.figure)
    assert labels[0] == "the authors', L1 ≤ 0.01: slope 2.36 from d = 1"
    assert sum("the authors'" in label for label in labels) == 1
    assert any("inputs^2.36" in note for note in result.notes)
    again = figure_9.present(json.loads(json.dumps(result.data)))
    assert (again.rows, again.notes, again.scale) == (result.rows, result.notes, result.scale)
