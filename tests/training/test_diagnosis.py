"""Whatever is not finite is found where it first arose."""

import re
from dataclasses import dataclass

import pytest
import torch

from feynkac.errors import NonFiniteError
from feynkac.families import BasketPut, Box, Domain, Family
from feynkac.networks.feed_forward import FeedForward
from feynkac.networks.multilevel import Multilevel
from feynkac.networks.network import make_network
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.training.diagnosis import explain
from feynkac.training.objective import MeanSquare


@dataclass(frozen=True)
class Cornered(Family):
    """Nothing moves, and φ is `bad` where x > 0.9."""

    bad: float = float("nan")

    @property
    def domain(self):
        return Domain(x=Box(0.0, 1.0), t=Box(0.0, 1.0), k=Box([1.0, 5.0], [2.0, 6.0]))

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return torch.zeros_like(x)

    def initial(self, x, p):
        return torch.where(x > 0.9, self.bad, x)


HARMLESS = Cornered(bad=0.0)


def setting(family=HARMLESS, architecture=Multilevel(levels=2, factor=3)):  # noqa: B008
    """A network after one backward pass, and the batch it saw."""
    generator = torch.Generator().manual_seed(0)
    objective = MeanSquare(family, EulerMaruyama(2), batch_size=200)
    network = make_network(architecture, family.domain, generator)
    batch = objective.sample(generator)
    objective.loss(network, batch).backward()
    return network, batch


def explanation(network, batch, family=HARMLESS):
    error = explain(network, batch, family.domain, step=7)
    assert isinstance(error, NonFiniteError)
    return str(error)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_bad_label_is_named_with_its_input(bad):
    family = Cornered(bad)
    network, batch = setting(family)
    message = explanation(network, batch, family)
    corner = int((batch.inputs[:, 0] > 0.9).sum())
    found = re.search(
        r"in (\d+) of 200 simulated paths, first at x=(\S+), t=\S+, k=\[1.*, 5.*\]", message
    )
    assert int(found[1]) == corner > 0
    assert float(found[2]) > 0.9


def test_long_inputs_are_shortened():
    family = BasketPut()
    generator = torch.Generator().manual_seed(0)
    network = make_network(Multilevel(levels=1, factor=1), family.domain, generator)
    batch = MeanSquare(family, EulerMaruyama(1), 4).sample(generator)
    batch.values.fill_(torch.nan)
    message = explanation(network, batch, family)
    number = r"\d+\.?\d*"
    assert re.search(rf"x=\[{number}, {number}, {number}\], t=", message)
    assert re.search(rf"sigma=\[{number}, {number}, {number}, {number}, …\], mu=", message)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_bad_parameter_is_named(bad):
    network, batch = setting()
    with torch.no_grad():
        network.core.levels[1][0].linear.weight[2, 1] = bad
    expected = "in the parameter core.levels.1.0.linear.weight after the previous update"
    assert expected in explanation(network, batch)


@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
def test_the_first_layer_that_overflows_is_named(norm):
    network, batch = setting(architecture=FeedForward(levels=2, factor=40, norm=norm))
    with torch.no_grad():
        network.core.layers[2].linear.weight.fill_(3e38)
    assert "in the output of the layer core.layers.2.linear." in explanation(network, batch)


def test_running_moments_spoilt_by_an_overflow_are_not_blamed():
    network, batch = setting()
    with torch.no_grad():
        network.core.entries[0].weight.fill_(3e38)
        network(batch.inputs)
    assert not network.core.levels[0][0].norm.running_mean.isfinite().all()
    assert "in the output of the layer core.entries.0." in explanation(network, batch)


def test_a_bad_gradient_is_named():
    network, batch = setting()
    network.core.entries[1].weight.grad[0, 0] = torch.nan
    assert "in the gradient of core.entries.1.weight." in explanation(network, batch)


def test_when_all_parts_are_finite_the_loss_itself_overflowed():
    network, batch = setting()
    assert "arose in the loss or the size of its gradient." in explanation(network, batch)


def test_causes_come_before_their_consequences():
    network, batch = setting(Cornered())
    assert not network.core.entries[0].weight.grad.isfinite().all()  # a consequence of the labels
    with torch.no_grad():
        network.core.entries[0].weight.fill_(torch.nan)
    assert "simulated paths" in explanation(network, batch, Cornered())


def test_the_message_gives_the_step_and_says_what_to_do():
    message = explanation(*setting())
    assert message.startswith("step 7: a NaN or infinity arose ")
    assert message.endswith("check the family there, or lower the learning rate.")


def test_looking_leaves_no_hooks_behind():
    network, batch = setting()
    explanation(network, batch)
    assert not any(module._forward_hooks for module in network.modules())
