"""Sweeps along variables, and what speaks against a solution's derivatives."""

import json
from pathlib import Path

import pytest

import feynkac as fk
from feynkac.analysis.warnings import derivative_warnings
from feynkac.errors import InputError
from feynkac.families.catalogue import find_family

AT = {"x": 9.5, "t": 0.5, "sigma": 0.35, "strike": 11.0}
GREEKS = ["delta", "gamma", "vega", "theta", "vanna", "volga"]
SMALL = {
    "method": "paper",
    "architecture": fk.Multilevel(levels=2, factor=2),
    "batch_size": 32,
    "evaluations": 1,
}
DIGITAL = find_family(f"{Path(__file__).parents[1] / 'digital_put.py'}:DigitalPut")


@pytest.fixture(scope="module")
def put():
    return fk.solve(fk.BlackScholes(), steps=3, **SMALL)


@pytest.fixture(scope="module")
def paraboloid():
    return fk.solve(fk.HeatParaboloid(dim=2), steps=3, **SMALL)


@pytest.fixture(scope="module")
def basket():
    return fk.solve(fk.BasketPut(dim=1), steps=3, scheme=fk.EulerMaruyama(steps=1), **SMALL)


def test_a_sweep_along_one_variable(put):
    found = put.sweep(["sigma"], points=6, **AT)
    sigma = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert found.over["sigma"].tolist() == pytest.approx(sigma)
    assert found.at == {"x": 9.5, "t": 0.5, "strike": 11.0}
    assert found.values["value"].tolist() == pytest.approx(put(**AT | {"sigma": sigma}).tolist())
    assert list(found.values) == ["value", *GREEKS]
    assert found.warnings == put.warnings


def test_a_sweep_along_two_variables_has_the_first_along_rows(put):
    found = put.sweep(["t", "x"], points=3, sigma=0.35, strike=11.0)
    assert list(found.over) == ["t", "x"]
    delta = found.values["delta"]
    for i, t in enumerate((0.0, 0.5, 1.0)):
        for j, x in enumerate((9.0, 9.5, 10.0)):
            alone = put.greeks(x=x, t=t, sigma=0.35, strike=11.0)["delta"].item()
            assert delta[i][j] == pytest.approx(alone, rel=1e-4, abs=1e-7)


def test_without_named_greeks_a_sweep_has_first_derivatives(paraboloid, basket):
    found = paraboloid.sweep(["t"], points=4, x=1.0, sigma=0.5)
    assert list(found.values) == ["value", "∂u/∂t"]
    vectors_of_one = basket.sweep(["x"], points=4, t=0.5, sigma=0.3, mu=0.3, strike=11.0)
    assert list(vectors_of_one.values) == ["value", "∂u/∂x", "∂u/∂t", "∂u/∂strike"]
    assert all(len(surface) == 4 for surface in vectors_of_one.values.values())


@pytest.mark.parametrize(
    ("at", "over", "message"),
    [
        ({}, ["x", "x"], "one variable, or two different ones"),
        ({}, ["x", "t", "sigma"], "one variable, or two different ones"),
        ({}, ["rho"], "no variable 'rho'; there are: x, t, sigma, strike"),
        ({"x": [9.1, 9.2, 9.3]}, ["t"], "a sweep starts from one input"),
        ({"x": [[9.1], [9.2]]}, ["t"], "a sweep starts from one input"),
        ({"x": 40.0}, ["t"], r"x = 40 lies outside \[9, 10\]"),
    ],
)
def test_a_sweep_that_makes_no_sense_is_refused(put, at, over, message):
    with pytest.raises(InputError, match=message):
        put.sweep(over, points=3, **(AT | at))


def test_a_sweep_of_a_vector_is_refused(paraboloid):
    with pytest.raises(InputError, match="cannot sweep 'x'; the scalar variables are: t"):
        paraboloid.sweep(["x"], points=3, t=0.5, sigma=0.5)


@pytest.mark.parametrize(
    ("family", "architecture", "warned"),
    [
        (fk.BlackScholes(), fk.Multilevel(levels=2, factor=2), ["not smooth"]),
        (fk.BlackScholes(), fk.FeedForward(levels=2, factor=2), ["not smooth"]),
        (fk.BlackScholes(), fk.Multilevel(levels=2, factor=2, activation="silu"), []),
        (DIGITAL, fk.Multilevel(levels=2, factor=2), ["jumps", "not smooth"]),
        (DIGITAL, fk.Multilevel(levels=2, factor=2, activation="tanh"), ["jumps"]),
    ],
    ids=str,
)
def test_beware_of_jumps_and_kinks(family, architecture, warned):
    settings = SMALL | {"architecture": architecture}
    solution = fk.solve(family, steps=1, **settings)
    found = derivative_warnings(solution.family, solution.network)
    assert len(found) == len(warned)
    assert all(word in warning for word, warning in zip(warned, found, strict=True))
    kinked = "not smooth" in warned
    assert (solution.hessian("x", "x", **AT).item() == 0.0) == kinked


def test_a_fast_solution_needs_no_warning():
    solution = fk.solve(fk.BlackScholes(), steps=1, batch_size=16, paths=8, evaluations=1)
    assert derivative_warnings(solution.family, solution.network) == []
    assert solution.warnings == solution.manifest.warnings


def test_a_sweep_is_json(put):
    found = put.sweep("x", points=3, **AT)
    assert json.loads(json.dumps(found.record()))["surfaces"].keys() == {"value", *GREEKS}


@pytest.mark.parametrize(
    ("method", "fitted"),
    [
        (fk.Fast(scheme=fk.Exact(), noise=fk.Sobol()), False),
        (fk.Fast(scheme=fk.Exact(), noise=fk.Rays()), True),
        (fk.Fast(grid=fk.Grid((33,), 8, sets=64, points=8)), True),
    ],
)
def test_slopes_over_lines_and_of_grids_are_fitted_and_still_not_trusted(method, fitted):
    solution = fk.solve(DIGITAL, method, steps=1, batch_size=16, paths=8, evaluations=1)
    (said,) = [warning for warning in solution.warnings if "near t = 0" in warning]
    assert ("slopes were not fitted" not in said) == fitted
