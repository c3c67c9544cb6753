"""What a search found, as table, JSON, CSV and figure."""

import csv
import json
import math

import pytest

import feynkac as fk
from feynkac.analysis.comparison import Comparison
from feynkac.methods.preset import read_preset
from feynkac.plotting.writing import write_figure
from feynkac.tuning.search_figure import draw_search
from feynkac.tuning.search_report import (
    best_so_far,
    columns,
    read_rows,
    write_results,
    write_tensorboard,
)
from feynkac.tuning.trials import Trial, Trials, make_search
from feynkac.tuning.verdict import Verdict

HISTORIES = {
    0: [(1.0, 0.5), (2.0, 0.3)],
    1: [(1.0, 0.4), (2.0, 0.2)],
    2: [(1.0, 0.9)],
    3: [],
}
STATUS = {0: "finished", 1: "finished", 2: "stopped", 3: "open"}


@pytest.fixture
def trials(tmp_path):
    search, _ = make_search("black-scholes", {}, "paper", "2s", 0, {})
    kept = Trials(tmp_path)
    kept.claim(search)
    for number, history in HISTORIES.items():
        values = {"batch_size": 2 + number, "paths": None, "decay": 0.25}
        kept.write(Trial(number, values, fk.Fast(batch_size=2 + number), STATUS[number]))
        records = [
            {"step": 10 * (i + 1), "seconds": seconds, "l1": l1, "l1_se": 0.01, "loss": 1.0}
            for i, (seconds, l1) in enumerate(history)
        ]
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (kept.path(number) / "metrics.jsonl").write_text(lines)
    return kept


def test_rows(trials):
    rows = read_rows(trials)
    assert [row.l1 for row in rows] == [0.3, 0.2, 0.9, math.inf]
    assert columns(rows)[:3] == ("trial", "batch size", "paths")
    assert rows[0].cells() == (
        *("default", "2", "auto", "0.25"),
        *("finished", "2.0", "3.00e-01 ± 1e-02"),
    )
    assert rows[3].cells()[-3:] == ("open", "–", "–")
    assert all(len(row.cells()) == len(columns(rows)) for row in rows)


def test_the_best_so_far_never_rises(trials):
    times, errors = best_so_far(read_rows(trials))
    assert times == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert errors == [0.5, 0.3, 0.3, 0.2, 0.2]


def test_files(trials, tmp_path):
    result = write_results(trials, Verdict(0, {}))
    assert json.loads((tmp_path / "results.json").read_text()) == result
    with (tmp_path / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["l1"] for row in rows] == ["0.3", "0.2", "0.9", ""]
    assert [int(row["batch_size"]) for row in rows] == [2, 3, 4, 5]
    assert result["trials"][1] == {
        "trial": 1,
        "status": "finished",
        "batch_size": 3,
        "paths": None,
        "decay": 0.25,
        "l1": 0.2,
        "l1_se": 0.01,
        "seconds": 2.0,
        "step": 20,
    }


@pytest.mark.parametrize(("wins", "batch_size"), [(True, 3), (False, 2)])
def test_the_preset_is_the_default_s_unless_a_trial_beat_it(trials, tmp_path, wins, batch_size):
    difference = -0.1 if wins else 0.1
    comparison = Comparison(0.2, 0.01, 0.3, 0.01, difference, 0.01)
    write_results(trials, Verdict(1, {1: comparison}))
    assert read_preset(tmp_path / "preset.json").batch_size == batch_size


def test_the_figure_is_drawn(trials, tmp_path):
    path = write_figure(draw_search(read_rows(trials)), tmp_path / "best.png")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_tensorboard_gets_the_curves_of_every_trial_that_has_one(trials, tmp_path):
    write_tensorboard(trials)
    write_tensorboard(trials)  # a search that goes on writes them anew
    found = sorted((tmp_path / "tensorboard").iterdir())
    assert [path.name for path in found] == ["000", "001", "002"]
    events = b"".join(path.read_bytes() for path in found[0].glob("events*"))
    assert all(tag in events for tag in (b"l1", b"loss", b"batch_size"))
