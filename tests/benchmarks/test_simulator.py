"""The simulator's benchmark compares two ways to compute the same numbers."""

from pathlib import Path

import pytest

from feynkac.user_files import import_file

simulator = import_file(f"{Path(__file__).parents[2]}/benchmarks/simulator.py")


@pytest.mark.parametrize("row", simulator.ROWS, ids=lambda row: f"{row.member}-{row.hand.__name__}")
def test_a_loop_by_hand_gives_the_same_numbers(row):
    assert simulator.difference(row) < 1e-12


def test_a_record_has_both_ratios():
    row = simulator.measure(simulator.ROWS[0], inputs=2, paths=4, rounds=1)
    assert row["values_ratio"] == row["values_ns"] / row["values_hand_ns"]
    assert row["slopes_ratio"] == row["slopes_ns"] / row["slopes_hand_ns"]
    assert f"| {row['family']} | EulerMaruyama, 16 steps |" in simulator.table([row])
