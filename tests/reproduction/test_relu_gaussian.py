"""The network of Theorem A.4: Clenshaw's recursion, clipping, and the guarantee kept."""

import numpy as np
import pytest
import torch
from numpy.polynomial.chebyshev import chebval

from feynkac.reproduction.relu_calculus import ReluNetwork
from feynkac.reproduction.relu_gaussian import (
    Plan,
    Reach,
    clenshaw,
    clip,
    coefficients,
    gaussian,
    guarantee,
    plan_for,
    product_error,
    reach_of,
    series_error,
)
from feynkac.reproduction.theorem_a4 import choose_points, measure

PAPER, UNIT = Reach(0.1, 0.1), Reach(1.0, 1.0)


def values(chain, x):
    with torch.no_grad():
        return ReluNetwork(chain)(torch.as_tensor(x, dtype=torch.float64)).numpy()


@pytest.mark.parametrize("series", [[0.3, 0.5], [0.5, 0.3, -0.2, 0.1, 0.05]])
@pytest.mark.parametrize("levels", [4, 9])
def test_clenshaw_is_numpys_chebyshev_sum_within_its_error(series, levels):
    w = np.linspace(-1, 1, 501)
    error = np.abs(values(clenshaw(series, levels), w[:, None])[:, 0] - chebval(w, series))
    bound = (2 * len(series) - 3) * product_error(reach_of(np.array(series)), levels)
    assert 0.05 * bound < error.max() <= bound


@pytest.mark.parametrize("reach", [PAPER, UNIT])
@pytest.mark.parametrize("degree", [1, 3, 6])
def test_the_error_of_a_series_holds_for_h_and_g(reach, degree):
    w, levels = np.linspace(-1, 1, 301), 10
    for function in (reach.h, reach.g):
        series = coefficients(function)
        found = values(clenshaw(series[: degree + 1], levels), w[:, None])[:, 0]
        assert np.abs(found - function(w)).max() <= series_error(series, degree, levels)


def test_clipping_moves_what_is_outside_to_the_ends():
    found = values(clip(3), [[-0.5, 0.25, 1.5], [0.0, 1.0, 7.0]])
    np.testing.assert_allclose(found, [[0.0, 0.25, 1.0], [0.0, 1.0, 1.0]])


@pytest.mark.slow
@pytest.mark.parametrize("reach", [PAPER, UNIT])
@pytest.mark.parametrize("dim", [1, 2, 3, 7])
@pytest.mark.parametrize("eps", [0.3, 1e-3])
def test_the_network_is_within_its_guarantee_and_that_within_eps(reach, dim, eps, generator):
    plan = plan_for(dim, reach, eps)
    seen = measure(
        ReluNetwork(gaussian(dim, reach, plan)), choose_points(dim, reach, 100, generator)
    )
    assert 0.02 * guarantee(dim, reach, plan) < seen <= guarantee(dim, reach, plan) <= eps


def test_one_level_less_is_not_enough():
    plan = plan_for(5, UNIT, 1e-3)
    assert guarantee(5, UNIT, Plan(plan.levels - 1, plan.of_h, plan.of_g)) > 1e-3


def test_a_degree_too_low_is_found_out(generator):
    """So that the guarantee is not met by chance."""
    seen = measure(
        ReluNetwork(gaussian(2, UNIT, Plan(10, 1, 1))), choose_points(2, UNIT, 100, generator)
    )
    assert seen > 0.05
