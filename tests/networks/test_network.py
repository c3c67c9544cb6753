"""The network behind its exact normalisation: any leading axes, each row on its own."""

import math

import pytest
import torch
from torch import nn

from feynkac.families import BasketPut, BlackScholes, Box, Domain, HeatGaussian, HeatParaboloid
from feynkac.families.measures.beta import Beta
from feynkac.families.measures.log_uniform import LogUniform
from feynkac.families.measures.normal import Normal
from feynkac.families.measures.sampled import Sampled
from feynkac.networks.architecture import Architecture
from feynkac.networks.columns import moments
from feynkac.networks.feed_forward import FeedForward
from feynkac.networks.multilevel import Multilevel
from feynkac.networks.network import Network, make_network
from feynkac.networks.smooth import Smooth

DOMAINS = [f.domain for f in (BlackScholes(), BasketPut(), HeatParaboloid(), HeatGaussian())]
SMALL = Domain(x=Box([0.0, 10.0], [1.0, 30.0]), t=Box(0.0, 1e-3), sigma=Box(-5.0, 5.0))


class Bare(Architecture):
    """No network at all."""

    def build(self, inputs, outputs=1):
        return nn.Identity()


@pytest.mark.parametrize("domain", [*DOMAINS, SMALL])
def test_corners_and_centre_are_normalised_exactly(domain):
    """A uniform variable of zero mean and unit variance lives on [−√3, √3]."""
    network = Network(Bare(), domain)
    low = torch.tensor([v for box in domain.measures.values() for v in box.low])
    high = torch.tensor([v for box in domain.measures.values() for v in box.high])
    edge = torch.full((domain.dim,), 3**0.5)
    normalised = network.normalise(torch.stack([low, (low + high) / 2, high]))
    expected = torch.stack([-edge, torch.zeros_like(edge), edge])
    torch.testing.assert_close(normalised, expected, rtol=0, atol=3e-5)


def test_normalised_samples_have_zero_mean_and_unit_variance(generator):
    count = 50_000
    normalised = Network(Bare(), SMALL).normalise(SMALL.sample(count, generator)).double()
    assert normalised.mean(0).abs().max() < 4.5 / count**0.5
    assert (normalised.var(0) - 1).abs().max() < 4.5 * (0.8 / count) ** 0.5  # V[z²] = 9/5 − 1


LATE = Domain(x=Box(0.0, 1.0), t=Box(0.5, 2.0))


@pytest.mark.parametrize(
    ("domain", "lowest"), [(BlackScholes().domain, -(8**0.5)), (SMALL, -(8**0.5)), (LATE, -1.961)]
)
def test_root_time_too_has_zero_mean_and_unit_variance(domain, lowest, generator):
    count = 50_000
    normalised = Network(Smooth(), domain).normalise(domain.sample(count, generator)).double()
    time = domain.slices()["t"].start
    assert normalised.mean(0).abs().max() < 4.5 / count**0.5
    assert (normalised.var(0) - 1).abs().max() < 4.5 * (1.4 / count) ** 0.5  # V[z²] = 7/5 for √t
    assert normalised[:, time].min().item() == pytest.approx(lowest, abs=0.03)


def squared(count, generator, dtype):
    """Its root is uniform on [0, 2]."""
    return 4.0 * torch.rand(count, generator=generator, dtype=dtype).square()


MEASURES = [
    Box(0.5, 2.0),
    LogUniform(0.01, 2.0),
    Normal(1.0, 0.5, low=0.0, high=3.0),
    Beta(2.0, 5.0, low=0.0, high=4.0),
    Beta(0.5, 0.5),
    Sampled(squared, 0.0, 4.0),
]


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@pytest.mark.parametrize("architecture", [Smooth(), Bare()], ids=["root of t", "t"])
def test_under_every_measure_inputs_have_zero_mean_and_unit_variance(
    measure, architecture, generator
):
    count = 100_000
    domain = Domain(x=Box(0.0, 1.0), t=measure, a=measure)
    z = Network(architecture, domain).double().normalise(domain.sample(count, generator).double())
    estimated = 1 / count + 1 / 2**16  # the sampler's moments are estimates too
    assert z.mean(0).abs().max() < 4.5 * estimated**0.5
    assert ((z.var(0) - 1).abs() < 4.5 * ((z.pow(4).mean(0) - 1) * estimated) ** 0.5).all()


def test_moments_of_the_root_of_time_are_known_exactly():
    """E √t = 2 (√b − √a)/ln(b/a) and E t = (b − a)/ln(b/a) for a log-uniform t."""
    time = LogUniform(0.25, 4.0)
    mean, std = moments(Domain(x=Box(0.0, 1.0), t=time), root_time=True)
    root, full = 3.0 / math.log(16.0), 3.75 / math.log(16.0)
    assert mean[1].item() == pytest.approx(root, rel=1e-14)
    assert std[1].item() == pytest.approx((full - root**2) ** 0.5, rel=1e-13)
    uniform = moments(Domain(x=Box(0.0, 1.0), t=Box(0.0, 1.0)), root_time=True)
    flat = moments(Domain(x=Box(0.0, 1.0), t=Beta(1.0, 1.0)), root_time=True)
    torch.testing.assert_close(uniform, flat, rtol=1e-7, atol=0)


@pytest.mark.parametrize("domain", [BlackScholes().domain, LATE])
@pytest.mark.parametrize("architecture", [Smooth(), Smooth(root_time=False), Multilevel()])
def test_the_stretch_is_the_inverse_derivative_of_the_normalisation(
    architecture, domain, generator
):
    network = Network(architecture, domain).double()
    inputs = domain.sample(50, generator, torch.float64).requires_grad_()
    (derivative,) = torch.autograd.grad(network.normalise(inputs).sum(), inputs)
    torch.testing.assert_close(
        network.slopes(inputs.detach(), torch.ones_like(inputs)) * derivative,
        torch.ones_like(inputs),
    )


def test_normalising_leaves_its_input_alone(generator):
    """Also one that shares memory with itself."""
    network, inputs = Network(Smooth(), SMALL), SMALL.sample(1, generator)
    before = inputs.clone()
    shared = network.normalise(inputs.expand(3, -1))
    assert torch.equal(inputs, before)
    assert torch.equal(shared, network.normalise(inputs.repeat(3, 1)))


def test_at_time_zero_values_and_gradients_are_finite(generator):
    network = make_network(Smooth(), SMALL, generator)
    inputs = SMALL.sample(8, generator)
    inputs[:, SMALL.slices()["t"]] = 0.0
    values = network(inputs.requires_grad_())
    (gradient,) = torch.autograd.grad(values.sum(), inputs)
    assert values.isfinite().all()
    assert gradient.isfinite().all()


@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
@pytest.mark.parametrize("kind", [Multilevel, FeedForward])
def test_in_evaluation_each_row_is_on_its_own(kind, norm, generator):
    network = make_network(kind(levels=3, norm=norm), SMALL, generator)
    for _ in range(5):  # gives batch normalisation its running moments
        network(SMALL.sample(64, generator))
    network.eval()
    inputs = SMALL.sample(16, generator)
    alone = torch.cat([network(row[None]) for row in inputs])
    torch.testing.assert_close(network(inputs), alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("lead", [(), (1,), (6,), (2, 3), (1, 2, 3)])
def test_leading_axes_are_folded_into_one_batch(lead, generator):
    network = make_network(Multilevel(levels=2), SMALL, generator).eval()
    inputs = SMALL.sample(6, generator)[: torch.Size(lead).numel()]
    values = network(inputs.reshape(*lead, SMALL.dim))
    assert values.shape == (*lead, 1)
    torch.testing.assert_close(values.reshape(-1, 1), network(inputs))


@pytest.mark.parametrize(
    ("architecture", "domain", "count"),
    [
        (Multilevel(), DOMAINS[0], 5404),
        (Multilevel(norm="none"), DOMAINS[0], 4804),
        (FeedForward(), DOMAINS[0], 6741),
        (FeedForward(norm="none"), DOMAINS[0], 6101),
        (Multilevel(factor=4), DOMAINS[2], 2_380_732),
        (FeedForward(factor=4), DOMAINS[2], 3_020_977),
    ],
)
def test_parameters_are_those_the_paper_counts(architecture, domain, count):
    network = Network(architecture, domain)
    assert network.parameter_count == count
    assert network.requires_grad_(False).parameter_count == count


def test_the_normalisation_follows_from_the_domain_and_is_not_stored(generator):
    assert not {"mean", "std"} & set(make_network(Multilevel(), SMALL, generator).state_dict())


def test_the_seed_determines_the_network():
    inputs = SMALL.sample(8, torch.Generator().manual_seed(1))
    first, again, other = (
        make_network(Multilevel(), SMALL, torch.Generator().manual_seed(s))(inputs)
        for s in (0, 0, 1)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute")  # torch.compile hides it itself
def test_compiled_layers_keep_names_and_values(generator):
    network = make_network(Multilevel(levels=2), SMALL, generator).eval()
    inputs, names = SMALL.sample(64, generator), list(network.state_dict())
    plain = network(inputs)
    network.compile_layers("cpu")
    torch.testing.assert_close(network(inputs), plain)
    assert list(network.state_dict()) == names


def test_a_network_does_not_see_the_order_of_exchangeable_entries(generator):
    box = Box(0, 1, shape=(3,))
    domain = Domain(x=box, t=Box(0, 1), s=box).exchanging("x", "s")
    network = make_network(Smooth(width=8, depth=1), domain, generator).double()
    inputs = domain.sample(20, generator, torch.float64).requires_grad_()
    swapped = inputs[:, [2, 0, 1, 3, 6, 4, 5]]
    torch.testing.assert_close(network(swapped), network(inputs), rtol=0, atol=0)
    slopes, moved = (torch.autograd.grad(network(v).sum(), inputs)[0] for v in (inputs, swapped))
    torch.testing.assert_close(moved, slopes)
    other = inputs[:, [2, 0, 1, 3, 4, 5, 6]]  # x alone
    assert (network(other) - network(inputs)).abs().min() > 0


def test_logarithms_have_zero_mean_and_unit_variance_and_their_slopes(generator):
    domain = Domain(x=Box(0.0, 1.0), t=LogUniform(0.02, 5.0), sigma=LogUniform(0.02, 2.0))
    network = Network(Smooth(log_ranges=True), domain).double()
    inputs = domain.sample(2**16, generator, torch.float64)
    seen = network.normalise(inputs)
    assert seen.mean(0).abs().max() < 0.03
    assert (seen.std(0) - 1).abs().max() < 0.03
    leaf = inputs[:8].clone().requires_grad_()
    (slopes,) = torch.autograd.grad(network.normalise(leaf).sum(), leaf)
    torch.testing.assert_close(
        slopes, 1 / network.slopes(inputs[:8], torch.ones_like(inputs[:8])), rtol=1e-5, atol=0
    )


def test_older_networks_see_what_they_saw():
    domain = Domain(x=Box(0.0, 1.0), t=Box(0.0, 1.0), sigma=LogUniform(0.02, 2.0))
    assert Network(Smooth(), domain).columns.logged == []
