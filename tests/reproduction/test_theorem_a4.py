"""Theorem A.4 as a table: layers, neurons, parameters and errors as the theorem says."""

import json

import pytest
import torch

from feynkac.benchmarks.store import Store
from feynkac.reproduction import theorem_a4
from feynkac.reproduction.relu_calculus import ReluNetwork, affine
from feynkac.reproduction.relu_gaussian import Plan, Reach, gaussian
from feynkac.reproduction.result import FULL
from feynkac.reproduction.settings import Settings
from feynkac.reproduction.theorem_a4 import (
    choose_points,
    examine,
    largest_parameter,
    measure,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.setattr(theorem_a4, "DIMS", (1, 3))
    monkeypatch.setattr(theorem_a4, "TOLERANCES", (0.1, 0.01))
    monkeypatch.setattr(theorem_a4, "POINTS", 32)
    return Settings(Store(tmp_path))


def test_the_table_has_all_networks(settings):
    result = theorem_a4.run(settings)
    assert result.scale == FULL
    assert {len(row) for row in result.rows} == {len(result.columns)}
    assert [row[:3] for row in result.rows[:2]] == [
        ("paper's", "1", "0.1"),
        ("paper's", "1", "0.01"),
    ]
    assert len(result.rows) == 2 * 2 * 2
    assert "they are all at most ε" in result.notes[0]
    json.dumps(result.data, allow_nan=False)
    assert len(result.figure.axes) == 2


def test_neurons_grow_linearly_and_parameters_do_not_grow():
    reach = Reach(1.0, 1.0)
    few, many = (gaussian(dim, reach, Plan(4, 3, 4)) for dim in (4, 16))
    widths = [max(layer.weight.shape[0] for layer in chain) for chain in (few, many)]
    assert widths[1] - 1 == 4 * (widths[0] - 1)
    assert largest_parameter(few) == largest_parameter(many)
    assert len(many) - len(few) == 2 * (4 + 2)  # two levels of the tree: product and clip


def test_layers_grow_no_faster_than_the_square_of_the_logarithm():
    records = [examine(2, Reach(1.0, 1.0), eps, 1) for eps in (1e-1, 1e-2, 1e-4)]
    ratios = [r["layers"] / theorem_a4._logarithm(r) ** 2 for r in records]
    assert ratios == sorted(ratios, reverse=True)


def test_a_broken_guarantee_is_said(settings, monkeypatch):
    monkeypatch.setattr(theorem_a4, "plan_for", lambda *_: Plan(2, 1, 1))
    assert "they are NOT all at most ε" in theorem_a4.run(settings).notes[0]


def test_a_second_call_computes_nothing(settings, monkeypatch):
    first = theorem_a4.run(settings)
    monkeypatch.setattr(theorem_a4, "examine", lambda *_: pytest.fail("computed again"))
    assert theorem_a4.run(settings).rows == first.rows


def test_points_are_of_three_kinds_and_in_the_domain(generator):
    points = choose_points(3, Reach(0.5, 0.25), 50, generator)
    random, rays, corners = points.split(50)
    assert points[:, :3].abs().max() <= 0.5
    assert points[:, 3:].min() >= 0.0
    assert points[:, 4].max() <= 0.25
    assert set(corners[:, :3].flatten().tolist()) == {-0.5, 0.5}
    assert set(corners[:, 4].tolist()) == {0.0, 0.25}
    assert rays[:, :3].norm(dim=-1).mean() < 0.7 * random[:, :3].norm(dim=-1).mean()


def test_the_measured_error_is_that_of_the_closed_form():
    """A network that is constantly 0 is off by ū, which is 1 at x = 0, t = 0."""
    zero = ReluNetwork(affine([[0.0] * 4]))
    assert measure(zero, torch.zeros(300, 4, dtype=torch.float64)) == 1.0
