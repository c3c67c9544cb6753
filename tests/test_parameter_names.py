"""Parameters may have any name; a mapping carries those that are also options of a method."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats
from typer.testing import CliRunner

import feynkac as fk
from colliding import Colliding, Worse
from feynkac.analysis.observations import make_problem
from feynkac.interfaces.cli import app

FAMILY = f"{Path(__file__).parent / 'colliding.py'}:Colliding"
AT = {"x": 1.2, "t": 0.5, "noise": 0.3, "value": 1.5}
SHORT = {"steps": 2, "batch_size": 32, "paths": 16, "evaluations": 1}
OBSERVED = np.linspace(1.0, 3.0, 8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("runs") / "colliding"
    fk.solve(Colliding(), seed=0, out=found, **SHORT)
    return found


@pytest.fixture(scope="module")
def solution(folder):
    return fk.load(folder, Colliding())


def test_a_mapping_and_keywords_say_the_same(solution):
    u = solution(AT)
    assert torch.equal(solution(**AT), u)
    assert torch.equal(solution({"noise": 0.3, "value": 1.5}, x=1.2, t=0.5), u)
    far = AT | {"x": 17.0}
    assert torch.equal(solution(far, extrapolate=True), solution(**far, extrapolate=True))
    with pytest.raises(fk.InputError, match="x = 17 lies outside"):
        solution(far)


def test_derivatives_take_a_mapping(solution):
    assert torch.equal(solution.grad("noise", AT), solution.grad("noise", **AT))
    assert torch.equal(solution.hessian("value", "x", AT), solution.hessian("value", "x", **AT))
    along = solution.along({"noise": 1.0}, AT)
    torch.testing.assert_close(along, solution.grad("noise", AT))
    assert solution.greeks(AT) == {}
    swept = solution.sweep("noise", {"value": 1.5}, points=3, x=1.2, t=0.5)
    assert swept.values["∂u/∂noise"].shape == (3,)


def test_certificates_take_a_mapping(solution):
    effort = fk.Effort(aim=0.01, seconds=0.5)
    found = solution.certify(AT, tolerance=10.0, effort=effort)
    exact = 1.5 * (1.2**2 + 0.3**2 * 0.5)
    assert (found.value - exact).abs() <= 2.0 * found.half_width
    assert found.verdicts == ["within"]
    corrected = solution.certify(AT).value
    assert (corrected - exact).abs() < 0.05


def test_an_error_map_has_them_as_profiles(solution):
    found = solution.error_map(16, effort=fk.Effort(aim=0.1, seconds=0.05))
    assert set(found.profiles) == {"x", "t", "noise", "value"}
    assert set(found.worst["at"]) == {"x", "t", "noise", "value"}


def test_what_is_known_may_collide_with_an_option(solution):
    """`noise` is the option, the variable of that name comes in the mapping."""
    known = {"x": 1.0, "t": 0.5, "noise": np.linspace(0.1, 0.6, 8)}
    problem = solution.observe(["value"], OBSERVED, known, noise=0.1)
    expected = make_problem(
        solution.exactly,
        solution.family.domain,
        ["value"],
        known,
        OBSERVED,
        0.1,
        solution.model_error(OBSERVED),
    )
    assert torch.equal(problem.inputs, expected.inputs)
    assert (problem.noise == 0.1).all()
    assert solution.calibrate(problem).labels == ["value"]


def test_it_can_be_sought(solution):
    problem = solution.observe(["noise", "value"], OBSERVED, noise=0.1, x=1.0, t=0.5)
    found = solution.calibrate(problem)
    assert found.labels == ["noise", "value"]
    assert np.isfinite(found.estimate).all()


def test_it_may_be_random(solution):
    given = {"noise": stats.norm(0.3, 0.05), "value": 1.5}
    found = solution.uncertainty(given, {("noise", "x"): 0.5}, samples=1000)
    assert {"noise", "x", "t"} == set(found.correlation)


def test_a_variable_is_given_once(solution):
    with pytest.raises(fk.InputError, match="x is given twice, in the mapping and as a keyword"):
        solution(AT, x=1.0)
    with pytest.raises(fk.InputError, match=r"as one mapping by name, as in .*; got list"):
        solution([1.2, 0.5, 0.3, 1.5])


def run(*arguments):
    result = CliRunner().invoke(app, [*map(str, arguments), "--family", FAMILY, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_command_line_asks_for_them(folder, solution):
    found = run("query", folder, "--at", "x=1.2,t=0.5,noise=0.3,value=1.5", "--greeks")
    assert found["value"] == pytest.approx(solution(AT).item())
    assert set(found["partials"]) == {"x", "t", "noise", "value"}
    assert found["at"]["noise"] == 0.3


def test_columns_of_what_was_observed_make_way_for_variables(folder, solution, tmp_path):
    path = tmp_path / "data.csv"
    table = np.stack([np.linspace(0.1, 0.6, 8), OBSERVED, np.full(8, 0.1)], axis=1)
    header = "noise,observed_value,observed_noise"
    np.savetxt(path, table, delimiter=",", header=header, comments="")
    found = run("calibrate", folder, path, "--free", "value", "--given", "x=1,t=0.5")
    known = {"x": 1.0, "t": 0.5, "noise": table[:, 0]}
    problem = solution.observe(["value"], OBSERVED, known, noise=0.1)
    expected = solution.calibrate(problem, confidence=0.9, seed=0)
    assert found["estimate"]["value"]["value"] == pytest.approx(expected.estimate[0])


def test_even_self_is_a_name():
    family = Worse()
    solution = fk.solve(family, fk.Fast(symmetries=False), **SHORT)  # its scalings are many
    at = dict.fromkeys(family.domain.measures, 0.5)
    u = solution(at)
    assert u.shape == ()
    assert solution.grad("self", at).shape == ()
    certain = solution.certify(at, seed=3, tolerance=100.0)
    assert certain.value.item() == pytest.approx(2.5)
    names = [name for name in at if name not in ("seed", "values")]
    known = dict.fromkeys(names, 0.5)
    problem = solution.observe(["seed", "values"], [2.0, 2.5, 3.0], known, noise=0.1)
    assert problem.labels == ["seed", "values"]
