"""Smiles and surfaces: lines of the volatilities that the solution answers."""

import numpy as np
import pytest

import feynkac as fk
from feynkac.errors import InputError

AT = {"x": 9.5, "sigma": 0.3}


@pytest.fixture(scope="module")
def solution() -> fk.Solution:
    return fk.pretrained("black-scholes")


def test_each_line_is_the_smile_of_a_maturity(solution):
    figure = fk.plot.smile(solution, AT, maturities=[0.5, 1.0])
    (axes,) = figure.axes
    assert [line.get_label() for line in axes.lines] == ["t = 0.5", "t = 1"]
    strikes, sigma = axes.lines[1].get_data()
    assert (strikes[0], strikes[-1]) == (10.0, 12.0)
    expected = solution.implied_volatility(AT, t=1.0, strike=strikes)
    np.testing.assert_allclose(sigma, expected.numpy(), rtol=1e-4)
    assert axes.get_xlabel() == "strike"


def test_maturities_are_chosen_from_the_range(solution):
    (axes,) = fk.plot.smile(solution, **AT).axes
    assert len(axes.lines) == 5
    assert axes.lines[-1].get_label() == "t = 1"


def test_a_surface_has_the_ranges_of_strike_and_time(solution):
    axes, _ = fk.plot.volatility_surface(solution, AT).axes
    assert axes.get_xlim() == (10.0, 12.0)
    assert axes.get_ylim() == (0.02, 1.0)


def test_what_cannot_be_drawn_is_refused(solution):
    with pytest.raises(InputError, match="strike is drawn along an axis; do not give a value"):
        fk.plot.smile(solution, AT, strike=11.0)
    heat = fk.solve(fk.OrnsteinUhlenbeck(1), steps=2, batch_size=64, evaluations=1)
    with pytest.raises(InputError, match="has no implied volatility"):
        fk.plot.smile(heat, x=0.1, kappa=1.0, theta=0.0, sigma=0.3)


def test_a_library_solution_at_one_strike_has_smiles_at_every_level():
    heston = fk.pretrained("heston")
    at = {"kappa": 2.0, "theta": 0.05, "nu": 0.5, "rho": -0.6, "rate": 0.02}
    (axes,) = heston.plot.smile(x=[100.0, 0.04], maturities=[0.5], **at).axes
    strikes, sigma = axes.lines[0].get_data()
    assert (strikes[0], strikes[-1]) == pytest.approx((40.0, 250.0))
    known = heston.implied_volatility(x=[1.0, 0.04], t=0.5, strike=strikes[20] / 100.0, **at)
    assert sigma[20] == pytest.approx(known.item(), rel=1e-4)
    (axes,) = heston.plot.smile({"x[1]": 0.04}, strike=1.0, maturities=[0.5], **at).axes
    assert axes.get_xlabel() == "$x_{0}$"


@pytest.mark.parametrize("maturities", [[], [-1.0], [99.0]])
def test_maturities_outside_the_range_are_refused(solution, maturities):
    with pytest.raises(InputError, match="one or more times between 0 and 1"):
        fk.plot.smile(solution, AT, maturities=maturities)
