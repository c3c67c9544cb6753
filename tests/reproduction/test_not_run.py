"""What is not run: the projection is the product of its parts, and pages' scales are read."""

import json
from dataclasses import asdict
from functools import partial

import pytest

import feynkac as fk
from feynkac.benchmarks import bench
from feynkac.benchmarks.store import Store
from feynkac.reproduction import not_run
from feynkac.reproduction.not_run import duration, present, project_all, run
from feynkac.reproduction.published import FIGURE_9_STEPS
from feynkac.reproduction.settings import Settings

pytestmark = pytest.mark.slow

SECONDS = {
    "black-scholes": 0.25,
    "basket-put": 10.0,
    "heat-paraboloid": 20.0,
    "heat-gaussian": 40.0,
}
PARAMETERS = 2_380_732


@pytest.fixture
def settings(monkeypatch, tmp_path):
    """Steps of known length; a feed-forward network's take twice as long."""
    timed = []

    def time_step(family, architecture=None):
        timed.append((family.name(), architecture))
        slow = 2.0 if isinstance(architecture, fk.FeedForward) else 1.0
        return slow * SECONDS[family.name()]

    monkeypatch.setattr(not_run, "time_paper_step", time_step)
    settings = Settings(Store(tmp_path / "runs"), pages=tmp_path)
    object.__setattr__(settings, "timed", timed)
    return settings


def project(settings):
    step = partial(not_run.step_seconds, settings)
    return {full.name: full.seconds for full in project_all(settings.pages, step)}


def test_the_projection_is_trainings_times_steps_times_seconds(settings):
    found = project(settings)
    assert found["table-1"] == 4 * 24_000 * 0.25
    assert found["table-2"] == 4 * 28_000 * 10.0
    assert found["table-7"] == 4 * 30_000 * (6 * 0.25 + 3 * 0.5)
    assert found["table-8"] == 4 * 30_000 * (2 * 20.0 + 40.0)
    assert found["figure-9"] > sum(FIGURE_9_STEPS[15]) * 20.0 * 11_184_332 / PARAMETERS
    assert list(found) == [
        "table-1",
        "table-2",
        "table-3",
        "table-4",
        "table-7",
        "table-8",
        "figure-9",
    ]


def test_it_is_the_projection_of_the_benchmark(settings):
    found = project(settings)
    assert found["table-4"] == 4 * bench.project_paper(fk.HeatGaussian(), 40.0)


def test_a_step_is_timed_once_and_at_the_paper_s_batch_size(settings):
    project(settings)
    count = len(settings.timed)
    assert count == len(set(map(str, settings.timed)))
    project(settings)
    assert len(settings.timed) == count


def test_the_scales_are_those_of_the_pages(settings, tmp_path):
    (tmp_path / "table-1.json").write_text(json.dumps({"scale": "full"}))
    (tmp_path / "table-2.json").write_text(json.dumps({"scale": "340 steps in place of 28,000."}))
    rows = {row[0]: row[1:] for row in run(settings).rows}
    assert rows["Table 1: Black–Scholes"] == (
        "4 trainings of 24,000 steps",
        "full scale",
        "6.7 hours",
    )
    assert rows["Table 2: basket put"][1:] == ("scaled: 340 steps in place of 28,000.", "13 days")
    assert rows["Table 3: heat equation, paraboloid"][1] == "not made"


@pytest.mark.parametrize(
    ("seconds", "text"), [(59.0, "1 minutes"), (7200.0, "2 hours"), (2e5, "2 days")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_what_was_not_timed_is_said(tmp_path):
    untimed = [asdict(full) for full in project_all(tmp_path, lambda *_: None)]
    result = present({"results": untimed})
    assert {row[3] for row in result.rows} == {"not timed yet"}
    assert "All of it" not in result.notes[0]
