"""Room for a few computations; then 503."""

import asyncio
import concurrent.futures
import threading

import pytest

from feynkac.interfaces.server.capacity import Capacity
from feynkac.interfaces.server.problems import Problem


def run(ask):
    """In a thread of its own: a browser's tests keep a loop in this one."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(ask())).result()


def test_what_does_not_fit_is_told_to_come_back():
    async def ask():
        free = threading.Event()
        capacity = Capacity("tests", running=1, waiting=1, seconds=30.0)
        first, second = (asyncio.create_task(capacity.run(free.wait)) for _ in range(2))
        await asyncio.sleep(0.05)
        with pytest.raises(Problem, match=r"2 computations \(tests\) are waiting") as caught:
            await capacity.run(free.wait)
        assert (caught.value.status, caught.value.headers["Retry-After"]) == (503, "1")
        free.set()
        assert await first
        assert await second
        assert capacity.taken == 0
        capacity.close()

    run(ask)


def test_what_takes_too_long_is_given_up_but_keeps_its_place():
    async def ask():
        free = threading.Event()
        capacity = Capacity("tests", running=1, waiting=0, seconds=0.05)
        with pytest.raises(Problem, match=r"took longer than 0\.05 s") as caught:
            await capacity.run(free.wait)
        assert caught.value.status == 504
        assert "Retry-After" not in caught.value.headers  # to ask again is of no use
        assert capacity.taken == 1
        free.set()
        while capacity.taken:
            await asyncio.sleep(0.01)
        capacity.close()

    run(ask)


def test_what_nobody_waits_for_any_more_does_not_begin():
    async def ask():
        free, begun = threading.Event(), []
        capacity = Capacity("tests", running=1, waiting=1, seconds=0.1)
        first = asyncio.create_task(capacity.run(free.wait))
        await asyncio.sleep(0.01)
        with pytest.raises(Problem, match="took longer"):
            await capacity.run(lambda: begun.append(1))
        free.set()
        with pytest.raises(Problem, match="took longer"):
            await first
        while capacity.taken:
            await asyncio.sleep(0.01)
        assert await capacity.run(lambda: 2) == 2  # the thread is free, and has passed that by
        assert begun == []
        capacity.close()

    run(ask)


def test_an_error_of_the_work_is_the_callers():
    async def ask():
        capacity = Capacity("tests", running=1, waiting=0, seconds=5.0)
        with pytest.raises(ZeroDivisionError):
            await capacity.run(lambda: 1 // 0)
        assert capacity.taken == 0
        capacity.close()

    run(ask)
