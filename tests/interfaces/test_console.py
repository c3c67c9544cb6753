"""What people see: plain lines in a pipe, one live line on a terminal, tables on stdout."""

import re

import pytest

from feynkac.analysis.warnings import warnings_of
from feynkac.interfaces.console import print_errors, print_table, training_display
from feynkac.phases import enter
from feynkac.training.loop import Progress

RECORD = {"l1": 0.012345, "l1_se": 0.0004}


def progress(step: int, record: dict[str, float | int | None] | None = None) -> Progress:
    return Progress(step=step, steps=100, loss=0.25, seconds=step / 50, record=record)


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")  # what rich asks to know whether it may animate
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def in_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "0")


@pytest.mark.usefixtures("in_pipe")
def test_in_a_pipe_each_evaluation_is_a_plain_line(capsys):
    with training_display() as report:
        report(progress(1))
        report(progress(50, RECORD))
        report(progress(51))
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    figures = "L1 0.01235 ± 0.00040  step 50/100  loss 0.25  50.0 steps/s"
    assert re.fullmatch(rf" *[\d.]+ s  training  {figures}  [\d.]+ s left", line)


@pytest.mark.usefixtures("in_pipe")
def test_an_error_that_is_not_finite_is_a_dash(capsys):
    with training_display() as report:
        report(progress(50, {"l1": None, "l1_se": None}))
    assert "L1 – ± –" in capsys.readouterr().err


@pytest.mark.usefixtures("on_terminal")
def test_on_a_terminal_the_line_shows_step_loss_and_the_last_error(capsys):
    with training_display() as report:
        report(progress(50, RECORD))
        report(progress(75))
    out, err = capsys.readouterr()
    assert out == ""
    for part in ("training", "L1 0.01235 ± 0.00040", "step 75/100", "loss 0.25"):
        assert part in err


@pytest.mark.usefixtures("on_terminal")
def test_the_phases_of_what_runs_inside_are_shown(capsys):
    with training_display():
        enter("choosing the noise")
    assert "choosing the noise" in capsys.readouterr().err


@pytest.mark.usefixtures("in_pipe")
def test_in_a_pipe_phases_without_a_measured_error_are_no_lines(capsys):
    with training_display():
        enter("choosing the noise")
    assert capsys.readouterr().err == ""


def test_a_table_goes_to_standard_output(capsys):
    print_table("Title", ("quantity", "value"), [("delta", "-0.5"), ("x[0]", "[1, 2]")])
    out, err = capsys.readouterr()
    assert err == ""
    for text in ("Title", "quantity", "value", "delta", "-0.5", "x[0]", "[1, 2]"):
        assert text in out


ERRORS = {
    "l1": 3.9e-5,
    "l1_se": 4e-7,
    "l2": 6e-5,
    "max": 2e-3,
    "mean_baseline": 0.4,
    "linear_baseline": 0.1,
    "reference_se": 0.0,
    "inputs": 65536,
}


def test_errors_are_printed_with_the_digits_that_are_known(capsys):
    print_errors("Title", ERRORS | {"l1_low": 3.82e-5, "l1_high": 3.98e-5, "max_se": 0.0})
    out, err = capsys.readouterr()
    assert "3.900e-05 ± 4.0e-07" in out
    assert "3.82e-05 … 3.98e-05" in out
    assert "0.000000" not in out
    assert err == ""


def test_the_words_of_a_table_are_explained_below_it(capsys):
    print_errors("Title", ERRORS)
    out = capsys.readouterr().out
    assert "L1 error: mean of |network − u| / (1 + |u|)" in out
    assert "inputs: points" in out
    assert "scheme:" not in out


def test_times_are_of_the_whole_run_with_training_apart(capsys):
    times = {"steps": 90, "seconds": 75.2, "training_seconds": 30.0, "import_seconds": 2.0}
    print_errors("Title", ERRORS | times | {"parameters": 10})
    rows = [line.strip("│ ").split("│") for line in capsys.readouterr().out.splitlines()]
    found = {row[0].strip(): row[1].strip() for row in rows if len(row) == 2}
    assert found["time, all in all"] == "1:15 min"
    assert found["of it for training"] == "30.0 s"
    assert found["before it, loading PyTorch"] == "2.0 s"


def test_a_cut_table_has_one_line_per_row(capsys):
    print_table("Title", ("name", "what"), [("a", "long " * 60), ("b", "short")], cut=True)
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("│") for line in lines) == 2
    assert any("…" in line for line in lines)


def test_a_record_of_an_older_run_has_no_interval_and_is_printed(capsys):
    print_errors("Title", ERRORS)
    assert "interval" not in capsys.readouterr().out


def test_what_noise_leaves_open_is_said(capsys):
    noisy = {"l1_low": 0.0, "l1_high": 1.5e-4, "reference_se": 3e-4}
    print_errors("Title", ERRORS | noisy | {"warnings": warnings_of(ERRORS | noisy)})
    out, err = capsys.readouterr()
    assert "at most 1.50e-04" in out
    assert "warning: the noise of the reference (3.00e-04) is as large as the error" in err


def test_brackets_in_a_table_are_text(capsys):
    print_table("[t]", ("[name]",), [("runs/[old]",), ("[/x]",)])
    shown = capsys.readouterr().out
    for text in ("[t]", "[name]", "runs/[old]", "[/x]"):
        assert text in shown
