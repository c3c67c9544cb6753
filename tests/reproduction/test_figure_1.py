"""Figure 1: means of the targets are those of the solution map; paths of the right law."""

import torch

from feynkac.benchmarks.store import Store
from feynkac.reproduction.figure_1 import (
    BINS,
    binned,
    draw_sample,
    run,
    simulate_path,
)
from feynkac.reproduction.settings import Settings


def test_means_of_targets_are_those_of_the_solution(generator):
    rows = binned(draw_sample(2**16, generator))
    assert len(rows) == BINS
    assert sum(row["samples"] for row in rows) == 2**16
    for row in rows:
        assert abs(row["target"] - row["solution"]) < 4.5 * row["target_se"]
        assert row["low"] <= row["solution"] <= row["high"]
    assert rows[0]["high"] <= rows[1]["low"]


def test_paths_start_at_x_end_at_t_and_have_the_variance_of_the_model(generator):
    at = torch.tensor([9.5, 0.5, 0.3, 11.0], dtype=torch.float64)
    paths = [simulate_path(at, generator) for _ in range(400)]
    times, states = paths[0]
    assert (times[0], times[-1], states[0]) == (0.0, 0.5, 9.5)
    ends = torch.stack([(states[-1] / 9.5).log() for _, states in paths])
    assert abs(ends.mean() + 0.3**2 * 0.25) < 4 * ends.std() / 20
    assert abs(ends.std() / (0.3 * 0.5**0.5) - 1) < 0.15


def test_the_page_says_that_the_papers_is_a_drawing(tmp_path):
    result = run(Settings(Store(tmp_path)))
    assert "has no numbers to reproduce" in result.notes[0]
    assert len(result.rows) == BINS
    assert len([a for a in result.figure.axes if a.get_title()]) == 3
