"""How much of a time is gone, and how much is left for one thing or another."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Clock:
    """Seconds since `started`, by `time.perf_counter`.

    Example:
        >>> Clock().spent() < Clock(started=time.perf_counter() - 60.0).spent()
        True
    """

    started: float = field(default_factory=lambda: time.perf_counter())

    def spent(self) -> float:
        """How many have passed."""
        return time.perf_counter() - self.started


@dataclass(frozen=True)
class Allowance:
    """Seconds that a task may take from now on; by default as many as it needs.

    Example:
        >>> Allowance().left, Allowance(0.0).times(1.0)
        (inf, 0)
    """

    seconds: float = math.inf
    clock: Clock = field(default_factory=Clock)

    @property
    def left(self) -> float:
        """What is left of them, never less than 0."""
        return max(0.0, self.seconds - self.clock.spent())

    def times(self, seconds: float, most: int = 2**20) -> int:
        """How often something fits in that takes so long, at most `most` times."""
        return int(min(most, self.left / max(seconds, 1e-9)))

    def share(self, part: float) -> "Allowance":
        """A part of what is left."""
        return Allowance(part * self.left)

    def afford(self, compute: Callable[[int], T], fewest: int, most: int) -> T:
        """`compute(n)` for the largest n that fits in, by timing the fewest first.

        The time of `compute(n)` is taken to grow like n, at most.

        Example:
            >>> [Allowance(s).afford(lambda n: n, 16, 256) for s in (0.0, math.inf)]
            [16, 256]
        """
        if math.isinf(self.seconds):
            return compute(most)
        clock = Clock()
        found = compute(fewest)
        doublings = max(1, self.times(clock.spent())).bit_length() - 1
        count = min(most, fewest * 2**doublings)
        return compute(count) if count > fewest else found
