"""`feynkac tune`: bad input is one sentence, before Ray starts and before anything is written."""

import json

import pytest
from typer.testing import CliRunner, Result

from feynkac.interfaces.cli import app
from feynkac.tuning.trials import Trials, make_search


def run(*arguments: object) -> Result:
    """The program inside this process."""
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "400"})


@pytest.fixture
def space(tmp_path):
    """Writes a file of ranges."""

    def write(content):
        path = tmp_path / "space.json"
        path.write_text(json.dumps(content))
        return path

    return write


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["black-scholes", "--budget", "soon"], "a budget is a positive time"),
        (["blackscholes"], "unknown family 'blackscholes'. Did you mean 'black-scholes'?"),
        (["black-scholes", "--field", "rate=1"], "BlackScholes has no field 'rate'"),
        (["black-scholes", "--space", "nowhere.json"], "cannot read the search space nowhere.json"),
        (
            ["black-scholes", "--address", "ray://127.0.0.1:1"],
            "no Ray cluster at ray://127.0.0.1:1",
        ),
    ],
)
def test_bad_input_is_one_sentence(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run("tune", *arguments)
    assert found.exit_code == 2
    assert message in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("method", "known"),
    [
        ("fast", "width, depth, batch_size, paths, learning_rate, slope_weight"),
        ("paper", "levels, factor, optimiser, batch_size, learning_rate, decay"),
    ],
)
def test_an_unknown_key_of_the_space_is_named_beside_the_known_ones(space, method, known):
    found = run("tune", "black-scholes", "--method", method, "--space", space({"widths": [3]}))
    assert found.exit_code == 2
    assert f"nothing to search is called 'widths'; there are: {known}." in found.stderr


def test_another_search_in_the_folder_is_not_touched(tmp_path):
    search, _ = make_search("black-scholes", {}, "fast", "5s", 0, {})
    Trials(tmp_path).claim(search)
    found = run("tune", "black-scholes", "--budget", "6s", "--out", tmp_path)
    assert found.exit_code == 2
    assert "other settings (budget is 5.0 there, 6.0 here)" in found.stderr
    assert Trials(tmp_path).search() == search


def test_help_says_how_trials_share_the_machine():
    assert "One trial per CPU, with one thread each" in run("tune", "--help").stdout
