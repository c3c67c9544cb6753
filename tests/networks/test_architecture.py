"""One layer is A(ϱ(Norm(h))); its maps start uniform in (−ξ, ξ), from the given generator alone."""

import pytest
import torch
from scipy import stats
from torch import nn

from feynkac.networks.architecture import ACTIVATIONS, Architecture, Layer, Linear, initialise
from feynkac.networks.feed_forward import FeedForward
from feynkac.networks.multilevel import Multilevel

ARCHITECTURES = [Multilevel(levels=3, factor=10), FeedForward(levels=2, factor=10)]


def built(architecture, inputs=8, seed=0):
    network = architecture.build(inputs)
    initialise(network, torch.Generator().manual_seed(seed))
    return network


def linear_maps(network):
    return [m for m in network.modules() if isinstance(m, Linear)]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_linear_maps_start_uniform_on_their_own_interval(architecture):
    for linear in linear_maps(built(architecture)):
        xi = linear.weight.shape[1] ** -0.5
        draws = torch.cat([p.detach().flatten() for p in linear.parameters()]).double()
        assert draws.abs().max() <= xi * (1 + 1e-6)
        assert stats.kstest(draws.numpy(), stats.uniform(-xi, 2 * xi).cdf).pvalue > 1e-3


def test_biases_are_drawn_too():
    biases = [m.bias for m in linear_maps(built(Multilevel())) if m.bias is not None]
    assert len(biases) == 4  # the last map of each level
    assert all(b != 0 for b in biases)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_normalisation_starts_as_the_identity(architecture):
    norms = [m for m in built(architecture).modules() if isinstance(m, nn.BatchNorm1d)]
    assert norms
    for norm in norms:
        assert (norm.weight == 1).all()
        assert (norm.bias == 0).all()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_parameters_are_a_function_of_the_seed(architecture):
    first, again, other = (built(architecture, seed=s).state_dict() for s in (5, 5, 6))
    assert all(torch.equal(first[k], again[k]) for k in first)
    assert all(not torch.equal(first[k], other[k]) for k in first if "linear" in k or "entr" in k)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_neither_building_nor_initialising_draws_from_the_global_generator(architecture):
    before = torch.random.get_rng_state()
    built(architecture)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_maps_of_equal_shape_start_differently():
    weights = [m.weight.flatten() for m in linear_maps(built(Multilevel(factor=2)))]
    square = torch.stack([w for w in weights if w.numel() == 16 * 16])
    assert len(square) == len(square.unique(dim=0)) == 11


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(
    ("norm", "module"),
    [("none", nn.Identity()), ("layer", nn.LayerNorm(6)), ("batch", nn.BatchNorm1d(6))],
)
def test_a_layer_normalises_then_activates_then_maps(activation, norm, module, generator):
    layer = Layer(6, 3, norm, activation, bias=True)
    initialise(layer, generator)
    h = torch.randn(5, 6, generator=generator)
    activated = getattr(torch.nn.functional, activation)(module(h))
    expected = nn.functional.linear(activated, layer.linear.weight, layer.linear.bias)
    torch.testing.assert_close(layer(h.mT).mT, expected)


@pytest.mark.parametrize("bias", [True, False])
def test_a_linear_map_has_a_bias_only_if_asked(bias):
    assert (Linear(2, 3, bias).bias is not None) == bias


def test_an_architecture_must_say_how_it_is_built():
    with pytest.raises(TypeError, match="build"):
        Architecture()
