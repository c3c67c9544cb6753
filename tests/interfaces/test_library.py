"""The command `library`, and its names wherever a run is asked for."""

import functools
import json

import pytest
from typer.testing import CliRunner

import feynkac as fk
from feynkac.interfaces import asking
from feynkac.interfaces.cli import app
from feynkac.library import training
from feynkac.library.record import make_record

NAME = "ornstein-uhlenbeck"  # of those that are soon trained
AT = "x=[0.1],t=0.5,kappa=1,theta=0.2,sigma=0.4,strike=0.3"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A library with one solution, trained by the command and certified at a few inputs."""
    root = tmp_path_factory.mktemp("library")
    words = ["library", "train", NAME, "--steps", "2", "--runs", str(root / "runs")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "make_record", functools.partial(make_record, inputs=8))
        found = run(root, *words)
    assert found.exit_code == 0, found.stderr
    return root


def run(root, *words):
    return CliRunner().invoke(app, list(words), env={"FEYNKAC_LIBRARY": str(root / "shelf")})


def test_the_list_shows_errors_and_what_is_missing(folder):
    found = run(folder, "library", "--json")
    data = json.loads(found.stdout)
    records = {record["name"]: record for record in data["solutions"]}
    assert records[NAME]["errors"]["l1"] > 0
    assert "errors" not in records["heston"]
    assert 0 < data["bytes"] < 1_000_000
    text = run(folder, "library").stdout
    assert "not trained" in text
    assert NAME in text


def test_training_again_resumes(folder):
    runs = str(folder / "runs")
    found = run(folder, "library", "train", NAME, "--steps", "2", "--runs", runs, "--json")
    assert json.loads(found.stdout)["solutions"][0]["steps"] == 2
    assert "measuring" not in found.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train"], "say which solutions to train"),
        (["train", "channel", "--all"], "say which solutions to train"),
        (["train", "chanel"], "did you mean 'channel'"),
    ],
)
def test_a_wrong_request_is_one_sentence(folder, words, message):
    found = run(folder, "library", *words)
    assert found.exit_code == 2
    assert message in found.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["query", NAME, "--at", AT, "--greeks", "--certify"],
        ["greeks", NAME, "--at", AT],
        ["error", NAME, "--inputs", "64"],
        ["uncertainty", NAME, "--samples", "64"],
    ],
    ids=lambda words: words[0],
)
def test_a_name_serves_where_a_folder_does(folder, words):
    found = run(folder, *words, "--json")
    assert found.exit_code == 0, found.stderr
    assert f"{NAME}: the library's solution" in found.stderr
    json.loads(found.stdout)


def test_calibration_takes_a_name(folder, tmp_path):
    data = tmp_path / "seen.csv"
    data.write_text("t,value\n0.2,0.5\n0.4,0.4\n0.6,0.3\n")
    given = ["--given", "x=[0.1],kappa=1,theta=0.2,strike=0.3", "--noise", "0.1"]
    found = run(folder, "calibrate", NAME, str(data), "--free", "sigma", *given, "--json")
    assert found.exit_code == 0, found.stderr
    assert "sigma" in json.loads(found.stdout)["estimate"]


def test_a_folder_of_that_name_wins_and_is_said(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = fk.solve(fk.BlackScholes(), steps=1, batch_size=16, out=NAME, evaluations=1)
    found = run(folder, "query", NAME, "--at", "x=9.5,t=0.5,sigma=0.3,strike=11", "--json")
    assert json.loads(found.stdout)["value"] == own(x=9.5, t=0.5, sigma=0.3, strike=11.0).item()
    assert f"{NAME}: the folder here, not the library's solution" in found.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("chanel", "there is no folder chanel, and the library has no 'chanel'; did you mean"),
        ("heston", "there is no folder heston, and the library's heston is not in"),
        ("runs/none", "runs/none holds no solution"),
    ],
)
def test_what_is_nowhere_is_said(folder, name, message):
    found = run(folder, "query", name, "--at", AT)
    assert found.exit_code == 2
    assert message in found.stderr


def test_a_control_for_a_solution_of_the_library_is_not_written_into_it(folder, monkeypatch):
    monkeypatch.setattr(asking, "_too_wide", lambda *_: True)
    before = sorted((folder / "shelf").rglob("*"))
    words = ["--certify", "--control-budget", "0.5s"]
    found = run(folder, "query", NAME, "--at", AT, *words, "--json")
    assert found.exit_code == 0, found.stderr
    assert "training a control (0.5s)" in found.stderr
    assert sorted((folder / "shelf").rglob("*")) == before
