"""`feynkac solve` with several seeds and families; one run is tested with the whole program."""

import json
import re
from statistics import mean, stdev

import pytest
from typer.testing import CliRunner, Result

from feynkac.interfaces.cli import app

QUICK = ("--steps", "3", "--batch-size", "16", "--paths", "4")


def run(*arguments: object) -> Result:
    """The program inside this process."""
    environment = {"COLUMNS": "200", "NO_COLOR": "1"}
    return CliRunner().invoke(app, [str(a) for a in arguments], env=environment)


def test_a_run_for_each_family_and_seed(tmp_path):
    names = ("black-scholes", "bachelier")
    found = run("solve", *names, "--seeds", "0-1", *QUICK, "--out", tmp_path, "--json")
    result = json.loads(found.stdout)
    seen = [(each["family"], each["seed"]) for each in result["runs"]]
    assert seen == [(name, seed) for name in names for seed in (0, 1)]
    folders = [each["run"] for each in result["runs"]]
    assert sorted(folders) == sorted(str(path) for path in tmp_path.iterdir())
    errors = [each["l1"] for each in result["runs"][:2]]
    spread = result["l1"]["black-scholes"]
    assert spread == {"mean": mean(errors), "sd": stdev(errors), "seeds": 2}
    assert re.search(r"bachelier, seed 1  training  L1 .* step 3/3", found.stderr)


def test_the_same_command_again_finds_the_runs(tmp_path):
    command = ("solve", "black-scholes", "--seeds", "3", *QUICK, "--out", tmp_path, "--json")
    first, second = run(*command), run(*command)
    runs = [json.loads(each.stdout)["runs"][0] for each in (first, second)]
    assert [each.pop("already_finished") for each in runs] == [False, True]
    assert runs[0] == runs[1]
    assert second.stderr == ""
    assert json.loads(first.stdout)["l1"]["black-scholes"]["sd"] is None


def test_a_table_of_runs(tmp_path):
    found = run("solve", "black-scholes", "--seeds", "0,1", *QUICK, "--out", tmp_path)
    assert found.exit_code == 0
    assert "Over the seeds" in found.stdout
    assert "mean L1 ± s.d." in found.stdout


def test_the_seeds_are_those_of_single_runs(tmp_path):
    several = run(
        "solve", "black-scholes", "--seeds", "0,7", *QUICK, "--out", tmp_path / "all", "--json"
    )
    one = run("solve", "black-scholes", "--seed", 7, *QUICK, "--out", tmp_path / "one", "--json")
    assert json.loads(several.stdout)["runs"][1]["l1"] == json.loads(one.stdout)["l1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seeds", "3-1"], "cannot read the seeds '3-1'; expected 0,1 or 0-3"),
        (["--parallel", "--workers", "2"], "omit --workers"),
        (["--workers", "10000"], "10000 workers need 10000 CPUs, but this machine has"),
        (["--workers", "1", "--address", "ray://127.0.0.1:1"], "no Ray cluster at ray://127.0.0.1"),
        (["--parallel", "--address", "127.0.0.1:1"], "no Ray cluster at 127.0.0.1:1"),
        (["--dashboard", "--address", "ray://127.0.0.1:1"], "omit --dashboard"),
        (["--address", "nonsense://x"], "expected ray://host:port"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, arguments, message):
    found = run("solve", "black-scholes", *QUICK, "--out", tmp_path / "run", *arguments)
    assert found.exit_code == 2
    assert message in found.stderr
    assert found.stderr.count("\n") == 1
    assert found.stdout == ""
    assert not (tmp_path / "run").exists()
