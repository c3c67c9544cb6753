"""The normal law by elementary functions is SciPy's."""

import numpy as np
import torch
from scipy.special import ndtr
from scipy.stats import norm

from feynkac.exporting.head_stages import Law


def test_the_normal_law_to_rounding():
    z = torch.linspace(-37.0, 37.0, 20_001, dtype=torch.float64)
    np.testing.assert_allclose(Law().cdf(z), ndtr(z.numpy()), rtol=1e-12, atol=0)
    near = z[z.abs() < 6]
    np.testing.assert_allclose(Law().cdf(near), ndtr(near.numpy()), rtol=0, atol=1e-15)
    np.testing.assert_allclose(Law().pdf(near), norm.pdf(near.numpy()), rtol=1e-14)


def test_in_single_precision():
    z = torch.linspace(-6.0, 6.0, 1001)
    found = Law().cdf(z)
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found, ndtr(z.numpy()), rtol=0, atol=2e-7)
