"""The Sobolev objective: its gradient is autograd's, its scales are those of the labels."""

import pytest
import torch

from feynkac.errors import NonFiniteError
from feynkac.families import BlackScholes, HeatParaboloid, Sampled
from feynkac.grids.table import grouped_inputs
from feynkac.methods.fast.path_data import PathData
from feynkac.methods.fast.scales import measure_scales
from feynkac.methods.fast.sobolev import SobolevGradient, SobolevProjection
from feynkac.networks.network import SHORTEST_TIME, make_network
from feynkac.networks.smooth import Smooth
from feynkac.sampling.labels import differential_labels, draw_paths
from feynkac.sampling.noise.noise import Antithetic, Independent
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.schemes.exact import Exact
from feynkac.training.checkpoint import load_checkpoint, save_checkpoint
from feynkac.training.loop import update
from feynkac.training.objective import Batch
from feynkac.training.optimisers.gauss_newton import GaussNewton
from feynkac.training.optimisers.muon import Muon
from feynkac.training.pace import Pace
from feynkac.training.schedules import LinearDecay
from feynkac.training.state import State

FAMILIES = [BlackScholes(), HeatParaboloid(2)]
each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name())


def make_data(family, batch_size=16, paths=8):
    return PathData(family, Exact(), Sobol(), batch_size, paths)


def make_smooth(family, generator, depth=2):
    return make_network(Smooth(width=9, depth=depth), family.domain, generator)


def literal_loss(network, batch, scales, family, slope_weight):
    """E (f − Y)² + (μ/p) Σ_j E ω_j² (∂_j f − ∂_j Y)² in normalised √t, inputs and outputs."""
    domain = family.domain
    inputs = batch.inputs.clone().requires_grad_()
    u = network(inputs)
    (gradient,) = torch.autograd.grad(u.sum(), inputs, create_graph=True)
    loss = ((u - batch.values) / network.scale).square().mean()
    for j in range(domain.dim):
        misfit = (gradient - batch.gradients)[:, j] * network.std[j] / network.scale
        if j == domain.slices()["t"].start:
            misfit = misfit * 2.0 * batch.inputs[:, j].sqrt()
        term = (scales.weights[j] * misfit).square().mean()
        loss = loss + slope_weight / domain.dim * term
    return loss


@each_family
@pytest.mark.parametrize("slope_weight", [0.0, 1.0, 2.5])
def test_the_gradient_is_autograds(family, slope_weight, generator):
    data = make_data(family)
    network = make_smooth(family, generator, depth=3).double()
    scales = measure_scales(data, network, generator)
    network.shift.fill_(0.7)
    network.scale.fill_(1.9)
    batch = Batch(*(part.double() for part in data.sample(generator)))

    objective = SobolevGradient(data, scales, slope_weight)
    found = objective.differentiate(network, batch, Muon().build(network))
    expected = literal_loss(network, batch, scales, family, slope_weight)
    gradients = torch.autograd.grad(expected, list(network.parameters()))

    torch.testing.assert_close(found, expected.detach(), rtol=1e-11, atol=0)
    for parameter, gradient in zip(network.parameters(), gradients, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-9, atol=1e-12)


@each_family
def test_both_objectives_measure_the_same_loss(family, generator):
    data = make_data(family)
    network = make_smooth(family, generator)
    scales = measure_scales(data, network, generator)
    batch = data.sample(generator)
    losses = [
        objective(data, scales).differentiate(network, batch, optimiser.build(network))
        for objective, optimiser in [(SobolevGradient, Muon()), (SobolevProjection, GaussNewton())]
    ]
    torch.testing.assert_close(*losses, rtol=1e-5, atol=0)


@each_family
def test_scales_are_those_of_the_solution(family, generator):
    domain, network = family.domain, make_smooth(family, generator)
    scales = measure_scales(make_data(family, 20_000, paths=256), network, generator)
    inputs = domain.sample(20_000, generator, torch.float64)
    point = domain.split(inputs)
    u, partials = family.closed_form(*point), family.closed_partials(*point)
    partials["t"] = partials["t"] * 2.0 * point.t.sqrt()
    slopes = torch.cat([partials[n].flatten(1) for n in domain.measures], 1) * network.std / u.std()
    rms = slopes.square().mean(0).sqrt()
    assert scales.shift.item() == pytest.approx(u.mean().item(), rel=0.02)
    assert scales.scale.item() == pytest.approx(u.std().item(), rel=0.02)
    torch.testing.assert_close(scales.weights.double(), 1.0 / rms, rtol=0.05, atol=0)


def test_the_smallest_slopes_can_be_lifted():
    """By half of the largest here, which lifts some and not all."""
    family = BlackScholes()
    network = make_smooth(family, torch.Generator().manual_seed(0))
    data = make_data(family, 2000, paths=16)
    plain, lifted = (
        1.0 / measure_scales(data, network, torch.Generator().manual_seed(1), least).weights
        for least in (1e-3, 0.5)
    )
    assert 0 < (plain < 0.5 * plain.max()).sum() < len(plain)
    torch.testing.assert_close(lifted, plain.clamp_min(0.5 * plain.max()))


def test_labels_of_the_slope_in_root_time_stay_bounded_towards_zero(generator):
    """At the kink the pathwise ∂Y/∂t varies like 1/√t; in normalised √t it does not."""
    family, network = BlackScholes(), make_smooth(BlackScholes(), generator)
    spreads = []
    for t in (1.0, 1e-6):
        inputs = torch.tensor([[10.0, t, 0.3, 10.0]]).expand(4000, -1)
        draw = draw_paths(family, Exact(), Independent(), inputs, 1, generator)
        _, slopes = differential_labels(family, Exact(), inputs, draw)
        spreads.append([s[:, 1].std() for s in (slopes, network.slopes(inputs, slopes))])
    (raw, normalised), (raw_early, normalised_early) = spreads
    assert raw_early > 300 * raw
    assert 0.5 * normalised < normalised_early < 2 * normalised


def test_no_input_is_at_time_zero(generator):
    """There the slope in √t has no label; a millionth of the longest time is the shortest."""

    def zero_or_four(count, _generator, dtype):
        return 4.0 * (torch.arange(count) % 2).to(dtype)

    family = BlackScholes().on(t=Sampled(zero_or_four, 0.0, 4.0))
    inputs = make_data(family).inputs(8, generator)
    assert inputs[:, family.domain.slices()["t"]].unique().tolist() == pytest.approx([4e-6, 4.0])
    table = grouped_inputs(family.domain, 8, 4, generator)
    assert table[..., family.domain.slices()["t"]].unique().tolist() == pytest.approx([4e-6, 4.0])


def test_samples_are_finite_labels_inside_the_domain(generator):
    family = BlackScholes()
    batch = PathData(family, Exact(), Antithetic(), 5000, 4).sample(generator)
    assert family.domain.contains(batch.inputs).all()
    assert batch.inputs[:, 1].min() >= SHORTEST_TIME
    assert all(part.isfinite().all() for part in batch)
    assert (batch.values.shape, batch.gradients.shape) == ((5000, 1), (5000, 4))


FAMILY = BlackScholes()
KINDS = [(SobolevProjection, GaussNewton()), (SobolevGradient, Muon())]


def fresh_state(optimiser, seed=0):
    architecture = Smooth(width=8, depth=2)
    network = make_network(architecture, FAMILY.domain, torch.Generator().manual_seed(seed))
    return State(network, optimiser.build(network), torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(("kind", "optimiser"), KINDS, ids=lambda kind: getattr(kind, "kind", ""))
def test_six_steps_equal_three_a_file_and_three(kind, optimiser, tmp_path):
    data = make_data(FAMILY)
    network = fresh_state(optimiser).network
    objective = kind(data, measure_scales(data, network, torch.Generator().manual_seed(1)))
    schedule = LinearDecay(warmup=2, hold=0.5)

    def rate(step, done):
        return schedule.rate(optimiser.learning_rate, step, done)

    def advance(state, steps):
        losses = [update(state, objective, FAMILY.domain, rate, Pace.of(6)) for _ in range(steps)]
        return state, losses

    whole, losses = advance(fresh_state(optimiser), 6)
    save_checkpoint(advance(fresh_state(optimiser), 3)[0], tmp_path / "c", "run")
    resumed = fresh_state(optimiser, seed=99)  # every number must come from the file
    load_checkpoint(resumed, tmp_path / "c", "run")
    _, later = advance(resumed, 3)

    first, second = resumed.tensors(), whole.tensors()
    assert first.keys() == second.keys()
    assert [k for k in first if not torch.equal(first[k], second[k])] == []
    assert later == losses[3:]


class Constant(BlackScholes):
    """Nothing depends on anything."""

    def initial(self, x, p):
        return torch.full_like(x, 2.0)


class Broken(BlackScholes):
    """NaN where the asset has fallen below 9."""

    def initial(self, x, p):
        return torch.where(x < 9.0, torch.nan, x)


def test_a_constant_solution_has_finite_scales(generator):
    network = make_smooth(FAMILY, generator)
    scales = measure_scales(PathData(Constant(), Exact(), Antithetic(), 64, 4), network, generator)
    assert scales.shift == 2.0
    assert scales.scale > 0
    assert scales.weights.isfinite().all()


def test_a_nan_before_training_is_named(generator):
    network = make_smooth(FAMILY, generator)
    with pytest.raises(
        NonFiniteError, match=r"before training: a NaN .* simulated paths, first at x="
    ):
        measure_scales(PathData(Broken(), Exact(), Antithetic(), 64, 4), network, generator)
