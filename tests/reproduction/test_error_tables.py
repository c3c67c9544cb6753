"""Tables 1–4 at a tiny scale: the paper's figures beside ours, and which trainings are taken."""

import json
from dataclasses import replace

import pytest

from feynkac.benchmarks.store import Store, name_of
from feynkac.methods.paper import column as table_5
from feynkac.reproduction.error_tables import (
    TRUE_PDE,
    present_table,
    run_table,
    spread,
)
from feynkac.reproduction.published import TABLES
from feynkac.reproduction.scaling import paper_run
from feynkac.reproduction.settings import Settings
from feynkac.reproduction.trainings import (
    train_black_scholes,
    train_fast,
    train_paper,
)


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    """Of the cheapest reproduction there is."""
    return Settings(Store(tmp_path_factory.mktemp("runs")), budget=2.0, seeds=(0,))


@pytest.fixture(scope="module")
def first(settings):
    return run_table(TABLES[0], settings)


def test_the_published_lines_are_those_of_the_training_setup():
    for table in TABLES:
        column = table_5(table.family)
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
    assert first.rows[-1][0].startswith("fast (scaled: 1 s in place of 28 s)")
    json.dumps(first.data, allow_nan=False)


def test_a_scaled_table_says_by_how_much(first):
    steps = first.data["lines"][-1]["step"]  # as many as fit, at least 100
    smaller = f"batch size 2,048 in place of 65,536 and {steps} steps in place of 24,000."
    assert first.scale == smaller
    assert steps >= 100
    assert any("(not-run.md)" in note for note in first.notes)


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
    assert len(train_black_scholes(watched, "paper").solutions) == 1
    assert seen == []


def test_a_finished_training_at_full_scale_is_preferred(first, settings, tmp_path):
    """Planted under the name of the full-scale run: only its place in the store is looked at."""
    table, scaled = TABLES[0], train_paper(TABLES[0], settings)
    full = paper_run(replace(settings, full=True), table.family, seed=2)
    store = Store(tmp_path)
    manifest = scaled.solutions[0].manifest.model_copy(update={"run": full})
    replace(scaled.solutions[0], manifest=manifest).save(tmp_path / name_of(full))
    found = train_paper(table, replace(settings, store=store))
    assert found.scale == "full"
    assert found.seeds == (2,)


@pytest.mark.slow
def test_full_scale_can_be_asked_of_one_method_alone(settings, tmp_path):
    table = replace(TABLES[0], entries=(replace(TABLES[0].entries[0], gpu_seconds=2.0 / 0.0095),))
    asked = replace(settings, store=Store(tmp_path), full=True, methods=("fast",))
    assert train_fast(table.entries[0], table, asked).scale == "full"
    assert train_paper(table, asked).scale != "full"


def numbers(l1, scale="full", seeds=(0, 1)):
    return {"l1": [l1] * len(seeds), "seconds": [50.0] * len(seeds), "seeds": seeds, "scale": scale}


def basket(scale):
    """The fast method: 0.0004 from the PDE, 0.002 from EM-25; the paper's: 0.04 and 0.005."""
    lines = [
        {"step": step, "seconds": [step / 4], "l1": [l1]} for step, l1 in ((0, 0.8), (28000, 0.005))
    ]
    true, euler = TABLES[1].entries
    parts = {true.name: numbers(0.0004), euler.name: numbers(0.002, "22 s in place of 57 s")}
    return {"scale": scale, "seeds": (0,), "lines": lines, TRUE_PDE: [0.04], **parts}


def test_errors_are_compared_with_those_against_the_same_reference():
    true, euler = present_table(TABLES[1], basket("full")).notes[-2:]
    published = TABLES[1].entries[0].published_l1
    assert true == (
        f"Against the true PDE the fast method's error is {published / 0.0004:.3g} times smaller "
        f"than the authors' weights' {published}, and 100 times smaller than the paper's method's "
        "as trained here, 0.04."
    )
    assert euler == (
        "Against the same 25 Euler–Maruyama steps the fast method's error (22 s in place of 57 s) "
        "is 1.95 times smaller than the paper's 0.0039, and 2.5 times smaller than the paper's "
        "method's as trained here, 0.005."
    )


def test_a_scaled_training_of_the_paper_s_method_is_compared_with_nothing():
    notes = present_table(TABLES[1], basket("340 steps in place of 28,000.")).notes
    assert not any("as trained here" in note for note in notes)
    assert notes[-1].endswith("than the paper's 0.0039.")


def test_every_training_has_its_own_seeds():
    data = basket("full") | {TABLES[1].entries[0].name: numbers(0.0004, seeds=(0, 1, 2, 3))}
    told = "the paper's method 0; fast, true PDE 0, 1, 2, 3; fast, EM-25 0, 1."
    assert any(told in note for note in present_table(TABLES[1], data).notes)


def test_a_larger_error_is_called_larger():
    data = basket("full")
    data[TABLES[1].entries[1].name]["l1"] = [0.0078]
    assert "is 2 times larger than the paper's" in present_table(TABLES[1], data).notes[-1]


def test_the_authors_longer_trainings_are_told():
    notes = {t.name: " ".join(present_table(t, of(t)).notes) for t in TABLES}
    assert "trained for 40,000 steps, of which the table shows 24,000" in notes["table-1"]
    assert "they trained" not in notes["table-2"]
    assert "trained for 30,000 steps, of which the table shows 28,000" in notes["table-4"]
    assert all("ε = 1e-8" in note for note in notes.values())


def of(table):
    data = basket("full")
    return data | {entry.name: numbers(0.001) for entry in table.entries}


def test_a_page_from_recorded_numbers_is_the_same(first):
    again = present_table(TABLES[0], json.loads(json.dumps(first.data)))
    assert again.rows == first.rows
    assert again.notes == first.notes


def test_a_training_is_used_with_its_own_seconds(settings, first):
    store = replace(settings.store, used=[])
    run_table(TABLES[0], replace(settings, store=store))
    trained = {used.what: used for used in store.used if used.method}
    assert trained.keys() == {"the paper's method", "the fast method"}
    assert trained["the fast method"].seconds == first.data["black-scholes"]["seconds"][0] > 0.5


def test_committed_trainings_make_a_full_table(settings, tmp_path):
    """On a fresh clone: nothing in the store, the paper's run among the committed ones."""
    table, scaled = TABLES[0], train_paper(TABLES[0], settings)
    full = paper_run(replace(settings, full=True), table.family, seed=3)
    column = table_5(table.family)
    update = {"run": full, "steps": column.steps}
    manifest = scaled.solutions[0].manifest.model_copy(update=update)
    committed = tmp_path / "trainings" / "table-1-paper-seed-3"
    replace(scaled.solutions[0], manifest=manifest).save(committed)
    fresh = replace(settings, store=Store(tmp_path / "runs", committed.parent))
    found = train_black_scholes(fresh, "paper")
    assert (found.scale, found.seeds) == ("full", (3,))
    assert fresh.store.used[-1].committed
    assert not (tmp_path / "runs").exists()


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
