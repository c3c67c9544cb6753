"""Networks that see fewer inputs by symmetry: values, slopes and invariance."""

import pytest
import torch

import feynkac as fk
from feynkac.networks.network import Network, make_network
from feynkac.networks.reduction import Unit
from feynkac.networks.smooth import Smooth

BOX = fk.Domain(
    x=fk.Box(50.0, 150.0),
    t=fk.Box(0.1, 2.0),
    sigma=fk.LogUniform(0.05, 1.0),
    strike=fk.Box(80, 120),
)
UNITS = (Unit("strike", (("x", 1.0),), 1.0), Unit("t", (("sigma", -0.5),)))
BALL = fk.Domain(x=fk.Box(-1.0, 1.0, shape=(3,)), t=fk.Box(0.1, 1.0), v=fk.Box(0.1, 0.4))


def priced(generator):
    return make_network(Smooth(width=8, units=UNITS, log_ranges=True), BOX, generator).double()


def test_a_network_scales_exactly(generator):
    network, inputs = priced(generator), BOX.sample(20, generator, torch.float64)
    scaled = inputs * torch.tensor([3.0, 1.0, 1.0, 3.0])
    torch.testing.assert_close(network(scaled), 3.0 * network(inputs))
    later = inputs * torch.tensor([1.0, 4.0, 0.5, 1.0])
    torch.testing.assert_close(network(later), network(inputs))
    assert len(network.varies) == 2


def test_what_is_seen_has_mean_zero_and_variance_one(generator):
    network = Network(Smooth(units=UNITS, log_ranges=True), BOX)
    seen = network.normalise(BOX.sample(100_000, generator))
    assert seen.mean(0).abs().max() < 0.03
    assert (seen.std(0) - 1).abs().max() < 0.03


def slopes_of(network, inputs):
    inputs = inputs.requires_grad_()
    values = network(inputs)
    (gradients,) = torch.autograd.grad(values.sum(), inputs)
    return inputs.detach(), values.detach(), gradients


@pytest.mark.parametrize("radial", [False, True])
def test_slopes_are_the_derivatives_in_what_is_seen(radial, generator):
    """The network's own gradient in its inputs, pulled forward to the core's."""
    settings = (
        {"radial": True, "units": (Unit("t", (("v", -1.0),)),)} if radial else {"units": UNITS}
    )
    domain = BALL if radial else BOX
    network = make_network(Smooth(width=8, **settings), domain, generator).double()
    inputs, values, gradients = slopes_of(network, domain.sample(20, generator, torch.float64))
    seen = network.normalise(inputs).requires_grad_()
    (expected,) = torch.autograd.grad(network.core(seen).sum(), seen)
    torch.testing.assert_close(network.slopes(inputs, gradients), expected, rtol=1e-5, atol=1e-7)
    found, along = network.slopes_along(inputs, values, gradients)
    chained = (along @ expected.unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(found, chained, rtol=1e-5, atol=1e-7)


def test_a_radial_network_is_the_same_in_all_directions(generator):
    network = make_network(Smooth(width=8, radial=True), BALL, generator).double()
    inputs = BALL.sample(20, generator, torch.float64)
    turn = torch.linalg.qr(torch.randn(3, 3, generator=generator, dtype=torch.float64)).Q
    turned = torch.cat([inputs[:, :3] @ turn.mT, inputs[:, 3:]], dim=-1)
    torch.testing.assert_close(network(turned), network(inputs))
    assert len(network.varies) == 3


def test_at_the_centre_values_and_gradients_are_finite(generator):
    network = make_network(Smooth(width=8, radial=True), BALL, generator)
    inputs = torch.zeros(2, 5).requires_grad_()
    values = network(inputs)
    (gradients,) = torch.autograd.grad(values.sum(), inputs)
    assert values.isfinite().all()
    assert gradients.isfinite().all()
