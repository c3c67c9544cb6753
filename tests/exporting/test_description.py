"""The stages, one after another, are the network; their pull-backs are its gradient."""

import copy
from dataclasses import replace

import pytest
import torch

import feynkac as fk
from feynkac.analysis.partials import gradient
from feynkac.exporting import description
from feynkac.exporting.description import describe
from feynkac.exporting.input_stages import Normalise
from feynkac.exporting.stage import bare


def test_values_are_the_networks(each, drawn):
    inputs = drawn(each)
    expected = each.exactly(inputs)
    found = describe(each).double()(inputs)
    assert found.shape == expected.shape
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


def test_derivatives_are_those_of_autograd(each, drawn):
    inputs = drawn(each)
    _, found = describe(each).double().jet(inputs)
    for output in range(found.shape[1]):
        one = each if found.shape[1] == 1 else each.output(output)
        expected = gradient(one.exactly, inputs)
        torch.testing.assert_close(found[:, output], expected, rtol=1e-5, atol=1e-5)


def test_a_smooth_network_is_reproduced_to_the_last_digit(put, drawn):
    inputs = drawn(put).float()
    assert torch.equal(describe(put)(inputs), put.network(inputs))


def test_every_stage_is_pulled_back_as_autograd_does(each, drawn):
    h = drawn(each, 20)
    for stage in describe(each).double().stages:
        leaf = h.detach().requires_grad_()
        out = stage(leaf)
        weights = torch.linspace(-1.0, 1.0, out.shape[-1], dtype=torch.float64)
        (expected,) = torch.autograd.grad((out * weights).sum(), leaf)
        found = stage.pull(h, weights.expand(len(h), 1, -1))[:, 0]
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
        h = out.detach()


def test_a_forgotten_stage_is_noticed(put, monkeypatch):
    """If a network gains a step that is not described here, exports fail: they are never wrong."""
    network = put.network
    monkeypatch.setattr(
        description, "_inputs", lambda _: [Normalise(network.mean, network.divisor)]
    )
    with pytest.raises(fk.InputError, match="its stages, written out, give other values"):
        describe(put)


def test_an_architecture_of_the_users_own_is_refused(put):
    network = copy.deepcopy(put.network)
    network.core = torch.nn.Identity()
    with pytest.raises(fk.InputError, match="architecture Identity cannot be exported"):
        describe(replace(put, network=network))


def test_without_modules_the_stages_compute_the_same(each, drawn):
    chain, inputs = describe(each), drawn(each, 50).float()
    assert torch.equal(bare(chain)(inputs), chain(inputs))
