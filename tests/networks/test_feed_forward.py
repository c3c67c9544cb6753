"""The feed-forward network is the deepest level of a multilevel network with one level more."""

import pytest
import torch
from pydantic import ValidationError

from feynkac.networks.architecture import initialise
from feynkac.networks.feed_forward import FeedForward
from feynkac.networks.multilevel import Multilevel


@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
@pytest.mark.parametrize("levels", [0, 1, 3])
def test_equals_the_highest_level_of_the_multilevel_network(levels, norm, generator):
    multilevel = Multilevel(levels=levels + 1, factor=4, residual=False, norm=norm).build(3)
    initialise(multilevel, generator)
    for level in multilevel.levels[:-1]:  # silence the others
        torch.nn.init.zeros_(level[-1].linear.weight)
        torch.nn.init.zeros_(level[-1].linear.bias)
    plain = FeedForward(levels=levels, factor=4, norm=norm).build(3)
    plain.entry.load_state_dict(multilevel.entries[-1].state_dict())
    plain.layers.load_state_dict(multilevel.levels[-1].state_dict())

    x = torch.randn(20, 3, generator=generator)
    torch.testing.assert_close(plain(x), multilevel(x))


@pytest.mark.parametrize("levels", [0, 1, 4])
def test_has_two_to_the_level_hidden_layers(levels):
    assert len(FeedForward(levels=levels).build(4).layers) == 2**levels


@pytest.mark.parametrize(
    ("inputs", "factor", "norm", "count"),
    [
        (4, 5, "batch", 6741),
        (4, 5, "layer", 6741),
        (4, 5, "none", 6101),
        (111, 4, "batch", 3_020_977),
    ],
)
def test_parameter_counts_are_the_paper_s(inputs, factor, norm, count):
    network = FeedForward(levels=4, factor=factor, norm=norm).build(inputs)
    assert sum(p.numel() for p in network.parameters()) == count


def test_gradients_reach_every_parameter(generator):
    network = FeedForward(levels=3).build(4)
    initialise(network, generator)
    network(torch.randn(64, 4, generator=generator)).square().mean().backward()
    assert all(p.grad.any() for p in network.parameters())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"levels": -1}, "greater than or equal to 0"),
        ({"factor": 0}, "greater than or equal to 1"),
        ({"residual": True}, "Unexpected keyword argument"),
    ],
)
def test_settings_without_meaning_are_refused(wrong, message):
    with pytest.raises(ValidationError, match=message):
        FeedForward(**wrong)
