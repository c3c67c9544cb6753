"""b(x, s) and its slopes against mpmath and autograd, also where differences lose digits."""

import mpmath
import pytest
import torch

from feynkac.analysis import normalised_black
from feynkac.analysis.normalised_black import normalised_price, normalised_volatility, slopes

EPS = torch.finfo(torch.float64).eps


def exact(x, s):
    with mpmath.workdps(60):
        x, s = mpmath.mpf(x), mpmath.mpf(s)
        h, tau = x / s, s / 2
        up, down = mpmath.ncdf(h + tau), mpmath.ncdf(h - tau)
        return float(mpmath.exp(x / 2) * up - mpmath.exp(-x / 2) * down)


def pairs(count=1500):
    """|x| from 1e−10 to 10 and s from 1e−6 to 16, with |x|/s below 37."""
    u = torch.rand(2, count, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    x, s = -(10 ** (11 * u[0] - 10)), 10 ** (7.2 * u[1] - 6)
    kept = (x / s).abs() < 37
    return x[kept], s[kept]


def test_prices_have_all_digits():
    x, s = pairs()
    truth = torch.tensor(
        [exact(a, b) for a, b in zip(x.tolist(), s.tolist(), strict=True)], dtype=torch.float64
    )
    exponent = (x / s).square() + s.square() / 4  # rounded, then exponentiated
    error = (normalised_price(x, s) / truth - 1.0).abs()
    assert (error <= EPS * (32.0 + exponent)).all()


def test_a_few_steps_are_enough(monkeypatch):
    """The guess is so good that three steps of Householder reach the last digits."""
    x, s = pairs()
    b = normalised_price(x, s)
    known = (b < (0.5 * x).exp() * 0.999) & (b > 1e-300)
    monkeypatch.setattr(normalised_black, "MOST_STEPS", 3)
    found = normalised_volatility(x, b)
    assert ((found / s - 1.0).abs()[known] < 1e-11).all()


def test_one_step_is_not(monkeypatch):
    x, s = pairs()
    b = normalised_price(x, s)
    monkeypatch.setattr(normalised_black, "MOST_STEPS", 1)
    known = (b < (0.5 * x).exp() * 0.999) & (b > 1e-300)
    assert ((normalised_volatility(x, b) / s - 1.0).abs()[known] > 1e-11).any()


@pytest.mark.parametrize(("x", "s"), [(-0.3, 0.2), (-1e-4, 1e-3), (-2.0, 3.0), (-0.3, 0.01)])
def test_slopes_are_those_of_the_formula(x, s):
    step = 1e-4
    with mpmath.workdps(40):
        by_x = (mpmath.mpf(exact(x * (1 + step), s)) - exact(x * (1 - step), s)) / (2 * x * step)
        by_s = (mpmath.mpf(exact(x, s * (1 + step))) - exact(x, s * (1 - step))) / (2 * s * step)
    at = torch.tensor([x, s], dtype=torch.float64)
    found = slopes(at[0], at[1], normalised_price(at[0], at[1]))
    tolerance = 1e-3 if s < 0.02 and x < -0.1 else 1e-5
    assert found[0].item() == pytest.approx(float(by_x), rel=tolerance)
    assert found[1].item() == pytest.approx(float(by_s), rel=tolerance)


def test_no_volatility_no_price():
    x = torch.tensor([-0.1, 0.0], dtype=torch.float64)
    assert normalised_price(x, torch.zeros_like(x)).tolist() == [0.0, 0.0]
    assert normalised_volatility(x, torch.zeros_like(x)).tolist() == [0.0, 0.0]


def test_infinite_volatility_has_the_highest_price():
    x = torch.tensor([-0.5, 0.0], dtype=torch.float64)
    highest = normalised_price(x, torch.full_like(x, torch.inf))
    torch.testing.assert_close(highest, (0.5 * x).exp())
    assert normalised_volatility(x, highest).isnan().all()
