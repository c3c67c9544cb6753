"""What is found out about a family is found once."""

import functools
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch

import feynkac as fk
from feynkac.families.evaluating import equal, once_per_family


@dataclass(frozen=True)
class Listed(fk.Family):
    """A family with a list among its fields cannot be hashed."""

    levels: list[float] = field(default_factory=lambda: [1.0])

    @property
    def domain(self) -> fk.Domain:
        return fk.Domain(x=fk.Box(0, 1), t=fk.Box(0, 1))

    def drift(self, x, p):
        return 0.0 * x

    def diffusion(self, x, dw, p):
        return dw

    def initial(self, x, p):
        return x


def counted():
    calls = []

    @once_per_family
    def find(family, count):
        calls.append(family)
        return count

    return find, calls


def test_equal_families_are_examined_once_per_argument():
    find, calls = counted()
    assert [find(fk.BlackScholes(), n) for n in (1, 1, 2)] == [1, 1, 2]
    assert len(calls) == 2


def test_a_family_that_cannot_be_remembered_is_examined_every_time():
    find, calls = counted()
    assert find(Listed(), 3) == find(Listed(), 3) == 3
    assert len(calls) == 2


def test_equal_is_relative_to_the_largest_value_of_a_row():
    a = torch.tensor([[1e6, 0.0]], dtype=torch.float64)
    assert equal(a, a + 1e-4)
    assert not equal(a, a + 1e-2)
    rows = torch.tensor([[1e6], [2.0], [3.0]], dtype=torch.float64)
    assert not equal(rows, rows + torch.tensor([[0.0], [1e-4], [0.0]], dtype=torch.float64))
    assert not equal(rows, torch.full_like(rows, torch.nan))


CURVE, PULL = np.array([1.0]), functools.partial(torch.mul, 2.0)


class Schedule:
    """Holds a number that formulas read."""

    rate = 1.0


SCHEDULE = Schedule()
SCHEDULE.rate = 1.0


@dataclass(frozen=True)
class Reading(Listed):
    """Its drift reads an array, a partial function, an object and an attribute of its class."""

    levels: float = 1.0
    speed = 1.0

    def drift(self, x, p):
        return PULL(x) * CURVE[0] * SCHEDULE.rate * self.speed


@pytest.mark.parametrize(
    "change",
    [
        lambda patch: patch.setitem(globals(), "CURVE", np.array([2.0])),
        lambda patch: patch.setitem(globals(), "PULL", functools.partial(torch.mul, 3.0)),
        lambda patch: patch.setattr(SCHEDULE, "rate", 2.0),
        lambda patch: patch.setattr(Reading, "speed", 2.0),
    ],
    ids=["array", "partial", "object", "class"],
)
def test_what_formulas_read_is_looked_at_again_when_it_changes(change, monkeypatch):
    find, calls = counted()
    find(Reading(), 1)
    change(monkeypatch)
    find(Reading(), 1)
    find(Reading(), 1)
    assert len(calls) == 2
