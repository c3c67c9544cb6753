"""The command `library`, and its names wherever a run is asked for."""

import functools
import json

import pytest
from typer.testing import CliRunner

import feynkac as fk
from feynkac.interfaces.cli import app
from feynkac.library import training
from feynkac.library.record import make_record

AT = "x=[-0.5,0.1],t=0.5,velocity=1,diffusivity=0.1,decay=0.2"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A library with one solution, trained by the command and certified at a few inputs."""
    root = tmp_path_factory.mktemp("library")
    words = ["library", "train", "channel", "--steps", "2", "--runs", str(root / "runs")]
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
    assert records["channel"]["errors"]["l1"] > 0
    assert "errors" not in records["heston"]
    assert 0 < data["bytes"] < 1_000_000
    text = run(folder, "library").stdout
    assert "not trained" in text
    assert "channel" in text


def test_training_again_resumes(folder):
    runs = str(folder / "runs")
    found = run(folder, "library", "train", "channel", "--steps", "2", "--runs", runs, "--json")
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
        ["query", "channel", "--at", AT, "--greeks", "--certify"],
        ["greeks", "channel", "--at", AT],
        ["error", "channel", "--inputs", "64"],
        ["uncertainty", "channel", "--samples", "64"],
    ],
    ids=lambda words: words[0],
)
def test_a_name_serves_where_a_folder_does(folder, words):
    found = run(folder, *words, "--json")
    assert found.exit_code == 0, found.stderr
    assert "channel: the library's solution" in found.stderr
    json.loads(found.stdout)


def test_calibration_takes_a_name(folder, tmp_path):
    data = tmp_path / "seen.csv"
    data.write_text("t,value\n0.2,0.5\n0.4,0.4\n0.6,0.3\n")
    given = ["--given", "x=[-0.5,0.1],velocity=1,decay=0.2", "--noise", "0.1"]
    found = run(
        folder, "calibrate", "channel", str(data), "--free", "diffusivity", *given, "--json"
    )
    assert found.exit_code == 0, found.stderr
    assert "diffusivity" in json.loads(found.stdout)["estimate"]


def test_a_folder_of_that_name_wins_and_is_said(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = fk.solve(fk.BlackScholes(), steps=1, batch_size=16, out="channel", evaluations=1)
    found = run(folder, "query", "channel", "--at", "x=9.5,t=0.5,sigma=0.3,strike=11", "--json")
    assert json.loads(found.stdout)["value"] == own(x=9.5, t=0.5, sigma=0.3, strike=11.0).item()
    assert "channel: the folder here, not the library's solution" in found.stderr


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


def test_a_control_for_a_solution_of_the_library_is_not_written_into_it(folder):
    words = ["--certify", "--tolerance", "1e-9", "--control-budget", "1s"]
    before = sorted((folder / "shelf").rglob("*"))
    found = run(folder, "query", "channel", "--at", AT, *words, "--json")
    assert found.exit_code == 0, found.stderr
    assert sorted((folder / "shelf").rglob("*")) == before
