"""Muon: hidden matrices move by near-orthogonal steps, all else by Adam's."""

import pytest
import torch
from pydantic import ValidationError

from feynkac.networks.architecture import initialise
from feynkac.networks.smooth import Smooth
from feynkac.training.optimisers.muon import Muon, orthogonalise

SIZES = [(128, 32), (32, 128), (64, 4), (4, 64), (1, 9), (256, 111)]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_singular_values_become_roughly_one(size, scale, generator):
    matrix = scale * torch.randn(size, generator=generator)
    values = torch.linalg.svdvals(orthogonalise(matrix))
    assert values.min() > 0.6
    assert values.max() < 1.3


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_singular_vectors_are_kept(size, generator):
    matrix = torch.randn(size, generator=generator, dtype=torch.float64)
    u, _, vt = torch.linalg.svd(matrix, full_matrices=False)
    inner = u.T @ orthogonalise(matrix) @ vt.T
    torch.testing.assert_close(inner, inner.diagonal().diag(), rtol=0, atol=1e-10)


def test_a_zero_matrix_stays_zero():
    assert not orthogonalise(torch.zeros(3, 5)).any()


def network_and_gradients(generator, steps=4):
    network = Smooth(width=6, depth=2).build(3).double()
    initialise(network, generator)
    parameters = list(network.parameters())
    gradients = [
        [torch.randn(p.shape, generator=generator, dtype=p.dtype) for p in parameters]
        for _ in range(steps)
    ]
    return network, gradients


def follow(optimiser, parameters, gradients):
    for step in gradients:
        for parameter, gradient in zip(parameters, step, strict=True):
            parameter.grad = gradient.clone()
        optimiser.step()


def test_steps_equal_the_rule_written_out(generator):
    network, gradients = network_and_gradients(generator)
    settings = Muon(learning_rate=0.05, adam_ratio=0.2, momentum=0.8)
    before = [p.detach().clone() for p in network.parameters()]
    follow(settings.build(network), list(network.parameters()), gradients)
    for i, (start, after) in enumerate(zip(before, network.parameters(), strict=True)):
        own = [step[i] for step in gradients]
        is_hidden = start.ndim == 2 and start.shape[0] > 1
        expected = literal_muon(start, own) if is_hidden else torch_adam(start, own)
        torch.testing.assert_close(after.detach(), expected, rtol=1e-12, atol=1e-12)


def literal_muon(w, gradients, lr=0.05, beta=0.8):
    mean = torch.zeros_like(w)
    rows, columns = w.shape
    for g in gradients:
        mean = beta * mean + (1 - beta) * g
        x = beta * mean + (1 - beta) * g
        x = x / x.norm()
        for _ in range(5):
            x = 3.4445 * x - 4.7750 * x @ x.T @ x + 2.0315 * x @ x.T @ x @ x.T @ x
        w = w - lr * max(1, rows / columns) ** 0.5 * x
    return w


def torch_adam(start, gradients):
    parameter = torch.nn.Parameter(start.clone())
    adam = torch.optim.Adam([parameter], lr=0.05 * 0.2, betas=(0.9, 0.99), eps=1e-12)
    follow(adam, [parameter], [[g] for g in gradients])
    return parameter.detach()


def test_the_learning_rate_of_the_group_is_followed(generator):
    network, gradients = network_and_gradients(generator, steps=1)
    before = [p.detach().clone() for p in network.parameters()]
    optimiser = Muon().build(network)
    optimiser.param_groups[0]["lr"] = 0.0
    follow(optimiser, list(network.parameters()), gradients)
    assert all(torch.equal(a, b) for a, b in zip(before, network.parameters(), strict=True))


@pytest.mark.parametrize("wrong", [{"learning_rate": 0.0}, {"momentum": 1.0}, {"adam_ratio": -1.0}])
def test_meaningless_settings_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(ValidationError, match=name):
        Muon(**wrong)
