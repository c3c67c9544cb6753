"""`feynkac new` and `feynkac check`: from an empty folder to a solved family of one's own."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from feynkac.interfaces.cli import app

BROKEN = Path(__file__).parents[1] / "broken"
ENVIRONMENT = {"COLUMNS": "400", "NO_COLOR": "1"}


def run(*arguments: object) -> Result:
    """The program inside this process."""
    return CliRunner().invoke(app, [str(a) for a in arguments], env=ENVIRONMENT)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder):
    return sorted(path.name for path in folder.iterdir())


# new


def test_a_new_family_passes_its_checkup_and_is_solved(folder):
    assert run("new", "ou").exit_code == 0
    assert files(folder) == ["ou.py", "test_ou.py"]
    found = run("check", "ou.py:Ou", "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["passed"] is True
    solved = run("solve", "ou.py:Ou", "--steps", 20, "--out", "run", "--json")
    assert solved.exit_code == 0, solved.output
    result = json.loads(solved.stdout)
    assert result["l1"] < result["linear_baseline"]


def test_the_next_commands_are_printed(folder):
    assert run("new", "mean_reverting").stdout.splitlines() == [
        "wrote mean_reverting.py and test_mean_reverting.py; next:",
        "feynkac check mean_reverting.py:MeanReverting",
        "feynkac solve mean_reverting.py:MeanReverting --budget 20s",
        "pytest test_mean_reverting.py",
    ]


def test_the_same_as_json(folder):
    found = json.loads(run("new", "ou", "--json").stdout)
    assert found["files"] == ["ou.py", "test_ou.py"]
    assert found["next"][0] == "feynkac check ou.py:Ou"


@pytest.mark.slow
def test_the_test_that_is_written_passes(folder):
    run("new", "ou")
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "test_ou.py"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run(command, check=True, cwd=folder, env=environment)


@pytest.mark.parametrize("there", ["ou.py", "test_ou.py"])
def test_nothing_is_overwritten_unless_forced(folder, there):
    (folder / there).write_text("precious")
    refused = run("new", "ou")
    assert refused.exit_code == 2
    assert refused.stderr == (
        f"error: {there} exists; choose another name, or overwrite it with --force.\n"
    )
    assert files(folder) == [there]
    assert (folder / there).read_text() == "precious"
    assert run("new", "ou", "--force").exit_code == 0
    assert "precious" not in (folder / there).read_text()


@pytest.mark.parametrize("name", ["Ou", "2d", "my-model", "class", "a.b", "../ou", "_x", "", "ö"])
def test_bad_identifiers_are_refused(folder, name):
    refused = run("new", name)
    assert refused.exit_code == 2
    assert f"error: {name!r} cannot name a family; use lower-case letters" in refused.stderr
    assert files(folder) == []


@pytest.mark.parametrize("name", ["torch", "feynkac", "json"])
def test_the_name_of_an_installed_module_is_refused(folder, name):
    refused = run("new", name)
    assert refused.exit_code == 2
    assert f"{name!r} is the name of an installed module" in refused.stderr
    assert files(folder) == []


# check


def test_the_table_has_one_row_per_finding():
    result = run("check", "heat-gaussian", "--dim", 2)
    assert result.exit_code == 0
    assert "heat-gaussian: no problems found" in result.stdout
    rows = [line for line in result.stdout.splitlines() if line.startswith("│ ok ")]
    assert len(rows) == 16
    assert "│ note" not in result.stdout
    assert result.stderr == ""


def test_json_is_the_record():
    result = run("check", "heat-gaussian", "--dim", 2, "--json")
    found = json.loads(result.stdout)
    assert found["family"] == "heat-gaussian"
    assert found["findings"][0]["figures"] == {"inputs": 4, "state": 2}


NO_FAMILY = {
    "raises_on_import:Any": "fails on import: RuntimeError: no licence for the model library",
    "not_a_family:NotAFamily": "has no Family named 'NotAFamily'; it has: none",
    "missing:Missing": "there is no file",
}
MEANINGLESS = {
    "explodes:Explodes": r"Explodes explodes: superlinear growth of μ, like \|x\|\^3",
    "superlinear_noise:SuperlinearNoise": r"explodes: superlinear growth of σ, like \|x\|\^1\.99",
    "negative_variance:NegativeVariance": "NegativeVariance.diffusion is not finite everywhere in "
    r"the domain, .* at x = .*, theta = 0\.0.*, which comes from the square root of -0\.0",
    "falls_below_zero:FallsBelowZero": "FallsBelowZero cannot be simulated: .* paths are not "
    r"finite, one from x = .*, which met the square root of -0\.",
    "wrong_width:WrongWidth": "WrongWidth.diffusion has a σ of the wrong width: it takes dw of "
    "length 3, but there are 2 Brownian motions",
    "wrong_payoff_shape:WrongPayoffShape": r"WrongPayoffShape.initial must return shape \(16, 1\), "
    r"got \(16,\) \(keepdim=True keeps the last axis\)",
    "changes_dtype:ChangesDtype": "ChangesDtype.initial must keep the dtype torch.float32, got "
    "torch.float64",
    "no_broadcasting:NoBroadcasting": r"NoBroadcasting.drift must return shape \(16, 5, 2\), got "
    r"\(16, 2, 2\)",
    "wrong_discount_shape:WrongDiscountShape": "WrongDiscountShape.discount must return shape "
    r"\(16, 1\), got \(16, 2\)",
    "no_domain:NoDomain": "NoDomain.domain must be a property that returns a Domain, got dict",
    "nonlinear_noise:NonlinearNoise": "NonlinearNoise.diffusion is not linear in dw",
}
WRONG = {
    "undeclared_jump:UndeclaredJump": "jumps: UndeclaredJump.initial jumps by 100 % of its range, "
    "undeclared",
    "wrong_sign:WrongSign": "closed form, PDE: the closed form does not solve the PDE: ∂u/∂t = -",
    "wrong_sampler:WrongSampler": "exact sampler: exact disagrees with steps of drift and "
    "diffusion: S − x is ",
    "wrong_steps:WrongSteps": "own steps: step disagrees with steps of drift and diffusion: the "
    "square of component ",
}


def place(spec):
    name, _, class_name = spec.partition(":")
    return f"{BROKEN / name}.py:{class_name}"


def test_every_broken_family_is_in_a_list():
    listed = {spec.partition(":")[0] for spec in NO_FAMILY | MEANINGLESS | WRONG}
    assert listed - {"missing"} == {path.stem for path in BROKEN.glob("*.py")}
    assert len(listed) >= 14


@pytest.mark.parametrize(("spec", "message"), NO_FAMILY.items(), ids=NO_FAMILY)
@pytest.mark.parametrize("command", ["check", "solve"])
def test_what_is_no_family_is_bad_input(command, spec, message, folder):
    result = run(command, place(spec))
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
    assert files(folder) == []


@pytest.mark.parametrize(
    ("spec", "message"), (MEANINGLESS | WRONG).items(), ids=MEANINGLESS | WRONG
)
def test_what_is_wrong_with_a_family_is_found(spec, message):
    result = run("check", place(spec), "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["passed"] is False
    failed = [f for f in found["findings"] if f["verdict"] == "fail"]
    assert any(re.search(message, f"{f['name']}: {f['sentence']}") for f in failed), failed


@pytest.mark.parametrize(("spec", "message"), MEANINGLESS.items(), ids=MEANINGLESS)
def test_what_makes_training_meaningless_is_refused_by_solve(spec, message, folder):
    result = run("solve", place(spec))
    assert result.exit_code == 2
    assert re.search(message, result.stderr)
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert files(folder) == []


def test_a_failed_family_has_a_table_too():
    result = run("check", place("wrong_payoff_shape:WrongPayoffShape"))
    assert result.exit_code == 1
    assert "wrong-payoff-shape: 1 problem to fix" in result.stdout
    assert re.search("│ fail +│ formulas: WrongPayoffShape.initial must return", result.stdout)
    assert result.stderr == ""


@pytest.mark.parametrize("name", ["none", "true", "false", "a" * 300])
def test_a_name_whose_class_cannot_be_named_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("new", name)
    assert result.exit_code == 2
    assert "cannot name a family" in result.stderr
    assert list(tmp_path.iterdir()) == []


EXITING = """
import sys
from dataclasses import dataclass

import feynkac as fk


@dataclass(frozen=True)
class Mine(fk.Family):
    @property
    def domain(self):
        sys.exit(3)

    def drift(self, x, p):
        return x

    def diffusion(self, x, dw, p):
        return dw

    def initial(self, x, p):
        return x
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import sys; sys.exit(3)", "ends the program on import (sys.exit)"),
        ("raise SystemExit", "ends the program on import (sys.exit)"),
        ("raise GeneratorExit", "fails on import: GeneratorExit"),
        (EXITING, "a formula of the family ends the program (sys.exit); remove that."),
    ],
)
def test_a_users_file_that_exits_is_an_error_in_one_sentence(text, said, tmp_path):
    (tmp_path / "mine.py").write_text(text)
    result = run("check", tmp_path / "mine.py:Mine")
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
