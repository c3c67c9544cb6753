"""One entry of a Greek that has one number per asset."""

import pytest

import feynkac as fk
from feynkac.interfaces.server.problems import Problem
from feynkac.interfaces.server.requests import GreeksBody
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
