"""Every analysis on every family of the catalogue, with a network that is not trained."""

import dataclasses

import pytest
import torch

import feynkac as fk
from feynkac.analysis.candidates import candidates
from feynkac.families.capabilities import NamedGreeks
from feynkac.families.catalogue import BUILT_IN, find_family
from feynkac.methods import Fast
from feynkac.methods.fast.choose_scheme import suitable_scheme
from feynkac.networks.network import make_network
from feynkac.runs.artifact import make_manifest
from feynkac.runs.run import Run, record_family
from feynkac.sampling.noise.sobol import Sobol
from feynkac.training.settings import Training

SMALL = fk.Smooth(width=8, depth=1, products=4)
QUICK = fk.Effort(seconds=0.05, aim=0.05, most_paths=2**13)

ALWAYS = {"black-scholes", "basket-put", "heat-gaussian", "heston", "barrier", "channel", "vasicek"}
FAMILIES = [
    pytest.param(name, marks=[] if name in ALWAYS else pytest.mark.slow) for name in BUILT_IN
]


@pytest.fixture(scope="module", params=FAMILIES)
def solution(request):
    cls = BUILT_IN[request.param]
    small = {"dim": 2} if "dim" in {f.name for f in dataclasses.fields(cls)} else {}
    family = find_family(request.param, small)
    network = make_network(SMALL, family.domain, torch.Generator().manual_seed(0)).eval()
    method = Fast(architecture=SMALL, scheme=suitable_scheme(family), noise=Sobol())
    run = Run(record_family(family), method, Training(steps=1))
    record = {"step": 1, "l1": 0.5, "l2": 0.6}
    manifest = make_manifest(
        run,
        family.domain,
        steps=1,
        seconds=1.0,
        parameters=network.parameter_count,
        history=[record],
    )
    return fk.Solution(family, network.requires_grad_(False), manifest)


@pytest.fixture(scope="module")
def inputs(solution):
    return solution.family.domain.sample(2, torch.Generator().manual_seed(0), torch.float64)


@pytest.fixture(scope="module")
def at(solution, inputs):
    measures, where = solution.family.domain.measures, solution.family.domain.slices()
    return {n: inputs[:, where[n]].reshape(2, *m.shape) for n, m in measures.items()}


def test_values_and_derivatives(solution, at):
    assert solution(**at).shape == (2,)
    for name, measure in solution.family.domain.measures.items():
        assert solution.grad(name, **at).isfinite().all()
        if measure.size == 1:
            assert solution.hessian(name, "t", **at).isfinite().all()
    named = solution.greeks(**at)
    assert bool(named) == isinstance(solution.family, NamedGreeks)
    assert all(value.isfinite().all() for value in named.values())


def test_errors_and_their_map(solution):
    found = solution.error(8, paths=64)
    assert found.inputs == 8
    assert found.l1 > 0.0
    drawn = solution.error_map(3, effort=QUICK)
    assert drawn.inputs == 3
    assert drawn.mean.value > 0.0


@pytest.mark.parametrize("tolerance", [None, 0.1])
def test_certificates(solution, at, inputs, tolerance):
    found = solution.certify(tolerance=tolerance, effort=QUICK, **at)
    assert found.value.isfinite().all()
    assert (found.half_width > 0.0).all()
    assert found.half_width.isfinite().all()
    assert (found.paths > 0).all()
    assert len(found.record()) == 2
    if isinstance(solution.family, fk.ClosedForm):
        truth = solution.family.closed_form(*solution.family.domain.split(inputs)).squeeze(-1)
        assert ((found.value - truth).abs() < 4.0 * found.half_width).all()


def test_a_controlled_certificate(solution, inputs):
    """The solution itself as control: a bad one, but it must do no harm."""
    control = solution.as_control()._replace(error=0.5)
    (rule,) = candidates(
        solution.family, solution.manifest.run.method.scheme, Sobol(), control, 4, 0
    )[-1]
    assert rule.name.endswith("control")
    found = rule.replicates(inputs, 64, 8, torch.Generator().manual_seed(1))
    plain = solution.certify(inputs, effort=QUICK)
    spread = (found.value.var(0) / 8 + plain.se.square()).sqrt()
    allowed = 6.0 * spread + plain.discretisation + found.gap.mean(0).abs()
    assert ((found.value.mean(0) - plain.value).abs() < allowed).all()


def test_calibration_and_uncertainty(solution, at):
    scalars = [n for n, m in solution.family.domain.measures.items() if m.size == 1]
    free = scalars[-1]
    known = {name: value for name, value in at.items() if name != free}
    problem = solution.observe([free], solution(**at), noise=0.1, **known)
    assert solution.calibrate(problem).rms >= 0.0
    assert solution.uncertainty(samples=64).samples == 64
