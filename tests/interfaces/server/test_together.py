"""Requests at the same moment are answered by one pass, each with its own values."""

import asyncio
import concurrent.futures
from dataclasses import dataclass, field

import numpy as np
import pytest

from feynkac.interfaces.server.served import Served
from feynkac.interfaces.server.together import MOST, Together


@dataclass
class Counting:
    """A solution of two outputs, x and 2x, that counts its passes."""

    name: str = "two"
    rows: list[int] = field(default_factory=list)

    def inside(self, flat):
        self.rows.append(flat.size)
        if np.isnan(flat).any():
            raise ZeroDivisionError
        return np.concatenate([flat, 2.0 * flat], -1)


def ask(served, flats):
    """All at once, in a thread of its own: a browser's tests keep a loop in this one."""

    async def together():
        asked = Together()
        return await asyncio.gather(
            *(asked.value(served, flat) for flat in flats), return_exceptions=True
        )

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(together())).result()


def test_one_pass_gives_each_its_own_values_in_their_shape():
    served = Counting()
    flats = [np.full((), 1.0)[None], np.full((3, 1), 2.0), np.full((2, 2, 1), 3.0)]
    found = ask(served, flats)
    assert served.rows == [8]
    assert [each.shape for each in found] == [(2,), (3, 2), (2, 2, 2)]
    for value, each in enumerate(found, start=1):
        assert (each == [value, 2.0 * value]).all()


def test_many_requests_take_several_passes():
    served = Counting()
    assert len(ask(served, [np.ones((1, 1))] * (2 * MOST + 1))) == 2 * MOST + 1
    assert served.rows == [MOST, MOST, 1]


def test_all_that_waited_are_told_of_a_failure():
    found = ask(Counting(), [np.ones((1, 1)), np.full((1, 1), np.nan)])
    assert [type(each) for each in found] == [ZeroDivisionError] * 2


def test_values_are_those_of_the_solution(put):
    served = Served("put", put)
    at = {"x": [9.2, 9.7], "t": 0.5, "sigma": [[0.3], [0.4]], "strike": 11.0}
    flat = np.asarray(put.reach.join(at))
    first, second = ask(served, [flat, flat[0]])
    expected = put(at).numpy()
    assert first == pytest.approx(expected, rel=1e-6)
    assert second == pytest.approx(expected[0], rel=1e-6)
