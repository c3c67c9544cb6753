"""What is seen of a search while it goes on."""

import json
import time
from dataclasses import replace

import pytest
from processes import wait_until

from feynkac.interfaces.ray import watching
from feynkac.interfaces.ray.watching import best_text, search_display
from feynkac.methods import Fast
from feynkac.tuning.search_report import read_rows
from feynkac.tuning.trials import Trial, Trials


@pytest.fixture
def trials(tmp_path):
    return Trials(tmp_path)


def measure(trials, number, l1, status="open"):
    """The trial as it is after an evaluation."""
    trials.write(Trial(number, {"width": 8}, Fast()))
    record = {"seconds": 3.0, "l1": l1, "l1_se": 0.01, "step": 5}
    (trials.path(number) / "metrics.jsonl").write_text(json.dumps(record) + "\n")
    trials.write(Trial(number, {"width": 8}, Fast(), status))


def test_the_best_so_far(trials):
    assert best_text(read_rows(trials)) == "…"
    trials.write(Trial(0, {}, Fast()))
    assert best_text(read_rows(trials)) == "…"
    measure(trials, 1, 0.25)
    measure(trials, 2, 0.5)
    assert best_text(read_rows(trials)) == "best so far: trial 1, L1 2.50e-01"


def test_in_a_pipe_each_trial_that_ends_is_told_once(trials, capsys, monkeypatch):
    monkeypatch.setattr(watching, "PERIOD", 0.01)
    measure(trials, 0, 0.5, "finished")  # in an earlier session
    measure(trials, 1, 0.4)
    said = []

    def has_been_told():
        said.append(capsys.readouterr())
        return said[-1].err

    with search_display(trials):
        trials.write(replace(trials.trial(1), status="stopped"))
        wait_until(has_been_told, 60.0)
        measure(trials, 2, 0.3, "finished")
    said.append(capsys.readouterr())
    assert {captured.out for captured in said} == {""}
    first, second = "".join(captured.err for captured in said).splitlines()
    assert first.startswith("trial 1 stopped after 3.0 s, L1 4.00e-01 ± 1e-02; best so far: ")
    assert second == (
        "trial 2 finished after 3.0 s, L1 3.00e-01 ± 1e-02; best so far: trial 2, L1 3.00e-01"
    )


def test_on_a_terminal_there_is_a_table(trials, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    measure(trials, 0, 0.5, "finished")
    with search_display(trials):
        time.sleep(0.1)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "best so far: trial 0, L1 5.00e-01" in captured.err
    assert "default" in captured.err
