"""The examples: a method and a scheme of one's own, solved, saved, loaded, used by the shell."""

import json
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

import feynkac as fk
from feynkac.interfaces.application import USE
from feynkac.interfaces.cli import app
from feynkac.user_files import import_file

EXAMPLES = Path(__file__).parents[1] / "examples"
AT = {"x": 9.5, "t": 0.5, "sigma": 0.3, "strike": 10.0}


@pytest.fixture(scope="module")
def plain_adam():
    return import_file(str(EXAMPLES / "plain_adam.py")).PlainAdam


@pytest.fixture(scope="module")
def heun():
    return import_file(str(EXAMPLES / "heun.py")).Heun


def test_a_method_of_ones_own_learns(plain_adam):
    method = plain_adam(batch_size=128, paths=8, learning_rate=1e-2)
    solution = fk.solve(fk.BlackScholes(), method, steps=300, evaluations=1)
    errors = solution.error(5000)
    assert errors.l1 < errors.mean_baseline / 1.5


def test_a_method_of_ones_own_is_saved_and_loaded(plain_adam, tmp_path):
    method = plain_adam(batch_size=16, paths=2, learning_rate=0.01)
    solution = fk.solve(fk.BlackScholes(), method, steps=3, evaluations=1, out=tmp_path)
    again = fk.load(tmp_path)
    assert again.manifest.run == solution.manifest.run
    assert again.manifest.run.method.learning_rate == 0.01
    assert again(**AT) == solution(**AT)


def test_a_search_of_ones_own_method(plain_adam):
    space = plain_adam(paths=2).space(fk.BlackScholes())
    found = space.at(space.draw(torch.Generator().manual_seed(0)))
    assert found.paths == 2
    assert 1e-4 <= found.learning_rate <= 1e-1


def test_a_scheme_of_ones_own_has_its_order(heun):
    """The mean of an Ornstein–Uhlenbeck process is its path without noise."""
    family = import_file(str(EXAMPLES / "mean_reverting.py")).MeanReverting(dim=2)
    x, t, p = family.domain.split(
        family.domain.sample(16, torch.Generator().manual_seed(0), torch.float64)
    )
    exact = x * torch.exp(-p.kappa * t)

    def error(steps):
        z = torch.zeros(steps, *x.shape, dtype=x.dtype)
        return (heun(steps=steps).terminal(family, x, t, p, z) - exact).abs().mean()

    assert error(16) / error(32) == pytest.approx(4.0, rel=0.1)


def test_a_scheme_of_ones_own_solves_and_is_asked_for_on_loading(heun, tmp_path):
    method = fk.Fast(scheme=heun(steps=2), batch_size=16, paths=4)
    fk.solve(fk.BlackScholes(), method, steps=2, evaluations=1, out=tmp_path)
    assert fk.load(tmp_path).manifest.run.method.scheme == heun(steps=2)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["run"]["method"]["scheme"]["kind"] == "heun"
    assert manifest["run"]["method"]["scheme"]["source"]


def test_the_shell_uses_both(tmp_path, monkeypatch):
    monkeypatch.setenv(USE, "")
    files = [f"--use={EXAMPLES / name}" for name in ("heun.py", "plain_adam.py")]
    solve = ["solve", "black-scholes", "--method", "plain-adam", "--scheme", "heun:3"]
    lengths = ["--steps", "2", "--batch-size", "16", "--out", str(tmp_path), "--json"]
    found = CliRunner().invoke(app, [*files, *solve, *lengths])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["method"] == "plain-adam"
    method = fk.load(tmp_path).manifest.run.method
    assert (method.kind, method.scheme.kind, method.scheme.steps) == ("plain-adam", "heun", 3)


def test_a_file_named_in_two_ways_is_imported_once(monkeypatch):
    monkeypatch.chdir(EXAMPLES)
    assert import_file("heun.py") is import_file(str(EXAMPLES / "heun.py"))
