"""Theorem 3 as a table: what is seen is within what is guaranteed, and that is within ε."""

import json

import pytest
import torch

from feynkac.benchmarks.store import Store
from feynkac.families.models.heat_paraboloid import HeatParaboloid
from feynkac.reproduction import theorem_3
from feynkac.reproduction.relu_calculus import ReluNetwork
from feynkac.reproduction.relu_paraboloid import guarantee, paraboloid
from feynkac.reproduction.result import FULL
from feynkac.reproduction.settings import Settings
from feynkac.reproduction.theorem_3 import (
    breakpoint_gap,
    choose_points,
    examine,
    measure,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.setattr(theorem_3, "DIMS", (1, 2, 3))
    monkeypatch.setattr(theorem_3, "TOLERANCES", (0.1, 0.01))
    monkeypatch.setattr(theorem_3, "POINTS", 64)
    return Settings(Store(tmp_path))


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("eps", [0.1, 1e-4])
def test_what_is_seen_is_guaranteed_and_that_is_within_eps(dim, eps):
    record = examine(dim, eps, points=256)
    for name, seen in record["measured"].items():
        assert 0.5 * record["guaranteed"][name] < seen <= record["guaranteed"][name] <= eps


def test_a_network_with_a_level_less_is_found_out():
    """So that the guarantee is not met by chance."""
    points = choose_points(3, 8, 256, torch.Generator().manual_seed(1))
    seen = measure(ReluNetwork(paraboloid(3, 7)), HeatParaboloid(dim=3), points)
    assert seen["gradient"] > guarantee(3, 8).gradient
    assert seen["value"] > guarantee(3, 8).value


@pytest.mark.parametrize("dim", [1, 3])
def test_points_are_of_three_kinds_and_in_the_domain(dim, generator):
    domain, levels, count = HeatParaboloid(dim=dim).domain, 6, 40
    points = choose_points(dim, levels, count, generator)
    assert points.shape == (3 * count, domain.dim)
    assert domain.contains(points).all()
    _, corners, worst = points.split(count)
    low = domain.split(corners).t.flatten() < 0.5
    assert 0 < low.sum() < count
    assert domain.split(corners).p.sigma.sub(0.5).abs().min() > 0.49
    for values in (worst[:, :dim], worst[:, dim + 1 :]):
        assert torch.equal(values, values[:, :1].expand_as(values))
    offsets = (worst[:, dim] * 2**levels).frac()
    assert {round(v, 6) for v in offsets.tolist()} == {0.01, 0.5, 0.99}


@pytest.mark.parametrize("levels", [1, 4, 12])
def test_the_square_has_no_gap_at_its_breakpoints(levels):
    assert breakpoint_gap(levels) == 0.0


def test_the_table_has_all_sizes_and_the_exponents(settings):
    result = theorem_3.run(settings)
    assert result.scale == FULL
    assert {len(row) for row in result.rows} == {len(result.columns)}
    assert [row[:2] for row in result.rows[:3]] == [("1", "0.1"), ("1", "0.01"), ("2", "0.1")]
    assert [row[0] for row in result.rows[6:]] == ["exponent of d"] * 2
    nonzero, dense, published = (float(cell) for cell in result.rows[-1][3:6])
    assert nonzero < 2.3 < 3.3 < dense < published
    assert "They are all ≤ ε." in result.notes[0]
    json.dumps(result.data, allow_nan=False)
    assert not any("|" in column for column in result.columns)


def test_a_broken_guarantee_is_said(settings, monkeypatch):
    monkeypatch.setattr(theorem_3, "levels_for", lambda _dim, _eps: 2)
    assert "They are NOT all ≤ ε." in theorem_3.run(settings).notes[0]


def test_a_second_call_computes_nothing(settings, monkeypatch):
    first = theorem_3.run(settings)
    for name in ("examine", "breakpoint_gap"):
        monkeypatch.setattr(theorem_3, name, lambda *_: pytest.fail("computed again"))
    assert theorem_3.run(settings).rows == first.rows


def test_the_figure_has_sizes_and_errors(settings):
    sizes, errors = theorem_3.run(settings).figure.axes
    assert sizes.get_xscale() == sizes.get_yscale() == errors.get_xscale() == "log"
    anchored = [line for line in sizes.lines if line.get_linestyle() == ":"]
    counted = [
        line for line in sizes.lines if line.get_linestyle() == "-" and len(line.get_xdata())
    ]
    for bound, count in zip(anchored, counted, strict=False):
        assert bound.get_ydata()[0] == pytest.approx(count.get_ydata()[0])
