"""The normal law: mpmath's values, far in the tail too."""

import mpmath
import pytest
import torch

from feynkac.families.formulas.normal_law import cdf, pdf


@pytest.mark.parametrize(("z", "magnitude"), [(-38.0, 1e-316), (-20.0, 1e-89), (-8.0, 1e-15)])
def test_the_tail_of_the_distribution_is_relatively_accurate(z, magnitude):
    exact, at = float(mpmath.ncdf(z)), torch.tensor(z, dtype=torch.float64)
    assert 0.1 < exact / magnitude < 10.0
    rel = 1e-6 if z < -37 else 1e-12  # the former is denormal
    assert cdf(at).item() == pytest.approx(exact, rel=rel, abs=0)
    assert pdf(at).item() == pytest.approx(float(mpmath.npdf(z)), rel=rel, abs=0)


def test_the_density_is_the_slope_of_the_distribution():
    z = torch.linspace(-6.0, 6.0, 25, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(cdf(z).sum(), z)
    torch.testing.assert_close(slope, pdf(z))
