"""Log-uniform measures: mpmath's moments, however near or far apart the bounds; bad bounds."""

import mpmath
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from feynkac.errors import InputError
from feynkac.families.measures.log_uniform import LogUniform

unhurried = settings(deadline=None)  # the machine may be busy


def fifty_digits(low, high):
    """Mean, standard deviation, mean of the root."""
    with mpmath.workdps(50):
        a, b = mpmath.mpf(low), mpmath.mpf(high)
        ratio = mpmath.log(b / a)
        mean = (b - a) / ratio
        variance = (b**2 - a**2) / (2 * ratio) - mean**2
        root = 2 * (mpmath.sqrt(b) - mpmath.sqrt(a)) / ratio
        return [float(v) for v in (mean, mpmath.sqrt(variance), root)]


@unhurried
@given(st.floats(1e-6, 1e3), st.floats(1.0001, 1e6))
def test_moments_are_exact_to_rounding(low, ratio):
    measure = LogUniform(low, low * ratio)
    mean, std, root = fifty_digits(low, low * ratio)
    assert measure.mean.item() == pytest.approx(mean, rel=1e-12)
    assert measure.std.item() == pytest.approx(std, rel=1e-9)
    assert measure.moments(torch.sqrt)[0].item() == pytest.approx(root, rel=1e-12)


def test_the_median_is_the_geometric_mean():
    u = torch.full((1,), 0.5, dtype=torch.float64)
    assert LogUniform(1e-3, 10.0).quantile(u).item() == pytest.approx(0.1, rel=1e-15)


@pytest.mark.parametrize(("low", "shown"), [(0.0, 0), (-1.0, 0), ([0.1, -2.0], 1)], ids=str)
def test_the_lower_bound_is_positive(low, shown):
    message = f"LogUniform needs lower > 0 in every coordinate, but coordinate {shown} has lower="
    with pytest.raises(InputError, match=message):
        LogUniform(low, 1.0)
