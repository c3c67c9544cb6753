"""Figure 2: the traced connections are those of the paper's definition."""

import pytest

from feynkac.benchmarks.store import Store
from feynkac.networks.multilevel import Multilevel
from feynkac.reproduction.figure_2 import Spot, residuals, run, trace
from feynkac.reproduction.settings import Settings


def defined(levels):
    """(l+1, 2i − 2) → (l, i) for i ≥ 2, l ≤ L − 2 (paper, Section A.2)."""
    return {
        (Spot(level + 1, 2 * i - 2), Spot(level, i))
        for level in range(levels - 1)
        for i in range(2, 2**level + 1)
    }


@pytest.mark.parametrize("levels", [1, 3, 4])
def test_residuals_are_those_of_the_definition(levels):
    wiring = trace(Multilevel(levels=levels, factor=3).build(4))
    assert set(residuals(wiring)) == defined(levels)
    chains = {(a, b) for a, b in wiring.edges if a.level == b.level}
    assert chains == {
        (Spot(level, i - 1), Spot(level, i))
        for level in range(levels)
        for i in range(1, 2**level + 1)
    }
    assert set(wiring.outputs) == {Spot(level, 2**level) for level in range(levels)}


def test_without_residuals_the_levels_are_apart():
    assert residuals(trace(Multilevel(levels=3, residual=False).build(2))) == []


def test_the_table_counts_the_networks_layers_and_parameters(tmp_path):
    result = run(Settings(Store(tmp_path)))
    assert [row[:4] for row in result.rows] == [
        ("0", "1", "12", "0"),
        ("1", "2", "12", "1"),
        ("2", "4", "12", "3"),
        ("3", "8", "12", "0"),
    ]
    network = Multilevel(levels=4, factor=3).build(4)
    total = sum(p.numel() for p in network.parameters())
    assert sum(int(row[4].replace(",", "")) for row in result.rows) == total
    assert "schematic" in result.notes[0]


def test_every_layer_and_connection_is_drawn(tmp_path):
    result = run(Settings(Store(tmp_path)))
    (axes,) = result.figure.axes
    drawn = [text.get_text() for text in axes.texts if text.get_text().startswith("$A")]
    assert len(drawn) == len(set(drawn)) == 15 + 4
    arrows = [text for text in axes.texts if text.get_text() == ""]
    assert len(arrows) == len(result.data["edges"]) + 4 + 4
