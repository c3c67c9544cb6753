"""One row of the zoo: its errors are those of Eq. (9) and of the scale of u."""

from types import SimpleNamespace

import pytest
import torch

from feynkac.benchmarks.zoo_members import choose_members
from feynkac.benchmarks.zoo_row import errors, peak_memory, stages
from feynkac.sampling.reference import Estimate


def test_errors_are_relative_to_the_size_and_to_the_spread_of_u():
    inputs = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)
    known = Estimate(torch.tensor([[1.0], [3.0], [5.0]]).double(), torch.zeros(3, 1).double())
    off = torch.tensor([[0.2], [-0.4], [0.0]])
    solution = SimpleNamespace(network=lambda x: 2.0 * x - 1.0 + off)
    found = errors(solution, inputs, known)
    assert found["l1"] == pytest.approx((0.1 + 0.1 + 0.0) / 3)
    assert found["relative"] == pytest.approx(0.2 / 2.0)
    assert found["largest"] == pytest.approx(0.1)
    assert found["mean_baseline"] == pytest.approx((2 / 2 + 0 + 2 / 6) / 3)
    assert (found["reference_se"], found["measured_on"]) == (0.0, 3)


def test_peak_memory_grows_with_what_is_allocated():
    before = peak_memory()
    kept = torch.ones(2**25)
    grown = peak_memory() - before
    assert kept.numel() * 4 / 2**20 == 128
    assert 0.0 <= grown < 512.0
    assert before > 50.0


@pytest.mark.slow
def test_a_member_is_solved_measured_and_checked():
    (member,) = choose_members(["vasicek-bond"])
    found = {}
    for stage in stages(member, budget=5.0, seed=0):
        found |= stage
    assert found["l1"] < found["mean_baseline"] / 5.0
    assert found["steps"] > 0
    assert 1.0 < found["seconds"] < 15.0
    assert found["measured_on"] == 1024
    assert "error" not in found
    assert isinstance(found["alarms"], list)
