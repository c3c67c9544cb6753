"""Smooth networks are SiLU layers, drawn from the given generator alone; their jet is exact."""

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from feynkac.networks.architecture import initialise
from feynkac.networks.smooth import GAIN, Smooth, silu_jet


def drawn(settings, inputs, seed=0):
    network = settings.build(inputs)
    initialise(network, torch.Generator().manual_seed(seed))
    return network


def same_sized(settings, inputs):
    """The same network from torch's own layers."""
    layers = [nn.Linear(inputs, settings.width), nn.SiLU()]
    for _ in range(settings.depth - 1):
        layers += [nn.Linear(settings.width, settings.width), nn.SiLU()]
    return nn.Sequential(*layers, nn.Linear(settings.width, 1))


@pytest.mark.parametrize("inputs", [1, 4, 11])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("width", [1, 7])
def test_equals_torchs_layers(inputs, depth, width):
    settings = Smooth(width=width, depth=depth)
    network = drawn(settings, inputs)
    with torch.random.fork_rng():
        theirs = same_sized(settings, inputs)
    pairs = zip(network.weights, network.biases, strict=True)
    ours = [p for pair in pairs for p in pair]
    assert [p.shape for p in ours] == [p.shape for p in theirs.parameters()]
    for own, other in zip(ours, theirs.parameters(), strict=True):
        other.data.copy_(own)
    x = torch.randn(9, inputs, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(network(x), theirs(x))


def test_products_are_further_inputs():
    network = drawn(Smooth(width=7, depth=1, products=3), 4)
    a, b, hidden, last = network.weights
    x = torch.randn(9, 4, generator=torch.Generator().manual_seed(1))
    p, q = x @ a.mT + network.biases[0], x @ b.mT + network.biases[1]
    seen = torch.cat([x, p * q], -1)
    values = nn.functional.silu(seen @ hidden.mT + network.biases[2]) @ last.mT + network.biases[3]
    torch.testing.assert_close(network(x), values)


def test_products_start_small(generator):
    network = drawn(Smooth(width=200, products=200), 100)
    p, q = (torch.randn(2000, 100, generator=generator) @ w.mT for w in network.weights[:2])
    assert 0.05 < (p * q).square().mean() < 0.3


@pytest.mark.parametrize(
    ("inputs", "width", "depth", "count"), [(4, 32, 3, 2305), (1, 1, 1, 4), (111, 256, 2, 94_721)]
)
def test_parameter_count(inputs, width, depth, count):
    network = Smooth(width=width, depth=depth).build(inputs)
    assert sum(p.numel() for p in network.parameters()) == count


def test_the_generator_determines_the_parameters():
    first, again, other = (drawn(Smooth(), 4, seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(first[k], again[k]) for k in first)
    assert not torch.equal(first["weights.0"], other["weights.0"])


def test_the_parameters_do_not_depend_on_the_dtype():
    single, double = Smooth().build(4), Smooth().build(4).double()
    for network in (single, double):
        initialise(network, torch.Generator().manual_seed(0))
    for a, b in zip(single.parameters(), double.parameters(), strict=True):
        assert torch.equal(a, b.float())


def test_parameters_have_the_stated_variances():
    network = drawn(Smooth(width=200, depth=2), 100)
    for weight, gain in zip(network.weights, [1.0, GAIN, GAIN], strict=True):
        expected = gain * weight.shape[1] ** -0.5
        assert weight.std().item() == pytest.approx(expected, rel=4.5 / (2 * weight.numel()) ** 0.5)
    for bias in network.biases[:-1]:
        assert bias.std().item() == pytest.approx(0.5, rel=4.5 / (2 * bias.numel()) ** 0.5)
    assert network.biases[-1].item() == 0.0


def test_layers_keep_a_variance_near_one(generator):
    settings = Smooth(width=256, depth=6)
    values = drawn(settings, 10)(torch.randn(2000, 10, generator=generator))
    assert 0.2 < values.square().mean() < 5.0


def test_silu_jet_equals_autograd():
    z = torch.linspace(-30.0, 30.0, 241, dtype=torch.float64, requires_grad=True)
    value = nn.functional.silu(z)
    (first,) = torch.autograd.grad(value.sum(), z, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), z)
    for found, expected in zip(silu_jet(z.detach()), (value, first, second), strict=True):
        torch.testing.assert_close(found, expected.detach(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("z", [-1e4, -100.0, 100.0, 1e4])
def test_silu_jet_is_finite_far_out(z):
    value, first, second = silu_jet(torch.tensor(z))
    assert (value, first, second) == (max(z, 0.0), float(z > 0), 0.0)


@pytest.mark.parametrize("wrong", [{"width": 0}, {"depth": 0}, {"height": 3}])
def test_meaningless_settings_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(ValidationError, match=name):
        Smooth(**wrong)


def test_waves_begin_with_all_signs():
    """∏ cos(5 xᵢ) of five inputs is a sum of 16 waves; the sixth input has none."""
    network = Smooth(width=96, frequencies=(5.0,) * 5 + (0.0,)).build(6)
    network.draw(torch.Generator().manual_seed(0))
    first = network.layers()[1][0][0][1 : network.waves : 3, :5]
    patterns = {tuple(row) for row in (first.sign() * first[:, :1].sign()).int().tolist()}
    assert (first.abs() == 5.0).all()
    assert len(patterns) == 16
