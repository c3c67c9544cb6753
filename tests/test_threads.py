"""The choice between one thread and all."""

import pytest
import torch

from feynkac import threads
from feynkac.threads import calm_threads, faster_threads, using_threads


@pytest.fixture
def two_threads():
    with using_threads(2):
        yield


@pytest.mark.parametrize(
    ("alone", "together", "chosen"), [(1.0, 2.0, 1), (2.0, 1.0, 2), (0.95, 1.0, 2)]
)
def test_the_faster_number_of_threads_is_chosen(two_threads, alone, together, chosen):
    times = {1: alone, 2: together}
    found = faster_threads(lambda: times[torch.get_num_threads()], enough=100.0)
    assert found == (chosen, times[chosen])
    assert torch.get_num_threads() == 2


def test_little_time_means_few_trials(two_threads):
    calls = []

    def seconds():
        calls.append(torch.get_num_threads())
        return 1.0

    faster_threads(seconds, enough=0.0)
    assert sorted(calls) == [1, 2]


@pytest.mark.parametrize("late", [1, 2])
def test_threads_that_wait_for_each_other_are_found_within_a_second(two_threads, monkeypatch, late):
    """A clock on which an operation of `late` threads takes ten times as long."""

    class Clock:
        now = 0.0

        def perf_counter(self):
            self.now += 1e-3 * (10 if torch.get_num_threads() == late else 1)
            return self.now

    monkeypatch.setattr(threads, "time", Clock())
    assert calm_threads() == 3 - late
    assert torch.get_num_threads() == 2
