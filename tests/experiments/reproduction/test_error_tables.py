"""Tables 1–4 at a tiny scale: the paper's figures beside ours, and which trainings are taken."""

import json
from dataclasses import replace

import pytest

from feynkac.experiments.reproduction.error_tables import run_table, spread
from feynkac.experiments.reproduction.published import TABLES
from feynkac.experiments.reproduction.scaling import paper_run
from feynkac.experiments.reproduction.settings import Settings
from feynkac.experiments.reproduction.store import Store
from feynkac.experiments.reproduction.trainings import (
    black_scholes_solutions,
    train_fast,
    train_paper,
)
from feynkac.training.paper import paper_setup


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    """Of the cheapest reproduction there is."""
    return Settings(Store(tmp_path_factory.mktemp("runs")), budget=4.0, seeds=(0,))


@pytest.fixture(scope="module")
def first(settings):
    return run_table(TABLES[0], settings)


def test_the_published_lines_are_those_of_the_training_setup():
    for table in TABLES:
        column = paper_setup(table.family)
        steps = [line.step for line in table.lines]
        assert steps == list(range(0, column.steps + 1, column.schedule.patience))
        assert table.lines[-1].seconds[0] == table.entries[0].gpu_seconds
        errors = [line.l1[0] for line in table.lines]
        assert errors[0] > 10 * errors[1]
        assert errors[-1] == min(errors)


def test_the_paper_stands_beside_what_was_found(first):
    steps = first.data["lines"][-1]["step"]
    assert first.rows[6][:3] == (f"24,000 (here {steps})", "0.0011 ± 0.0001", "2827 ± 17")
    assert len(first.rows) == 7 + 1
    assert first.rows[-1][0].startswith("fast (scaled: 2 s in place of 27 s)")
    json.dumps(first.data, allow_nan=False)


def test_a_scaled_table_says_by_how_much(first):
    steps = first.data["lines"][-1]["step"]  # as many as fit, at least 100
    smaller = f"batch size 2,048 in place of 65,536 and {steps} steps in place of 24,000."
    assert first.scale == smaller
    assert steps >= 100
    assert any("hours a seed" in note for note in first.notes)


def test_errors_fall_by_both_methods(first):
    lines = first.data["lines"]
    assert lines[-1]["l1"][0] < lines[0]["l1"][0]
    assert first.data["black-scholes"]["l1"][0] < lines[0]["l1"][0]


def test_the_second_time_nothing_is_trained(first, settings):
    seen = []
    watched = replace(settings, report=seen.append, announce=seen.append)
    again = run_table(TABLES[0], watched)
    assert seen == []
    assert again.rows == first.rows
    assert len(black_scholes_solutions(watched, "paper")[0]) == 1
    assert seen == []


def test_a_finished_training_at_full_scale_is_preferred(first, settings, tmp_path):
    """Planted under the name of the full-scale run: only its place in the store is looked at."""
    table, scaled = TABLES[0], train_paper(TABLES[0], settings)
    full = paper_run(replace(settings, full=True), table.family, seed=2)
    store = Store(tmp_path)
    manifest = scaled.solutions[0].manifest.model_copy(update={"run": full})
    replace(scaled.solutions[0], manifest=manifest).save(tmp_path / full.folder_name)
    found = train_paper(table, replace(settings, store=store))
    assert found.scale == "full"
    assert found.seeds == (2,)


def test_full_scale_can_be_asked_of_one_method_alone(settings, tmp_path):
    table = replace(TABLES[0], entries=(replace(TABLES[0].entries[0], gpu_seconds=2.0 / 0.0095),))
    asked = replace(settings, store=Store(tmp_path), full=True, methods=("fast",))
    assert train_fast(table.entries[0], table, asked).scale == "full"
    assert train_paper(table, asked).scale != "full"


@pytest.mark.slow
def test_the_basket_is_measured_against_both_references(tmp_path):
    found = run_table(TABLES[1], Settings(Store(tmp_path), budget=30.0, seeds=(0,)))
    names = [row[0] for row in found.rows[8:]]
    assert names[0].startswith("fast, true PDE")
    assert names[1].startswith("fast, EM-25")
    assert names[2] == "the paper's method, true PDE"


def test_mean_and_deviation():
    assert spread([0.0012]) == "0.0012"
    assert spread([0.001, 0.003], 3) == "0.002 ± 0.001"
