"""Student's quantiles against SciPy's."""

import pytest
from scipy import stats

from feynkac.analysis.student import student_quantile


@pytest.mark.parametrize("degrees", [1, 2, 3, 7, 15, 16, 63, 500, 1001])
@pytest.mark.parametrize("chance", [0.1, 0.5, 0.6, 0.975, 0.98, 0.9999])
def test_quantiles_are_those_of_scipy(chance, degrees):
    expected = stats.t.ppf(chance, degrees)
    assert student_quantile(chance, degrees) == pytest.approx(expected, rel=1e-10, abs=1e-15)


def test_beyond_many_degrees_it_is_nearly_normal():
    assert student_quantile(0.975, 10**6) == pytest.approx(stats.norm.ppf(0.975), rel=1e-3)
