"""What a simulated reference takes: the quietest noise, a fixed size, or what fits into seconds."""

import pytest
import torch

from feynkac.families import BasketPut, HeatParaboloid, Heston, MultiAsset, Payoff
from feynkac.sampling import reference_size
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.noise.trapezoid import Trapezoid
from feynkac.sampling.reference_size import (
    FEWEST_INPUTS,
    FEWEST_PATHS,
    REPLICATES,
    TRAPEZOID_NODES,
    fixed_size,
    paths_of,
    quietest_noise,
    timed_size,
)
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.family_steps import FamilySteps
from feynkac.sampling.schemes.log_ode import LogOde


@pytest.mark.parametrize(
    ("family", "scheme", "kind"),
    [
        (BasketPut(2), LogOde(2), "sobol"),
        (HeatParaboloid(3), Exact(), "spherical-radial"),
        (Heston(), FamilySteps(1), "trapezoid"),
        (MultiAsset(3, Payoff("put")), Exact(), "stretched"),
    ],
)
def test_a_pilot_finds_the_quietest_noise(family, scheme, kind):
    assert quietest_noise(family, scheme).kind == kind


def test_the_trapezoidal_rule_takes_few_nodes():
    assert paths_of(Trapezoid(), 2**11) == TRAPEZOID_NODES
    assert paths_of(Sobol(), 2**11) == 2**11


def test_a_fixed_effort_falls_with_the_normals_of_a_path(monkeypatch):
    monkeypatch.setattr(reference_size, "NORMALS", 2**27)
    sizes = [fixed_size(BasketPut(), EulerMaruyama(steps)) for steps in (1, 25, 400)]
    assert sizes == [(512, 1024), (128, 512), (32, 128)]


class Clock:
    """Stands in for `time` and `replicated`: a path takes a microsecond, compiling a second."""

    def __init__(self, each_call=0.0):
        self.now, self.shapes, self.each_call = 0.0, set(), each_call

    def perf_counter(self):
        return self.now

    def replicated(self, family, scheme, noise, inputs, paths, generator, replicates):
        self.now += 1e-6 * len(inputs) * paths * replicates + (paths not in self.shapes)
        self.now += self.each_call
        self.shapes.add(paths)


@pytest.mark.parametrize("seconds", [1e-6, 0.5, 8.0, 40.0])
def test_a_timed_effort_fits_into_its_seconds(monkeypatch, seconds):
    clock = Clock()
    monkeypatch.setattr(reference_size, "time", clock)
    monkeypatch.setattr(reference_size, "replicated", clock.replicated)
    found = timed_size(BasketPut(2), LogOde(2), Sobol(), seconds, torch.Generator())
    cost = 1e-6 * REPLICATES * found.inputs * found.paths
    assert cost <= max(seconds, 1e-6 * REPLICATES * FEWEST_INPUTS * FEWEST_PATHS)
    if seconds >= 8.0:  # of which compiling takes up to four
        assert cost > 0.1 * seconds
    assert found.paths >= found.inputs or found == (FEWEST_INPUTS, FEWEST_PATHS)


def test_what_a_call_costs_whatever_its_paths_is_not_taken_for_their_cost(monkeypatch):
    clock = Clock(each_call=0.1)
    clock.shapes = {16, 64, 256, 1024, 2048}
    monkeypatch.setattr(reference_size, "time", clock)
    monkeypatch.setattr(reference_size, "replicated", clock.replicated)
    found = timed_size(BasketPut(2), LogOde(2), Sobol(), 4.0, torch.Generator())
    assert found.inputs * found.paths > 2**13


def test_a_longer_reference_is_a_larger_one():
    small, large = (
        timed_size(BasketPut(2), LogOde(2), Sobol(), seconds, torch.Generator())
        for seconds in (1e-6, 5.0)
    )
    assert small == (FEWEST_INPUTS, FEWEST_PATHS)
    assert large.inputs * large.paths >= 4 * small.inputs * small.paths
