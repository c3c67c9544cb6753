"""The multilevel network against a literal transcription of its definition in the paper."""

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from feynkac.networks.architecture import initialise
from feynkac.networks.multilevel import Multilevel

INPUTS = 3


def randomised(settings, generator):
    """A network whose every parameter, those of the normalisation included, is random."""
    network = settings.build(INPUTS).double()
    initialise(network, generator)
    for parameter in network.parameters():
        if parameter.ndim == 1:
            nn.init.uniform_(parameter, -1.0, 1.0, generator=generator)
    return network


def normalise(h, layer, norm):
    """Norm(h) with its scale and shift, from the mean and variance over the batch or the row."""
    if norm == "none":
        return h
    axis = 0 if norm == "batch" else -1
    mean, variance = h.mean(axis, keepdim=True), h.var(axis, correction=0, keepdim=True)
    scaled = (h - mean) / (variance + layer.norm.eps).sqrt()
    return layer.norm.weight * scaled + layer.norm.bias


def transcription(network, x, L, χ, norm, ρ):
    """Φ(x) of the definition "Multilevel Architecture", term by term."""
    Φ = {}

    def A(level, i, h):
        linear = network.levels[level][i - 1].linear
        return h @ linear.weight.T + (linear.bias if i == 2**level else 0)

    def Norm(level, i, h):
        return normalise(h, network.levels[level][i - 1], norm)

    for level in reversed(range(L)):
        A_0 = network.entries[level].weight.T
        Φ[level, 1] = A(level, 1, ρ(Norm(level, 1, x @ A_0)))
        for i in range(2, 2**level + 1):
            h = Φ[level, i - 1]
            if level <= L - 2:
                h = h + χ * Φ[level + 1, 2 * i - 2]
            Φ[level, i] = A(level, i, ρ(Norm(level, i, h)))
    return sum(Φ[level, 2**level] for level in range(L))


@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
@pytest.mark.parametrize("χ", [0, 1])
@pytest.mark.parametrize("L", [1, 2, 3, 4])
def test_forward_is_the_definition(L, χ, norm, generator):
    settings = Multilevel(levels=L, factor=4, residual=bool(χ), norm=norm)
    network = randomised(settings, generator)
    x = torch.randn(20, INPUTS, generator=generator, dtype=torch.float64)
    expected = transcription(network, x, L, χ, norm, torch.relu)
    torch.testing.assert_close(network(x), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("activation", "ρ"),
    [("silu", nn.functional.silu), ("gelu", nn.functional.gelu), ("tanh", torch.tanh)],
)
def test_forward_applies_the_chosen_activation(activation, ρ, generator):
    network = randomised(Multilevel(levels=3, factor=4, activation=activation), generator)
    x = torch.randn(20, INPUTS, generator=generator, dtype=torch.float64)
    expected = transcription(network, x, 3, 1, "batch", ρ)
    torch.testing.assert_close(network(x), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("L", "matters"), [(1, False), (2, False), (3, True)])
def test_residuals_matter_from_three_levels_on(L, matters, generator):
    """Level 0 has a single layer and receives nothing."""
    x = torch.randn(20, INPUTS, generator=generator, dtype=torch.float64)
    outputs = [
        randomised(Multilevel(levels=L, residual=r), torch.Generator().manual_seed(1))(x)
        for r in (True, False)
    ]
    assert torch.equal(*outputs) != matters


@pytest.mark.parametrize(
    ("inputs", "settings", "count"),
    [
        (4, Multilevel(levels=4, factor=5, norm="batch"), 5404),
        (4, Multilevel(levels=4, factor=5, norm="layer"), 5404),
        (4, Multilevel(levels=4, factor=5, norm="none"), 4804),
        (4, Multilevel(levels=4, factor=5, residual=False), 5404),
        (111, Multilevel(levels=4, factor=4), 2_380_732),
    ],
)
def test_parameter_counts_are_the_paper_s(inputs, settings, count):
    assert sum(p.numel() for p in settings.build(inputs).parameters()) == count


@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
@pytest.mark.parametrize("residual", [True, False])
def test_gradients_reach_every_parameter(norm, residual, generator):
    network = Multilevel(levels=4, factor=4, norm=norm, residual=residual).build(INPUTS)
    initialise(network, generator)
    network(torch.randn(64, INPUTS, generator=generator)).square().mean().backward()
    untouched = [n for n, p in network.named_parameters() if p.grad is None or not p.grad.any()]
    assert not untouched


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"levels": 0}, "greater than or equal to 1"),
        ({"levels": 11}, "less than or equal to 10"),
        ({"factor": 0}, "greater than or equal to 1"),
        ({"norm": "group"}, "'batch', 'layer' or 'none'"),
        ({"activation": "sine"}, "'relu', 'silu', 'gelu' or 'tanh'"),
        ({"widht": 3}, "Unexpected keyword argument"),
    ],
)
def test_settings_without_meaning_are_refused(wrong, message):
    with pytest.raises(ValidationError, match=message):
        Multilevel(**wrong)
