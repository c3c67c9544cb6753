"""The folder of a run gives back what was kept there, and refuses what was altered."""

import pytest

import feynkac as fk
from feynkac.errors import ArtifactError, InputError
from feynkac.preparation import make_run
from feynkac.runs.folder import RunFolder
from feynkac.runs.run import Decisions
from feynkac.training.pace import Pace

DECISIONS = Decisions(evaluations=3, bias=(1e-3, 1e-4))
PACE = Pace.of(10).ending(at=4, end=16)


@pytest.fixture
def run():
    return make_run(fk.BlackScholes(), "paper", {"steps": 10})


@pytest.fixture
def folder(tmp_path, run):
    folder = RunFolder(tmp_path)
    folder.keep(run, DECISIONS, PACE)
    return folder


def test_what_was_kept_is_given_back(folder, run):
    assert folder.begun
    assert not folder.under_way
    assert not folder.finished
    assert folder.decisions() == (DECISIONS, PACE)
    assert folder.run_asked_for(run.asked) == run
    folder.require(run)


def test_other_words_begin_another_run(folder):
    other = make_run(fk.BlackScholes(), "paper", {"steps": 11})
    assert folder.run_asked_for(other.asked) is None
    with pytest.raises(ArtifactError, match=r"training\.steps is 10 there, 11 here"):
        folder.require(other)


def test_an_empty_folder_knows_no_run(tmp_path, run):
    assert RunFolder(tmp_path / "nowhere").run_asked_for(run.asked) is None
    assert RunFolder(tmp_path).metrics() == []


def test_metrics_are_read_back_and_damage_is_named(folder):
    folder.write_metrics([{"step": 1, "l1": 0.5}, {"step": 2, "l1": None}])
    assert folder.metrics() == [{"step": 1, "l1": 0.5}, {"step": 2, "l1": None}]
    (folder.path / "metrics.jsonl").write_text("{")
    with pytest.raises(ArtifactError, match=r"metrics\.jsonl is damaged"):
        folder.metrics()


def test_clearing_leaves_what_is_not_ours(folder):
    (folder.path / "notes.txt").write_text("mine")
    (folder.path / "control").mkdir()
    folder.clear()
    assert [path.name for path in folder.path.iterdir()] == ["notes.txt"]


def test_one_process_at_a_time(folder):
    with (
        folder.locked(),
        pytest.raises(InputError, match="another process is working"),
        RunFolder(folder.path).locked(),
    ):
        pass
