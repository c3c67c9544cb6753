"""Paths follow the clock: doubled or halved at most so often, and nothing else is changed."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest
import torch

from feynkac.families import BlackScholes
from feynkac.methods.fast.choose_paths import MOST_DOUBLINGS, choose_paths
from feynkac.methods.fast.path_data import PathData
from feynkac.methods.fast.scales import measure_scales
from feynkac.methods.fast.sobolev import SobolevGradient, SobolevProjection
from feynkac.networks.network import make_network
from feynkac.networks.smooth import Smooth
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.schemes.exact import Exact
from feynkac.training.objective import MeanSquare, Objective
from feynkac.training.optimisers.gauss_newton import GaussNewton
from feynkac.training.optimisers.muon import Muon
from feynkac.training.optimisers.optimiser import SGD, AdamW
from feynkac.training.state import State

FAMILY = BlackScholes()
OBJECTIVE = MeanSquare(FAMILY, Exact(), batch_size=8)
UPDATE = 1.0  # seconds of a clock that goes as far as it is told
MOST = 2**MOST_DOUBLINGS


@dataclass(frozen=True)
class Timed(Objective):
    """A path takes `seconds`, all of them `overhead` more, an update `UPDATE`."""

    clock: SimpleNamespace
    seconds: float
    paths: int = 1
    overhead: float = 0.0

    def sample(self, generator):
        self.clock.now += self.overhead + self.paths * self.seconds
        return OBJECTIVE.sample(generator)

    def with_paths(self, paths):
        return replace(self, paths=paths)

    def differentiate(self, network, batch, optimiser):
        self.clock.now += UPDATE
        return OBJECTIVE.differentiate(network, batch, optimiser)


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=0.0)
    timing = SimpleNamespace(perf_counter=lambda: clock.now)
    monkeypatch.setattr("feynkac.methods.fast.choose_paths.time", timing)
    return clock


def fresh_state(optimiser):
    generator = torch.Generator().manual_seed(0)
    network = make_network(Smooth(width=8, depth=2), FAMILY.domain, generator)
    return State(network, optimiser.build(network), generator)


def assert_same(first, second):
    assert first.keys() == second.keys()
    assert [k for k in first if not torch.equal(first[k], second[k])] == []


@pytest.mark.parametrize(
    ("ratio", "paths", "chosen"),
    [  # ratio: of the time of `paths` paths to that of an update
        (0.05, 16, 16 * MOST),
        (0.38, 16, 32),
        (1.0, 16, 16),
        (2.0, 16, 16),
        (7.0, 16, 8),
        (20.0, 16, 16 // MOST),
        (20.0, 3, 1),
        (20.0, 1, 1),
    ],
)
def test_paths_balance_simulation_and_network(ratio, paths, chosen, clock):
    objective = Timed(clock, ratio * UPDATE / paths)
    assert choose_paths(objective, fresh_state(AdamW()), paths) == chosen


@pytest.mark.parametrize(
    ("ratio", "overhead", "chosen"), [(10.0, 0.0, 4), (10.0, 5.0, 16), (2.0, 6.0, 32)]
)
def test_what_a_simulation_costs_anyway_is_no_reason_for_fewer_paths(
    ratio, overhead, chosen, clock
):
    objective = Timed(clock, ratio * UPDATE / 16, overhead=overhead * UPDATE)
    assert choose_paths(objective, fresh_state(AdamW()), 16) == chosen


def advance(state, objective):
    """One step, so that there are moments to keep."""
    objective.differentiate(state.network, objective.sample(state.generator), state.optimiser)
    state.optimiser.step()


@pytest.mark.parametrize("steps", [0, 1])
@pytest.mark.parametrize(
    ("kind", "optimiser"),
    [
        (None, AdamW()),
        (None, SGD()),
        (SobolevGradient, Muon()),
        (SobolevProjection, GaussNewton()),
    ],
    ids=["adamw", "sgd", "muon", "gauss-newton"],
)
def test_the_state_is_left_to_the_bit(kind, optimiser, steps):
    state, objective = fresh_state(optimiser), OBJECTIVE
    if kind is not None:
        data = PathData(FAMILY, Exact(), Sobol(), 8, 8)
        pilot = torch.Generator().manual_seed(1)
        objective = kind(data, measure_scales(data, state.network, pilot))
    for _ in range(steps):
        advance(state, objective)
    before = state.tensors()
    paths = choose_paths(objective, state, 8)
    assert 8 // MOST <= paths <= 8 * MOST
    assert_same(state.tensors(), before)
    assert (state.step, state.seconds, state.history) == (0, 0.0, [])
