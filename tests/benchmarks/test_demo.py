"""The demo: a table and figures from a run that is kept."""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import feynkac
import feynkac as fk
from feynkac.benchmarks.demo import run_demo
from feynkac.errors import ArtifactError, InputError
from feynkac.interfaces.cli import app

TINY = {"steps": 20}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "run"


@pytest.fixture(scope="module")
def result(folder: Path) -> dict:
    return run_demo(folder, **TINY)


def test_the_table_compares_with_the_paper_and_the_baselines(result):
    columns, rows = result["table"]
    assert columns == ("", "L1 error", "time")
    assert [row[0] for row in rows] == [
        "feynkac, this machine",
        "the paper, full scale",
        "a linear fit",
        "predicting the mean",
    ]
    assert rows[0][1] == f"{result['l1']:.6f} ± {result['l1_se']:.6f}"
    assert rows[1][1:] == ("0.0011 ± 0.0001", "2827 s on two V100")
    assert all(len(row) == len(columns) for row in rows)


def test_the_error_is_the_saved_solutions(result, folder):
    assert result["inputs"] == 2**17
    assert result["l1"] == fk.load(folder).error(2**17).l1
    assert fk.load(folder).manifest.parameters == 10817  # two inputs are left by symmetry


def test_the_figures_lie_in_the_folder(result, folder):
    assert result["figures"] == [str(folder / "price-and-greeks.png"), str(folder / "error.png")]
    for path in map(Path, result["figures"]):
        assert path.read_bytes().startswith(b"\x89PNG")


def test_the_result_is_json(result):
    assert json.loads(json.dumps(result, allow_nan=False))["l1"] == result["l1"]


@pytest.mark.slow
def test_a_second_demo_returns_the_first(result, folder):
    again = run_demo(folder, report=lambda _: pytest.fail("trained again"), **TINY)
    assert again == result


def test_another_seed_needs_another_folder(result, folder):
    with pytest.raises(ArtifactError, match=r"training\.seed is 0 there, 1 here"):
        run_demo(folder, seed=1, **TINY)


def hide_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for name in [name for name in sys.modules if name.startswith("feynkac.plotting")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(feynkac, "plotting", raising=False)


def test_without_matplotlib_the_demo_says_what_to_install(tmp_path, monkeypatch):
    hide_matplotlib(monkeypatch)
    with pytest.raises(InputError, match=r"the demo draws figures; install matplotlib"):
        run_demo(tmp_path / "run", **TINY)
    assert not (tmp_path / "run").exists()


def test_without_matplotlib_solve_draws_no_curve(tmp_path, monkeypatch):
    hide_matplotlib(monkeypatch)
    tiny = ["--steps", "2", "--batch-size", "16", "--paths", "8", "--out", str(tmp_path)]
    assert CliRunner().invoke(app, ["solve", "black-scholes", *tiny]).exit_code == 0
    assert not (tmp_path / "error.png").exists()


@pytest.mark.slow
def test_the_real_demo_ends_with_a_table_and_two_figures(tmp_path):
    done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path)], env={"COLUMNS": "120"})
    assert done.exit_code == 0
    assert "feynkac, this machine" in done.stdout
    assert done.stdout.count("figure ") == 2
    last = fk.load(tmp_path).manifest.history[-1]
    assert last["l1"] < last["linear_baseline"] / 2
