"""A solution's implied volatilities, their errors and its shapes."""

from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.errors import InputError

AT = {"x": 9.5, "t": 0.5, "sigma": 0.3, "strike": 11.0}


@pytest.fixture(scope="module")
def solution() -> fk.Solution:
    return fk.pretrained("black-scholes")


def test_a_volatility_is_that_of_the_price(solution):
    strikes = torch.tensor([10.5, 11.0, 11.5])
    found = solution.implied_volatility(AT | {"strike": strikes})
    prices = solution(AT | {"strike": strikes})
    expected = fk.implied_volatility(prices, 9.5, strikes, 0.5, call=False)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=0.0)
    assert (found - 0.3).abs().max() < 0.02
    back = fk.black_price(9.5, strikes, 0.5, found, call=False)
    torch.testing.assert_close(back, prices.double(), rtol=1e-5, atol=1e-6)


def test_a_normal_volatility_has_the_units_of_the_asset(solution):
    found = solution.implied_volatility(AT, normal=True)
    assert found.item() == pytest.approx(0.3 * 10.2, rel=0.05)


def test_gradients_flow_through_a_volatility(solution):
    spot = torch.tensor(9.5, dtype=torch.float64, requires_grad=True)
    solution.implied_volatility(AT | {"x": spot}).backward()
    step = 1e-2
    up, down = (solution.implied_volatility(AT | {"x": 9.5 + h}).item() for h in (step, -step))
    assert spot.grad.item() == pytest.approx((up - down) / (2 * step), abs=2e-3)


def test_where_there_is_no_volatility_the_answer_is_nan(solution):
    assert solution.implied_volatility(AT | {"t": 0.0}).isnan()


def test_a_family_without_volatility_is_refused_in_one_sentence():
    heat = fk.solve(fk.HeatParaboloid(dim=1), steps=2, batch_size=64, evaluations=1)
    with pytest.raises(InputError, match="HeatParaboloid has no implied volatility: its u is not"):
        heat.implied_volatility(x=1.0, t=0.5, sigma=[[1.0]])
    with pytest.raises(InputError, match="HeatParaboloid declares no shapes"):
        heat.shape()
    assert heat.error(100).volatility is None


def test_errors_in_volatility_are_part_of_the_error(solution):
    errors = solution.error(4000)
    assert 0 < errors.volatility.median < errors.volatility.tail
    assert errors.record()["volatility_median_bp"] == errors.volatility.median
    assert 0.8 < errors.volatility.share < 1.0


def test_a_shape_report_is_reproducible(solution):
    first, again, other = solution.shape(500), solution.shape(500), solution.shape(500, seed=9)
    assert first == again
    assert first != other
    assert {row.inputs for row in first.rows} == {500}


@dataclass(frozen=True)
class Forward(fk.Family, fk.Quoted, fk.Shaped):
    """A user's family, with formulas that return numbers."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(90, 110), t=fk.Box(0, 1), sigma=fk.Box(0.1, 0.4))

    def drift(self, x, p):
        return 0.0

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def initial(self, x, p):
        return (x - 100.0).clamp_min(0.0)

    def quote(self, x, t, p):
        return fk.Quote(forward=x, strike=100.0)

    @property
    def shapes(self):
        return (fk.Monotone("x", 1), fk.Convex("x"))


def test_a_family_of_a_user_has_volatilities_and_shapes():
    found = fk.solve(Forward(), steps=60, evaluations=1)
    sigma = found.implied_volatility(x=[95.0, 100.0], t=0.5, sigma=0.25)
    assert (sigma - 0.25).abs().max() < 0.03
    assert found.error(256, paths=256).volatility.median < 300
    assert [row.sentence for row in found.shape(200).rows] == ["rises with x", "is convex in x"]
