"""How many threads torch uses: on a busy machine, two that wait for each other lose to one."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

FASTER = 0.9  # share of the time that one thread must take to be chosen
REPEATS = 3
NUMBERS, OPERATIONS, ENOUGH = 2**17, 20, 0.1  # of a trial: 20 ms, or seconds where threads wait


@contextmanager
def using_threads(count: int | None) -> Iterator[None]:
    """`count` threads within the block; None: as many as before.

    Example:
        >>> with using_threads(1):
        ...     torch.get_num_threads()
        1
    """
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def faster_threads(seconds: Callable[[], float], enough: float) -> tuple[int, float]:
    """All threads or one, whichever is faster, and its shortest time.

    Args:
        seconds: does something, and says how long that took.
        enough: seconds after which nothing more is timed.
    """
    many = torch.get_num_threads()
    times: dict[int, float] = {}
    for _ in range(REPEATS):
        for count in {many, 1}:
            with using_threads(count):
                times[count] = min(times.get(count, float("inf")), seconds())
        enough -= sum(times.values())
        if enough < 0 or many == 1:
            break
    chosen = 1 if times[1] < FASTER * times[many] else many
    return chosen, times[chosen]


def calm_threads() -> int:
    """All threads, or one if all of them wait for each other now: tried on some exponentials.

    Beside one other process, and torch imported before feynkac, a simulation by two threads took
    thirty times as long as by one.
    """
    numbers = torch.linspace(-1.0, 1.0, NUMBERS)

    def seconds() -> float:
        start = time.perf_counter()
        for _ in range(OPERATIONS):
            numbers.exp()
        return time.perf_counter() - start

    return faster_threads(seconds, ENOUGH)[0]
