"""The optimiser decides the objective; the fast ones set the network's output scale."""

from pathlib import Path

import pytest
import torch

import feynkac as fk
from feynkac.errors import InputError
from feynkac.families.catalogue import find_family
from feynkac.methods import Fast
from feynkac.methods.fast.sobolev import SobolevGradient, SobolevProjection
from feynkac.networks.network import make_network
from feynkac.networks.smooth import Smooth
from feynkac.sampling.noise.sobol import Sobol
from feynkac.training.objective import MeanSquare
from feynkac.training.optimisers.gauss_newton import GaussNewton
from feynkac.training.optimisers.muon import Muon
from feynkac.training.settings import Training

FAMILY = fk.BlackScholes()


def plan(optimiser, architecture=Smooth(width=8, depth=1), seed=0):  # noqa: B008  (frozen)
    choices = {"architecture": architecture, "optimiser": optimiser}
    method = Fast(**choices, scheme=fk.Exact(), noise=Sobol(), batch_size=32, paths=8)
    return method.resolve(FAMILY), Training(steps=5, seed=seed)


def fit(method, training, family=FAMILY):
    generator = torch.Generator().manual_seed(0)
    network = make_network(method.architecture, family.domain, generator)
    return method.objective(family, network, training), network


@pytest.mark.parametrize(
    ("optimiser", "kind"),
    [
        (fk.AdamW(), MeanSquare),
        (fk.SGD(), MeanSquare),
        (GaussNewton(), SobolevProjection),
        (Muon(), SobolevGradient),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_the_optimiser_decides_the_objective(optimiser, kind, generator):
    objective, _ = fit(*plan(optimiser))
    assert isinstance(objective, kind)
    batch = objective.sample(generator)
    assert (batch.inputs.shape, batch.values.shape) == ((32, 4), (32, 1))


@pytest.mark.parametrize(("optimiser", "most"), [(GaussNewton(), 10), (Muon(), 1000)])
def test_with_few_inputs_weights_of_slopes_are_levelled(optimiser, most):
    """Without that they differ by a factor of 26 for Bachelier's model."""
    objective, _ = fit(*plan(optimiser), fk.Bachelier())
    weights = objective.scales.weights
    ratio = float(weights.max() / weights.min())
    assert ratio <= most * (1 + 1e-5)
    assert (ratio > 10) == (most > 10)


@pytest.mark.parametrize("optimiser", [GaussNewton(), Muon()], ids=lambda o: o.kind)
@pytest.mark.parametrize("architecture", [fk.Multilevel(), fk.FeedForward()], ids=lambda a: a.kind)
def test_other_networks_than_smooth_ones_are_refused(optimiser, architecture):
    message = (
        f"the optimiser '{optimiser.kind}' fits Smooth networks, not '{architecture.kind}'; "
        r"give architecture=Smooth\(…\), or use AdamW"
    )
    with pytest.raises(InputError, match=message):
        fit(*plan(optimiser, architecture))
    with pytest.raises(InputError, match=message):
        fk.solve(FAMILY, steps=1, architecture=architecture, optimiser=optimiser)


@pytest.mark.parametrize("optimiser", [GaussNewton(), Muon()], ids=lambda o: o.kind)
def test_the_output_has_the_scale_of_the_solution(optimiser, generator):
    _, network = fit(*plan(optimiser))
    u = FAMILY.closed_form(*FAMILY.domain.split(FAMILY.domain.sample(50_000, generator)))
    assert network.shift.item() == pytest.approx(u.mean().item(), rel=0.05)
    assert network.scale.item() == pytest.approx(u.std().item(), rel=0.05)


def test_the_papers_objective_leaves_the_output_alone():
    _, network = fit(*plan(fk.AdamW()))
    assert (network.shift.item(), network.scale.item()) == (0.0, 1.0)


def test_the_seed_alone_determines_the_scales():
    (first, _), (again, _), (other, _) = (fit(*plan(Muon(), seed=seed)) for seed in (0, 0, 1))
    assert torch.equal(first.scales.weights, again.scales.weights)
    assert not torch.equal(first.scales.weights, other.scales.weights)


@pytest.mark.slow
def test_a_family_that_jumps_is_fitted_to_values_only():
    spec = f"{Path(__file__).parents[2] / 'digital_put.py'}:DigitalPut"
    solution = fk.solve(find_family(spec), method="fast", steps=150, evaluations=1, seed=0)
    errors = solution.error(20_000)
    assert errors.l1 < 0.001 < errors.linear_baseline / 10
