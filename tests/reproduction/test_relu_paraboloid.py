"""The network of Theorem 3 against the closed form, value and gradient, within its guarantee."""

import numpy as np
import pytest
import torch

from feynkac.families.models.heat_paraboloid import HeatParaboloid
from feynkac.reproduction.relu_calculus import ReluNetwork, count_dense, count_nonzero
from feynkac.reproduction.relu_paraboloid import guarantee, levels_for, paraboloid


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("levels", [3, 6])
def test_the_network_is_exact_where_everything_is_dyadic(dim, levels, generator):
    """At t and γ in {0, ½, 1} and x in {½, 1, 3/2} all squares are at breakpoints."""
    family = HeatParaboloid(dim=dim)
    points = torch.randint(3, (50, family.domain.dim), generator=generator).double() / 2
    points[:, :dim] += 0.5
    with torch.no_grad():
        found = ReluNetwork(paraboloid(dim, levels))(points)
    assert torch.equal(found, family.closed_form(*family.domain.split(points)))


@pytest.mark.parametrize("dim", [1, 2, 4])
@pytest.mark.parametrize("eps", [0.3, 0.01, 1e-4])
def test_value_and_gradient_are_within_eps_of_the_closed_form(dim, eps, generator):
    family, levels = HeatParaboloid(dim=dim), levels_for(dim, eps)
    points = family.domain.sample(500, generator, torch.float64).requires_grad_()
    found = ReluNetwork(paraboloid(dim, levels))(points)
    truth = family.closed_form(*family.domain.split(points))
    error = torch.autograd.grad((found - truth).sum(), points)[0]
    bounds = guarantee(dim, levels)
    assert (found - truth).abs().max() <= bounds.value <= eps
    assert error.abs().max() <= bounds.component <= eps
    assert error.norm(dim=-1).max() <= bounds.gradient <= eps
    assert error.norm(dim=-1).max() > 0.2 * bounds.gradient


@pytest.mark.parametrize("dim", [1, 3, 10])
@pytest.mark.parametrize("eps", [0.1, 1e-3])
def test_no_fewer_levels_would_do(dim, eps):
    levels = levels_for(dim, eps)
    assert guarantee(dim, levels - 1).gradient > eps >= guarantee(dim, levels).gradient


def test_all_weights_are_powers_of_two_so_that_float64_holds_them():
    for layer in paraboloid(2, 6):
        mantissa, _ = np.frexp(np.abs(layer.weight.data))
        assert set(mantissa) == {0.5}
        assert set(layer.bias) <= {0.0, -0.5}


def test_the_size_grows_as_the_square_of_d_and_linearly_in_the_levels():
    """Second differences in d, first differences in m: a quadratic and a linear function."""
    sizes = [count_nonzero(paraboloid(d, 5)) for d in range(1, 6)]
    assert len(set(np.diff(sizes, n=2))) == 1
    assert len(set(np.diff([count_nonzero(paraboloid(2, m)) for m in (4, 5, 6, 7)]))) == 1
    dense = [count_dense(paraboloid(d, 5)) for d in range(1, 8)]
    assert len(set(np.diff(dense, n=4))) == 1


def test_the_network_has_as_many_layers_as_two_squares():
    chain = paraboloid(3, 7)
    assert len(chain) - 1 == 2 * 7 + 2
    assert chain[0].weight.shape[1] == HeatParaboloid(dim=3).domain.dim
    assert chain[-1].weight.shape[0] == 1
