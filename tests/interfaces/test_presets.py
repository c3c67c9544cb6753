"""`feynkac solve --preset FILE`: the file's settings are used, and options win over them."""

import json

import pytest
from typer.testing import CliRunner, Result

import feynkac as fk
from feynkac.interfaces.cli import app
from feynkac.methods.preset import write_preset
from feynkac.runs.artifact import read_artifact

PRESET = fk.Fast(
    architecture=fk.Smooth(width=8, depth=1),
    optimiser=fk.GaussNewton(learning_rate=0.2),
    batch_size=16,
    paths=32,
    slope_weight=2.0,
)


def run(*arguments: object) -> Result:
    """The program inside this process."""
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "400"})


@pytest.fixture
def solve(tmp_path):
    """Solves with a preset and options; the settings of the run."""
    path, out = tmp_path / "preset.json", tmp_path / "run"

    def solve(preset, *options):
        write_preset(preset, path)
        arguments = ("--steps", 2, "--out", out, "--preset", path, *options)
        found = run("solve", "black-scholes", *arguments)
        assert found.exit_code == 0, found.output
        return read_artifact(out)[0].run

    return solve


def test_the_settings_of_the_file_are_used(solve):
    method = solve(PRESET).method
    for name, value in vars(PRESET).items():
        assert value is None or getattr(method, name) == value


def test_options_win(solve):
    method = solve(PRESET, "--batch-size", 24, "--paths", 8).method
    assert (method.batch_size, method.paths) == (24, 8)
    assert method.optimiser == PRESET.optimiser


def test_the_method_is_the_file_s(solve):
    assert solve(fk.Paper(batch_size=16)).method.kind == "paper"


def test_another_method_than_the_file_s_is_refused(tmp_path):
    path = tmp_path / "preset.json"
    write_preset(fk.Paper(batch_size=16), path)
    found = run("solve", "black-scholes", "--steps", 2, "--preset", path, "--method", "fast")
    assert found.exit_code == 2
    assert "is a preset of the method 'paper'; omit --method" in found.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"widht": 3}, "unknown key 'widht'; a preset has: kind, architecture"),
        ({"method": "quick"}, "unknown method 'quick'; there are: fast, paper"),
        ({"paths": "many"}, "paths: Input should be a valid integer"),
    ],
)
def test_a_bad_file_is_one_sentence(tmp_path, content, message):
    path = tmp_path / "preset.json"
    path.write_text(json.dumps(content))
    found = run("solve", "black-scholes", "--steps", 2, "--preset", path, "--out", tmp_path / "run")
    assert found.exit_code == 2
    assert message in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "run").exists()
