"""ReLU networks by hand: exact at breakpoints, within the proved bounds between."""

import numpy as np
import pytest
import torch
from torch import nn

import feynkac as fk
from feynkac.reproduction.relu_calculus import (
    ReluNetwork,
    SparseLinear,
    affine,
    carry,
    compose,
    count_dense,
    count_nonzero,
    parallel,
    product,
    squaring,
)

LEVELS = [1, 2, 5, 9]


def grid(bound, levels, between=1):
    """All breakpoints in [−bound, bound], and `between` − 1 points inside each piece."""
    count = 2 * 2**levels * between + 1
    return torch.linspace(-bound, bound, count, dtype=torch.float64).unsqueeze(-1)


def apply(chain, inputs):
    with torch.no_grad():
        return ReluNetwork(chain)(inputs)


def slopes(chain, inputs):
    leaf = inputs.clone().requires_grad_()
    return torch.autograd.grad(ReluNetwork(chain)(leaf).sum(), leaf)[0]


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("bound", [0.5, 1.0, 2.0])
def test_the_square_is_exact_at_its_breakpoints(bound, levels):
    x = grid(bound, levels)
    assert torch.equal(apply(squaring(bound, levels), x), x.square())


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("bound", [0.7, 1.0, 3.0])
def test_the_square_is_the_interpolant_and_its_error_the_bound(bound, levels):
    x, nodes = grid(bound, levels, between=8), grid(bound, levels)
    found = apply(squaring(bound, levels), x)
    expected = np.interp(x.flatten(), nodes.flatten(), nodes.square().flatten())
    torch.testing.assert_close(found.flatten(), torch.from_numpy(expected))
    error, h = found - x.square(), 0.5**levels
    assert error.min() >= -1e-15
    assert error.max().item() == pytest.approx(bound**2 * h**2 / 4)


@pytest.mark.parametrize("levels", LEVELS)
def test_the_slope_of_the_square_is_within_its_bound_and_reaches_it(levels):
    bound, h = 2.0, 0.5**levels
    left = grid(bound, levels)[:-1]
    inside = torch.cat([left + share * bound * h for share in (0.001, 0.3, 0.999)])
    error = (slopes(squaring(bound, levels), inside) - 2 * inside).abs()
    assert error.max() <= bound * h
    assert error.max().item() == pytest.approx(bound * h, rel=0.01)


@pytest.mark.parametrize("levels", LEVELS)
def test_products_are_exact_at_dyadic_points(levels):
    a = grid(1.0, min(levels, 5))
    pairs = torch.cartesian_prod(a.flatten()[::2], a.flatten()[::2])
    found = apply(product(1.0, levels), pairs)
    assert torch.equal(found.flatten(), pairs.prod(-1))


@pytest.mark.parametrize("bound", [1.0, 1.5])
@pytest.mark.parametrize("levels", LEVELS)
def test_products_and_their_slopes_are_within_their_bounds(bound, levels, generator):
    pairs = bound * (2 * torch.rand(4096, 2, generator=generator, dtype=torch.float64) - 1)
    chain, h = product(bound, levels), 0.5**levels
    error = apply(chain, pairs).flatten() - pairs.prod(-1)
    assert error.min() >= -(bound**2) * h**2 / 4
    assert error.max() <= 2 * bound**2 * h**2 / 4
    wrong = (slopes(chain, pairs) - pairs.flip(-1)).abs().max()
    assert 0.8 * 1.5 * bound * h < wrong <= 1.5 * bound * h


def test_a_chain_becomes_affine_maps_and_relus_by_turns_and_nothing_else():
    network = ReluNetwork(product(1.0, 4))
    kinds = [type(layer) for layer in network.layers]
    assert kinds == [SparseLinear, nn.ReLU] * 5 + [SparseLinear]
    leaves = [module for module in network.modules() if not list(module.children())]
    assert {type(leaf) for leaf in leaves} == {SparseLinear, nn.ReLU}


@pytest.mark.parametrize("levels", LEVELS)
def test_the_network_is_that_of_its_dense_matrices(levels, generator):
    chain = product(2.0, levels)
    x = torch.rand(7, 2, generator=generator, dtype=torch.float64)
    h = x.numpy().T
    for k, layer in enumerate(chain):
        h = layer.weight.toarray() @ (np.maximum(h, 0.0) if k else h) + layer.bias[:, None]
    torch.testing.assert_close(apply(chain, x), torch.from_numpy(h.T.copy()))


def test_depth_grows_with_the_levels_and_the_width_does_not():
    widths = [[layer.weight.shape[0] for layer in squaring(1.0, m)] for m in (3, 30)]
    assert [len(w) - 1 for w in widths] == [4, 31]
    assert [max(w) for w in widths] == [3, 3]


@pytest.mark.parametrize("levels", LEVELS)
def test_parameters_are_counted_one_by_one(levels):
    network, chain = ReluNetwork(squaring(1.0, levels)), squaring(1.0, levels)
    stored = sum(int(p.count_nonzero()) for p in network.parameters())
    assert count_nonzero(chain) == stored == 2 + 7 + 8 * (levels - 1) + 3
    assert count_dense(chain) == 4 + 9 + 12 * (levels - 1) + 4


def test_composition_applies_the_last_chain_first():
    double, add_one = affine([[2.0]]), affine([[1.0]], [1.0])
    x = torch.tensor([[3.0]], dtype=torch.float64)
    assert apply(compose(double, add_one), x).item() == 8.0
    assert apply(compose(add_one, double), x).item() == 7.0
    fourth = compose(squaring(1.0, 6), squaring(1.0, 6))
    assert len(fourth) == 2 * 8 - 1
    assert apply(fourth, x / 4).item() == pytest.approx(0.75**4, abs=1e-3)


def test_parallel_networks_keep_to_their_own_inputs():
    chain = parallel([squaring(1.0, 3), carry(1, 4), squaring(2.0, 3)])
    x = torch.tensor([[0.5, 0.3, -1.5]], dtype=torch.float64)
    assert apply(chain, x).tolist() == [[0.25, 0.3, 2.25]]


def test_parallel_networks_of_unequal_depth_are_refused():
    with pytest.raises(fk.InputError, match=r"equally deep, got \[4, 5\] affine maps; lengthen"):
        parallel([squaring(1.0, 2), squaring(1.0, 3)])


def test_a_sawtooth_without_levels_is_refused():
    with pytest.raises(fk.InputError, match="at least 1 level, got 0"):
        squaring(1.0, 0)


def test_the_values_can_be_trained():
    network = ReluNetwork(squaring(1.0, 2))
    network(torch.tensor([[0.3]], dtype=torch.float64)).sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in network.parameters())
