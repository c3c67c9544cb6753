"""One entry of a Greek that has one number per asset, Greeks along what is fixed, other levels."""

import pytest

import feynkac as fk
from feynkac.interfaces.server.problems import Problem
from feynkac.interfaces.server.requests import CalibrateBody, GreeksBody, ValueBody
from feynkac.interfaces.server.served import Served

AT = {"x": [9.3, 9.7], "t": 0.5, "sigma": 0.3, "strike": 11.0}


@pytest.fixture(scope="module")
def served():
    return Served("two", fk.solve(fk.BlackScholes(dim=2), steps=1, batch_size=16))


def ask(served, *names):
    return served.greeks(GreeksBody(at=AT, quantities=list(names), closed_form=True))


@pytest.mark.parametrize("greek", ["delta", "gamma", "vanna"])
def test_an_entry_is_that_of_the_whole(served, greek):
    found = ask(served, greek, f"{greek}[1]")
    for kind in ("values", "closed_form"):
        assert found[kind][f"{greek}[1]"] == pytest.approx(found[kind][greek][1], rel=1e-6)
        assert found[kind][greek][1] != found[kind][greek][0]


@pytest.mark.parametrize("name", ["delta[2]", "delta[0, 1]", "omega[0]", "theta[0]"])
def test_an_entry_that_is_not_there_is_refused(served, name):
    with pytest.raises(Problem):
        ask(served, name)


@pytest.fixture(scope="module")
def calm():
    family = fk.BlackScholes().on(sigma=0.3, strike=11.0)
    return Served("calm", fk.solve(family, steps=2, batch_size=64))


def test_a_symmetry_gives_greeks_along_what_is_fixed(calm):
    at = {"x": 9.5, "t": 0.5}
    found = calm.greeks(GreeksBody(at=at, closed_form=True))
    expected = calm.solution.greeks(at)
    assert found["values"].keys() >= {"delta", "vega", "theta"}
    for name, value in expected.items():
        assert found["values"][name] == pytest.approx(value.item(), rel=1e-4, abs=1e-6), name
    assert found["closed_form"]["vega"] > 0.0


def test_other_levels_are_answered_as_by_the_library(calm):
    at = {"x": [95.0, 98.0], "t": 0.5, "strike": 110.0}
    expected = calm.solution(at)
    assert calm.value(calm.flat(ValueBody(at=at)))["value"] == pytest.approx(expected.numpy())
    found = calm.greeks(GreeksBody(at=at, quantities=["delta"]))["values"]
    assert found["value"] == pytest.approx(expected.numpy(), rel=1e-5)
    with pytest.raises(Problem, match=r"at\.x = 950 .*lies outside"):
        calm.flat(ValueBody(at=at | {"x": 950.0}))


def test_quotes_of_another_level_are_fitted(calm):
    known = {"x": [92.0, 95.0, 98.0], "strike": 110.0}
    values = calm.solution({**known, "t": 0.4}).tolist()
    body = CalibrateBody(free=["t"], values=values, known=known, noise=0.1)
    assert calm.calibrate(body)["estimate"]["t"]["value"] == pytest.approx(0.4, abs=0.02)
