"""Optimiser settings build torch's optimisers of the same name, for all parameters."""

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from feynkac.families import BlackScholes
from feynkac.networks.multilevel import Multilevel
from feynkac.networks.network import make_network
from feynkac.training.optimisers.optimiser import SGD, AdamW, Optimiser


def quadratic():
    """A network of one number w = 1; the loss w² has gradient 2w."""
    network = nn.utils.skip_init(nn.Linear, 1, 1, bias=False)
    nn.init.ones_(network.weight)
    return network


def trajectory(settings, steps=3):
    network = quadratic()
    optimiser = settings.build(network)
    values = []
    for _ in range(steps):
        optimiser.zero_grad()
        network.weight.square().sum().backward()
        optimiser.step()
        values.append(network.weight.item())
    return values


def test_sgd_follows_momentum_and_weight_decay():
    """v ← βv + g + ωw,  w ← w − ηv."""
    w, v, expected = 1.0, 0.0, []
    for _ in range(3):
        v = 0.8 * v + (2 * w + 0.05 * w)
        w -= 0.1 * v
        expected.append(w)
    found = trajectory(SGD(learning_rate=0.1, momentum=0.8, weight_decay=0.05))
    assert found == pytest.approx(expected, rel=1e-6)


def test_adamw_decays_weights_apart_from_the_gradient():
    """w ← w − ηωw − η m̂/(√v̂ + ε), with β = (0.9, 0.999)."""
    w, m, v, expected = 1.0, 0.0, 0.0, []
    for k in range(1, 4):
        g = 2 * w
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        w -= 0.1 * 0.05 * w
        w -= 0.1 * (m / (1 - 0.9**k)) / ((v / (1 - 0.999**k)) ** 0.5 + 1e-8)
        expected.append(w)
    found = trajectory(AdamW(learning_rate=0.1, weight_decay=0.05))
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("settings", [AdamW(), SGD()])
def test_every_parameter_is_optimised(settings, generator):
    network = make_network(Multilevel(), BlackScholes().domain, generator)
    (group,) = settings.build(network).param_groups
    assert {id(p) for p in group["params"]} == {id(p) for p in network.parameters()}
    assert group["lr"] == settings.learning_rate


@pytest.mark.parametrize("settings", [AdamW, SGD])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"learning_rate": 0.0}, "greater than 0"),
        ({"learning_rate": -1.0}, "greater than 0"),
        ({"learning_rate": float("nan")}, "finite number"),
        ({"learning_rate": float("inf")}, "finite number"),
        ({"weight_decay": -0.1}, "greater than or equal to 0"),
        ({"lr": 0.1}, "Unexpected keyword argument"),
    ],
)
def test_meaningless_settings_are_refused(settings, wrong, message):
    with pytest.raises(ValidationError, match=message):
        settings(**wrong)


@pytest.mark.parametrize("momentum", [-0.1, 1.0])
def test_momentum_lies_below_one(momentum):
    with pytest.raises(ValidationError, match="momentum"):
        SGD(momentum=momentum)


def test_an_optimiser_must_say_how_it_is_built():
    with pytest.raises(TypeError, match="build"):
        Optimiser()


def test_settings_are_frozen():
    with pytest.raises(AttributeError, match="learning_rate"):
        AdamW().learning_rate = 1.0
    assert isinstance(AdamW().build(quadratic()), torch.optim.AdamW)
