"""Beta measures: the table against SciPy for exponents of every size; bad exponents."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from feynkac.errors import InputError
from feynkac.families.measures.beta import Beta

EXPONENTS = st.floats(-2.0, 4.0).map(lambda v: 10.0**v)


@settings(deadline=None, max_examples=60)
@given(EXPONENTS, EXPONENTS)
def test_the_table_is_exact_to_a_millionth(a, b):
    tail = np.logspace(-9, -1, 50)
    u = np.concatenate([tail, np.linspace(0.1, 0.9, 101), 1.0 - tail])
    found = Beta(a, b).quantile(torch.tensor(u).unsqueeze(-1)).squeeze(-1)
    np.testing.assert_allclose(found, stats.beta(a, b).ppf(u), rtol=0, atol=1e-6)


@settings(deadline=None, max_examples=60)
@given(EXPONENTS, EXPONENTS)
def test_moments_are_those_of_scipy(a, b):
    measure, law = Beta(a, b, low=-2.0, high=3.0), stats.beta(a, b, -2.0, 5.0)
    assert measure.mean.item() == pytest.approx(law.mean(), rel=1e-12, abs=1e-12)
    assert measure.std.item() == pytest.approx(law.std(), rel=1e-10)


def test_equal_exponents_of_one_are_uniform():
    u = torch.linspace(0.0, 1.0, 101, dtype=torch.float64).unsqueeze(-1)
    torch.testing.assert_close(Beta(1.0, 1.0, 2.0, 4.0).quantile(u), 2.0 + 2.0 * u)


def test_half_and_half_is_the_arcsine_law():
    u = torch.linspace(0.0, 1.0, 1001, dtype=torch.float64).unsqueeze(-1)
    expected = (math.pi / 2.0 * u).sin().square()
    torch.testing.assert_close(Beta(0.5, 0.5).quantile(u), expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    ("a", "b", "rule"), [(0.0, 1.0, "a > 0"), (1.0, -2.0, "b > 0"), ([1.0, 0.0], 1.0, "a > 0")]
)
def test_exponents_are_positive(a, b, rule):
    with pytest.raises(InputError, match=f"Beta needs {rule} in every coordinate, but coordinate"):
        Beta(a, b)


def test_exponents_are_finite():
    with pytest.raises(InputError, match="Beta b must be finite, got inf"):
        Beta(1.0, math.inf)
