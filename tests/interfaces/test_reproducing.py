"""`feynkac reproduce`: names, seeds, files, bad input."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from feynkac.interfaces.cli import app

PAGES = Path(__file__).parents[2] / "docs" / "results"


def run(*arguments: object) -> Result:
    """The program inside this process."""
    environment = {"COLUMNS": "400", "NO_COLOR": "1"}
    return CliRunner().invoke(app, [str(a) for a in arguments], env=environment)


@pytest.fixture
def places(tmp_path):
    return ("--out", tmp_path / "results", "--runs", tmp_path / "runs")


def test_a_result_is_printed_and_written(tmp_path, places):
    found = run("reproduce", "table-6", *places)
    assert found.exit_code == 0, found.output
    assert "scale: full" in found.stdout
    assert (tmp_path / "results" / "table-6.md").exists()


def test_the_same_as_json(tmp_path, places):
    found = json.loads(run("reproduce", "table-5", "--seeds", "0", "--json", *places).stdout)
    (record,) = found["results"]
    assert record["name"] == "table-5"
    assert record["provenance"]["commands"] == ["feynkac reproduce table-5"]
    assert found["folder"] == str(tmp_path / "results")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table-9"], "nothing is called 'table-9'; there are: table-1"),
        (["table-1", "--full", "--budget", "20s"], "omit --budget"),
        (["table-1", "--budget", "soon"], "a budget is a positive time"),
        (["table-1", "--seeds", "x"], "cannot read the seeds 'x'"),
    ],
)
def test_bad_input_is_one_sentence(arguments, message, places):
    found = run("reproduce", *arguments, *places)
    assert found.exit_code == 2
    assert message in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1


def test_nothing_is_written_after_bad_input(tmp_path, places):
    run("reproduce", "table-0", *places)
    assert list(tmp_path.iterdir()) == []


def test_pages_are_written_from_numbers_alone(tmp_path, places):
    found = run("reproduce", "table-1", "--render", *places)
    assert found.exit_code == 2
    assert "leave --render out" in found.stderr
    (tmp_path / "results").mkdir()
    shutil.copy(PAGES / "table-7.json", tmp_path / "results")
    found = run("reproduce", "table-7", "--render", *places)
    assert found.exit_code == 0, found.output
    assert (tmp_path / "results" / "table-7.png").exists()
    assert not (tmp_path / "runs").exists()
