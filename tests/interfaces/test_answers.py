"""Answers to queries: plain numbers that equal the solution's, beside those of the closed form."""

import json
from pathlib import Path

import pytest
import torch

import feynkac as fk
from feynkac.errors import InputError
from feynkac.families.catalogue import find_family
from feynkac.interfaces.answers import (
    answer,
    answer_rows,
    beware,
    certificate_answer,
    sensitivities,
    sweep,
)
from feynkac.solution import Solution

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
def put() -> Solution:
    return fk.solve(fk.BlackScholes(), steps=3, **SMALL)


@pytest.fixture(scope="module")
def paraboloid() -> Solution:
    return fk.solve(fk.HeatParaboloid(dim=2), steps=3, **SMALL)


@pytest.fixture(scope="module")
def basket() -> Solution:
    return fk.solve(fk.BasketPut(dim=1), steps=3, scheme=fk.EulerMaruyama(steps=1), **SMALL)


def test_the_value_stands_beside_the_closed_form(put):
    found = answer(put, AT)
    assert found.keys() == {"at", "value", "closed_form"}
    assert found["at"] == AT
    assert found["value"] == put(**AT).item()
    assert found["closed_form"] == {"value": pytest.approx(1.930283, abs=1e-6)}


def test_greeks_are_the_solutions_and_the_closed_forms(put):
    found = answer(put, AT, greeks=True)
    truth = found["closed_form"]
    assert found["greeks"]["theta"] == -found["partials"]["t"] == put.greeks(**AT)["theta"].item()
    family = put.family
    x, t, p = family.domain.split(family.domain.join(AT))
    for name, value in family.closed_partials(x, t, p).items():
        assert truth["partials"][name] == pytest.approx(value.item(), rel=1e-10)
    assert truth["greeks"]["delta"] == truth["partials"]["x"]
    assert truth["greeks"]["gamma"] == pytest.approx(family.closed_gamma(x, t, p).item(), rel=1e-10)


def test_vectors_and_matrices_are_nested_lists(paraboloid):
    sigma = [[0.5, 0.0], [0.25, 1.0]]
    found = answer(paraboloid, {"x": [1.0, 1.2], "t": 0.5, "sigma": sigma}, greeks=True)
    truth = found["closed_form"]
    assert truth["value"] == pytest.approx(1.0 + 1.44 + 0.5 * 1.3125)
    assert truth["partials"] == {
        "x": pytest.approx([2.0, 2.4]),
        "t": pytest.approx(1.3125),
        "sigma": sigma,  # 2tσ at t = ½
    }
    assert [len(row) for row in found["partials"]["sigma"]] == [2, 2]
    assert found["greeks"] == {}


def test_a_family_without_closed_form_is_answered_alone(basket):
    found = answer(basket, {"x": 9.5, "t": 0.5, "sigma": 0.3, "mu": 0.3, "strike": 11.0}, True)
    assert found.keys() == {"at", "value", "partials", "greeks"}
    assert answer_rows(found)[0][2:] == ("–", "")


def test_several_points_at_once(put):
    found = answer(put, AT | {"x": [9.2, 9.7]}, greeks=True)
    assert found["value"] == put(**AT | {"x": [9.2, 9.7]}).tolist()
    assert len(found["greeks"]["gamma"]) == len(found["closed_form"]["value"]) == 2


def test_an_answer_is_strict_json(put, paraboloid):
    for found in (
        answer(put, AT | {"t": 0.0}, greeks=True),
        answer(paraboloid, {"x": 1.0, "t": 0.0, "sigma": 0.0}, greeks=True),
    ):
        assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_outside_the_domain_only_on_request(put):
    outside = AT | {"x": 10.5}
    with pytest.raises(InputError, match=r"x = 10.5 lies outside \[9, 10\]"):
        answer(put, outside, greeks=True)
    found = answer(put, outside, greeks=True, extrapolate=True)
    assert found["value"] == put(extrapolate=True, **outside).item()


def test_rows_show_the_difference(put):
    found = answer(put, AT, greeks=True)
    rows = {name: rest for name, *rest in answer_rows(found)}
    partials = ["∂u/∂x", "∂u/∂t", "∂u/∂sigma", "∂u/∂strike"]
    assert list(rows) == ["value", *GREEKS, *partials]
    network, truth, difference = rows["delta"]
    assert float(difference) == pytest.approx(float(network) - float(truth), rel=0.01)
    assert rows["value"][1] == "1.930283"


def test_rows_of_arrays_are_rounded(paraboloid):
    found = answer(
        paraboloid, {"x": torch.tensor([1.0, 1.2]).tolist(), "t": 0.5, "sigma": 0.5}, True
    )
    rows = {name: rest for name, *rest in answer_rows(found)}
    assert rows["∂u/∂x"][1:] == ["[2.0, 2.4]", ""]


# Sensitivities and what to beware of


def test_sensitivities_are_an_answer_with_warnings(put):
    found = sensitivities(put, AT)
    assert found == answer(put, AT, greeks=True) | {"warnings": beware(put)}
    assert list(found["greeks"]) == list(found["closed_form"]["greeks"]) == GREEKS


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
    found = beware(solution)
    assert len(found) == len(warned)
    assert all(word in warning for word, warning in zip(warned, found, strict=True))
    kinked = "not smooth" in warned
    assert (solution.hessian("x", "x", **AT).item() == 0.0) == kinked


def test_a_fast_solution_needs_no_warning():
    solution = fk.solve(fk.BlackScholes(), steps=1, batch_size=16, paths=8, evaluations=1)
    assert beware(solution) == []


# Sweeps


def test_a_sweep_along_one_variable(put):
    found = sweep(put, AT, ["sigma"], 6)
    sigma = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert found["over"] == {"sigma": pytest.approx(sigma)}
    assert found["at"] == {"x": 9.5, "t": 0.5, "strike": 11.0}
    assert found["surfaces"]["value"] == pytest.approx(put(**AT | {"sigma": sigma}).tolist())
    assert list(found["surfaces"]) == ["value", *GREEKS]
    assert found["warnings"] == beware(put)


def test_a_sweep_along_two_variables_has_the_first_along_rows(put):
    found = sweep(put, {"sigma": 0.35, "strike": 11.0}, ["t", "x"], 3)
    assert list(found["over"]) == ["t", "x"]
    delta = found["surfaces"]["delta"]
    for i, t in enumerate((0.0, 0.5, 1.0)):
        for j, x in enumerate((9.0, 9.5, 10.0)):
            alone = put.greeks(x=x, t=t, sigma=0.35, strike=11.0)["delta"].item()
            assert delta[i][j] == pytest.approx(alone, rel=1e-4, abs=1e-7)


def test_without_named_greeks_a_sweep_has_first_derivatives(paraboloid, basket):
    found = sweep(paraboloid, {"x": 1.0, "sigma": 0.5}, ["t"], 4)
    assert list(found["surfaces"]) == ["value", "∂u/∂t"]
    vectors_of_one = sweep(basket, {"t": 0.5, "sigma": 0.3, "mu": 0.3, "strike": 11.0}, ["x"], 4)
    assert list(vectors_of_one["surfaces"]) == ["value", "∂u/∂x", "∂u/∂t", "∂u/∂strike"]
    assert all(len(surface) == 4 for surface in vectors_of_one["surfaces"].values())


@pytest.mark.parametrize(
    ("at", "over", "message"),
    [
        ({}, ["x", "x"], "one variable, or two different ones"),
        ({}, ["x", "t", "sigma"], "one variable, or two different ones"),
        ({}, ["rho"], "cannot sweep 'rho'; the scalar variables are: x, t, sigma, strike"),
        ({"x": [9.1, 9.2, 9.3]}, ["t"], "a sweep starts from one input"),
        ({"x": [[9.1], [9.2]]}, ["t"], "a sweep starts from one input"),
        ({"x": 11.0}, ["t"], r"x = 11 lies outside \[9, 10\]"),
    ],
)
def test_a_sweep_that_makes_no_sense_is_refused(put, at, over, message):
    with pytest.raises(InputError, match=message):
        sweep(put, AT | at, over, 3)


def test_a_sweep_of_a_vector_is_refused(paraboloid):
    with pytest.raises(InputError, match="cannot sweep 'x'; the scalar variables are: t"):
        sweep(paraboloid, {"t": 0.5, "sigma": 0.5}, ["x"], 3)


# Certificates


@pytest.mark.parametrize(
    ("tolerance", "aim"), [(None, "(the interval)"), (0.5, "(a tolerance of 0.5)")]
)
def test_rows_of_a_certificate(put, tolerance, aim):
    (record,) = put.certify(tolerance=tolerance, **AT).record()
    rows = dict(certificate_answer(record))
    assert float(rows["network"]) == pytest.approx(put(**AT).item(), abs=1e-6)
    value, half = rows["estimate"].split(" ± ")
    assert float(value) == pytest.approx(record["value"], abs=record["half_width"])
    assert float(half) == pytest.approx(record["half_width"], rel=0.1)
    assert float(rows["  statistical"]) == pytest.approx(record["statistical"], rel=0.1)
    assert (rows["  discretisation"], rows["by"]) == ("0", record["estimator"])
    assert (rows["confidence"], rows["paths"]) == ("95%", str(record["paths"]))
    assert rows["verdict"] == f"{record['verdict']} {aim}"
