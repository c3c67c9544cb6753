"""Truncated normal measures: mpmath's moments and quantiles, far in the tails too; bad numbers."""

import math

import mpmath
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from feynkac.errors import InputError
from feynkac.families.measures.normal import Normal

unhurried = settings(deadline=None)  # the machine may be busy


def fifty_digits(m, s, low, high):
    """Mean and standard deviation by the textbook's formulas."""
    with mpmath.workdps(50):
        m, s, low, high = map(mpmath.mpf, (m, s, low, high))
        a, b = (low - m) / s, (high - m) / s
        mass = mpmath.ncdf(b) - mpmath.ncdf(a)
        shift = (mpmath.npdf(a) - mpmath.npdf(b)) / mass
        spread = 1 + (a * mpmath.npdf(a) - b * mpmath.npdf(b)) / mass - shift**2
        return float(m + s * shift), float(s * mpmath.sqrt(spread))


@unhurried
@given(st.floats(-5.0, 5.0), st.floats(0.01, 10.0), st.floats(-3.0, 3.0), st.floats(0.01, 20.0))
def test_moments_are_exact_to_rounding(m, s, offset, width):
    """The bounds in units of s from m."""
    low, high = m + s * offset, m + s * (offset + width)
    measure = Normal(m, s, low, high)
    mean, std = fifty_digits(m, s, *measure.low, *measure.high)
    assert measure.mean.item() == pytest.approx(mean, abs=1e-11 * s)
    assert measure.std.item() == pytest.approx(std, rel=1e-9)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_both_tails_keep_their_digits(side):
    """Five standard deviations out, where one minus the distribution function has few digits."""
    bounds = sorted([side * 5.0, side * 8.0])
    measure = Normal(0.0, 1.0, *bounds)
    assert measure.mean.item() == pytest.approx(fifty_digits(0, 1, *bounds)[0], rel=1e-12)
    with mpmath.workdps(50):
        a, b = map(mpmath.ncdf, bounds)
        for share in (0.01, 0.5, 0.99):
            level = a + share * (b - a)
            exact = mpmath.findroot(lambda z, level=level: mpmath.ncdf(z) - level, side * 5.2)
            found = measure.quantile(torch.tensor([share], dtype=torch.float64)).item()
            assert found == pytest.approx(float(exact), rel=1e-12)


def test_wide_bounds_cut_nothing():
    measure = Normal(2.0, 3.0, low=-1e6, high=1e6)
    assert measure.mean.item() == pytest.approx(2.0, rel=1e-12)
    assert measure.std.item() == pytest.approx(3.0, rel=1e-12)


@pytest.mark.parametrize("std", [0.0, -1.0, [1.0, 0.0]], ids=str)
def test_the_standard_deviation_is_positive(std):
    with pytest.raises(InputError, match="Normal needs std > 0 in every coordinate, but coord"):
        Normal(0.0, std, -1.0, 1.0)


@pytest.mark.parametrize("name", ["mean", "std"])
def test_the_parameters_are_finite(name):
    numbers = {"mean": 0.0, "std": 1.0} | {name: math.nan}
    with pytest.raises(InputError, match=f"Normal {name} must be finite, got nan"):
        Normal(**numbers, low=-1.0, high=1.0)


@pytest.mark.parametrize(("low", "high"), [(10, 20), (-20, -10), ([-1, 7], [1, 8])], ids=str)
def test_there_must_be_mass_between_the_bounds(low, high):
    message = "Normal needs mass between its bounds in every coordinate, but .* widen the bounds"
    with pytest.raises(InputError, match=message):
        Normal(0.0, 1.0, low, high)
