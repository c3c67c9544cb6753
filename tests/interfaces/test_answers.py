"""Answers to queries: plain numbers that equal the solution's, beside those of the closed form."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
import torch

import feynkac as fk
from feynkac.errors import InputError
from feynkac.families.catalogue import find_family
from feynkac.interfaces.answers import (
    answer,
    answer_rows,
    certificate_answer,
    sensitivities,
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
    outside = AT | {"x": 11.5}  # at 10.5, x and the strike together scale into the domain
    with pytest.raises(InputError, match=r"x = 11.5 lies outside \[9, 10\]"):
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
    network, truth, difference = rows["∂u/∂x"]
    assert truth == "[2, 2.4]"
    shown = [[float(v) for v in text.strip("[]").split(", ")] for text in (network, difference)]
    assert shown[1] == pytest.approx([shown[0][0] - 2.0, shown[0][1] - 2.4], rel=0.01)


def test_a_long_array_is_shown_by_its_extremes():
    found = {"value": 1.5, "partials": {"sigma": [[0.25] * 5, [0.5] * 5]}}
    assert answer_rows(found)[1][1] == "0.25 … 0.5 (10 entries)"


def test_small_numbers_keep_their_digits():
    found = {"value": 3.9123e-5, "closed_form": {"value": 3.9e-5}}
    assert answer_rows(found) == [("value", "3.9123e-05", "3.9e-05", "+1.23e-07")]


# Sensitivities


def test_sensitivities_are_an_answer_with_warnings(put):
    found = sensitivities(put, AT)
    assert found == answer(put, AT, greeks=True) | {"warnings": put.warnings}
    assert list(found["greeks"]) == list(found["closed_form"]["greeks"]) == GREEKS


# Certificates


def is_rounded(text: str, number: float) -> bool:
    """Whether a table shows this number, rounded to the last digit of the text."""
    shown = Decimal(text)
    return abs(shown - Decimal(number)) <= Decimal((0, (5,), shown.as_tuple().exponent - 1))


def test_a_number_that_differs_in_its_last_digit_is_another():
    assert is_rounded("1.930", 1.93049)
    assert not is_rounded("1.930", 1.9306)
    assert is_rounded("4e-07", 3.6e-7)
    assert not is_rounded("4e-07", 3.4e-7)


@pytest.mark.parametrize(
    ("tolerance", "aim"), [(None, "(the interval)"), (0.5, "(a tolerance of 0.5)")]
)
def test_rows_of_a_certificate(put, tolerance, aim):
    (record,) = put.certify(tolerance=tolerance, **AT).record()
    rows = dict(certificate_answer(record))
    assert record["network"] == pytest.approx(put(**AT).item(), rel=1e-6)
    assert is_rounded(rows["network"], record["network"])
    value, half = rows["estimate"].split(" ± ")
    assert is_rounded(value, record["value"])
    assert is_rounded(half, record["half_width"])
    assert is_rounded(rows["  statistical"], record["statistical"])
    assert (rows["  discretisation"], rows["by"]) == ("0", record["estimator"])
    assert (rows["confidence"], rows["paths"]) == ("95%", str(record["paths"]))
    assert rows["verdict"] == f"{record['verdict']} {aim}"
