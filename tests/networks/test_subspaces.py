"""Long variables through a few combinations of their entries."""

import pytest
import torch

import feynkac as fk
from feynkac.errors import InputError
from feynkac.networks.network import Network, make_network
from feynkac.networks.smooth import Smooth
from feynkac.networks.subspaces import Subspace, maps, order_moments

BOX = fk.Domain(x=fk.Box(80.0, 120.0, shape=(6,)), t=fk.Box(0.1, 1.0), k=fk.Box(0.0, 1.0))
EVEN = Subspace("x", ((6**-0.5,) * 6,))


def test_order_moments_are_those_of_sorted_draws(generator):
    draws = 12**0.5 * (torch.rand(200_000, 6, generator=generator, dtype=torch.float64) - 0.5)
    draws = draws.sort(-1).values
    mean, covariance = order_moments(6)
    assert torch.allclose(draws.mean(0), mean, atol=6e-3)  # over five standard errors
    assert torch.allclose(torch.cov(draws.mT), covariance, atol=6e-3)


@pytest.mark.parametrize("ordered", [None, "x"])
def test_the_maps_are_inverse_on_the_subspace(ordered, generator):
    root = torch.linalg.cholesky(order_moments(6)[1]) if ordered else torch.eye(6).double()
    turned = torch.linalg.qr(torch.randn(6, 2, dtype=torch.float64, generator=generator)).Q
    space = Subspace("x", tuple(map(tuple, (root @ turned).mT.tolist())))
    center, combine, along = maps(BOX.slices(), (space,), ordered)
    assert center.shape == (8,)
    assert torch.allclose(combine @ along, torch.eye(4, dtype=torch.float64), atol=1e-10)


@pytest.mark.parametrize("ordered", [(), ("x",)])
def test_what_is_seen_has_mean_zero_and_variance_one(ordered, generator):
    root = torch.linalg.cholesky(order_moments(6)[1]) if ordered else torch.eye(6).double()
    space = Subspace("x", (tuple(root[:, 0].tolist()), tuple(root[:, 3].tolist())))
    network = Network(Smooth(ordered=ordered, subspaces=(space,)), BOX)
    seen = network.normalise(BOX.sample(100_000, generator))
    assert seen.shape == (100_000, 4)
    assert torch.allclose(seen.mean(0), torch.zeros(4), atol=0.02)
    assert torch.allclose(torch.cov(seen.mT), torch.eye(4), atol=0.03)


@pytest.mark.parametrize("ordered", [(), ("x",)])
def test_slopes_are_the_derivatives_in_what_is_seen(ordered, generator):
    """A network through the subspace, pulled back to its inputs and forward again."""
    network = make_network(Smooth(width=8, ordered=ordered, subspaces=(EVEN,)), BOX, generator)
    network = network.double()
    inputs = BOX.sample(20, generator, torch.float64).requires_grad_()
    (gradients,) = torch.autograd.grad(network(inputs).sum(), inputs)
    seen = network.normalise(inputs.detach()).requires_grad_()
    (expected,) = torch.autograd.grad(network.core(seen).sum(), seen)
    found = network.slopes(inputs.detach(), gradients)
    if ordered:  # the direction is not normalised for entries in order
        scale = (network.combine @ network.directions).diagonal()
        expected = expected * scale
    assert torch.allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_entries_in_order_may_come_in_any(generator):
    network = make_network(Smooth(width=8, ordered=("x",)), BOX, generator)
    inputs = BOX.sample(20, generator)
    turned = inputs.clone()
    turned[:, :6] = inputs[:, torch.randperm(6, generator=generator)]
    assert torch.allclose(network(inputs), network(turned))


def test_directions_of_another_length_are_refused():
    with pytest.raises(InputError, match="directions of 6 entries each, got \\[2\\]"):
        Network(Smooth(subspaces=(Subspace("x", ((1.0, 0.0),)),)), BOX)
