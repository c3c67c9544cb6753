"""Trackers see every step once, also of a training that was interrupted and resumed."""

import csv
import sys

import pytest

import feynkac as fk
from feynkac.errors import InputError, Interrupted

SMALL = {"batch_size": 64, "evaluations": 2, "steps": 6}


class Kept:
    def __init__(self):
        self.said = []

    def start(self, settings, step):
        self.said.append(("start", settings["family"]["name"], step))

    def record(self, step, figures):
        self.said.append((step, figures["loss"], figures["l1"]))

    def finish(self):
        self.said.append(("finish",))


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_tracker_is_started_told_and_finished():
    tracker = Kept()
    solution = fk.solve(fk.BlackScholes(), tracker=tracker, **SMALL)
    first, *steps, last = tracker.said
    assert (first, last) == (("start", "black-scholes", 0), ("finish",))
    assert [step for step, _, _ in steps] == [1, 2, 3, 4, 5, 6]
    assert [l1 for _, _, l1 in steps if l1] == [r["l1"] for r in solution.manifest.history]


def test_a_tracker_is_finished_after_an_interrupt():
    tracker = Kept()
    with pytest.raises(Interrupted):
        fk.solve(fk.BlackScholes(), tracker=tracker, report=lambda p: p.step == 2, **SMALL)
    assert tracker.said[-1] == ("finish",)


def test_the_csv_file_has_a_row_per_step(tmp_path):
    path = tmp_path / "logs" / "log.csv"
    solution = fk.solve(fk.BlackScholes(), tracker=fk.CsvTracker(path), **SMALL)
    rows = table(path)
    assert [int(row["step"]) for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [bool(row["l1"]) for row in rows] == [False, False, True, False, False, True]
    last = solution.manifest.history[-1]
    for name in ("loss", "l1", "l1_se", "l2", "max", "inputs"):
        assert float(rows[-1][name]) == last[name]


def test_a_resumed_training_continues_its_file(tmp_path):
    straight, broken = (fk.CsvTracker(tmp_path / f"{name}.csv") for name in "ab")
    fk.solve(fk.BlackScholes(), tracker=straight, **SMALL)
    folder = {"out": tmp_path / "run", "tracker": broken}
    with pytest.raises(Interrupted):
        fk.solve(fk.BlackScholes(), report=lambda p: p.step == 4, **SMALL, **folder)
    broken.record(5, {"seconds": 1.0, "loss": 1.0})  # after the checkpoint, before a crash
    fk.solve(fk.BlackScholes(), **SMALL, **folder)
    ours, theirs = (table(tracker.path) for tracker in (straight, broken))
    assert [(row["step"], row["loss"]) for row in ours] == [(r["step"], r["loss"]) for r in theirs]
    before = broken.path.read_bytes()
    fk.solve(fk.BlackScholes(), **SMALL, **folder)  # finished: nothing is trained
    assert broken.path.read_bytes() == before


def test_tensorboard_reads_what_was_written(tmp_path):
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", exc_type=ImportError
    )
    solution = fk.solve(fk.BlackScholes(), tracker=fk.TensorBoardTracker(tmp_path), **SMALL)
    found = accumulator.EventAccumulator(str(tmp_path)).Reload()
    assert [event.step for event in found.Scalars("loss")] == [1, 2, 3, 4, 5, 6]
    values = [event.value for event in found.Scalars("l1")]
    assert values == pytest.approx([record["l1"] for record in solution.manifest.history])


def test_without_the_extra_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(InputError, match=r"needs tensorboard; install feynkac\[tensorboard\]"):
        fk.TensorBoardTracker(tmp_path).start({}, 0)
