"""What people see while something runs: terminals, notebooks, pipes."""

import re

import pytest

import feynkac as fk
from feynkac.display import Line, duration, screen, showing
from feynkac.phases import Phase, enter, heard, listening


@pytest.fixture
def on_terminal(monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")  # what rich asks to know whether it may animate
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def in_pipe(monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "0")


@pytest.mark.usefixtures("on_terminal")
def test_a_terminal_shows_phases_by_default(capsys, monkeypatch):
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    with showing():
        enter("choosing the noise")
    out, err = capsys.readouterr()
    assert out == ""
    assert "choosing the noise" in err


@pytest.mark.usefixtures("on_terminal")
def test_tests_are_silent(capsys):
    with showing():
        enter("choosing the noise")
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("in_pipe")
def test_pipes_are_silent_unless_asked(capsys, monkeypatch):
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    with showing():
        assert not heard()
    assert capsys.readouterr() == ("", "")
    with showing(True):
        heard_now = heard()
    assert heard_now


@pytest.mark.usefixtures("on_terminal")
def test_what_is_not_wanted_is_not_shown(capsys, monkeypatch):
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    with showing(False):
        assert not heard()
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("on_terminal")
def test_a_call_within_a_call_shares_its_line(capsys, monkeypatch):
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    said = []
    with listening(said.append), showing(True):
        enter("certifying")
    assert [phase.name for phase in said] == ["certifying"]
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("on_terminal")
def test_solve_shows_its_phases_and_leaves_nothing_behind(capsys, monkeypatch):
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    fk.solve(fk.BlackScholes(), steps=2, batch_size=64, evaluations=1)
    err = capsys.readouterr().err
    assert "checking the family" in err
    assert "step 2/2" in err
    assert "\x1b[2K" in err[-40:]  # the line is erased


@pytest.mark.usefixtures("in_pipe")
def test_in_a_pipe_there_is_a_line_per_landmark(capsys):
    with screen(["a", "b"]) as (first, second):
        first(Phase("training", 0.5, "step 1/2", landmark=True))
        second(Phase("planning"))
        second(Phase("training", 1.0, "step 2/2", landmark=True))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert re.fullmatch(r" *[\d.]+ s  a  training  step 1/2(  [\d.]+ s left)?", lines[0])
    assert re.fullmatch(r" *[\d.]+ s  b  training  step 2/2(  0.0 s left)?", lines[1])


@pytest.mark.usefixtures("in_pipe")
def test_a_landmark_that_is_told_twice_is_written_once(capsys):
    with screen([""]) as (line,):
        for step in (5, 5, 10):
            line(Phase("training", step / 10, f"step {step}/10", landmark=True))
    assert capsys.readouterr().err.count("step 5/10") == 1


def test_the_time_left_follows_from_what_was_done_since_the_start(monkeypatch):
    line, now = Line(""), [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    hear = line.listener(lambda _: None)
    hear(Phase("training", 0.5))  # resumed in the middle
    now[0] = 10.0
    hear(Phase("measuring the error"))
    assert line.left is None
    now[0] = 12.0
    hear(Phase("training", 0.6))
    assert line.left == pytest.approx(48.0)
    assert line.times == "12.0 s, 48.0 s left"
    hear(Phase("training", 1.0))
    now[0] = 99.0
    assert line.times == "12.0 s"  # what is over takes no more time


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0.0 s"), (59.94, "59.9 s"), (60.0, "1:00 min"), (3599, "59:59 min"), (3600, "1:00 h")],
)
def test_durations_are_for_people(seconds, text):
    assert duration(seconds) == text


def test_a_notebook_shows_a_picture_that_is_replaced_and_gone_in_the_end(monkeypatch):
    from IPython import display as notebook

    pictures = []

    class Handle:
        def update(self, data, raw):
            assert raw
            pictures.append(data)

    def display(data, raw, display_id):
        assert raw
        assert display_id
        pictures.append(data)
        return Handle()

    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "1")  # rich takes it for a notebook
    monkeypatch.setattr("builtins.get_ipython", Databricks, raising=False)
    monkeypatch.setattr(notebook, "display", display)
    fk.solve(fk.BlackScholes(), steps=2, batch_size=64, evaluations=1)
    assert any("checking the family" in data["text/html"] for data in pictures)
    assert pictures[-1] == {"text/plain": "", "text/html": ""}


class Databricks:
    """A shell that is not a terminal's."""
