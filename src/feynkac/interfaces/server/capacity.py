"""How much is computed at once: a few threads, a short queue, then 503 with Retry-After."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from feynkac.interfaces.server.problems import busy, too_long

T = TypeVar("T")


class Capacity:
    """`running` threads and at most `waiting` computations in front of them."""

    def __init__(self, name: str, running: int, waiting: int, seconds: float) -> None:
        self.name, self.most, self.seconds = name, running + waiting, seconds
        self.taken = 0
        self._threads = ThreadPoolExecutor(running, thread_name_prefix=f"feynkac-{name}")

    async def run(self, work: Callable[[], T]) -> T:
        """The result of `work`, computed in a thread.

        Raises:
            Problem: there is no room, or it takes too long; what has begun then runs to the end,
                and its place is taken until then.
        """
        if self.taken >= self.most:
            raise busy(f"{self.taken} computations ({self.name}) are waiting; try again.")
        self.taken += 1
        begun = self._threads.submit(work)
        job = asyncio.wrap_future(begun)
        job.add_done_callback(self._release)
        try:
            return await asyncio.wait_for(asyncio.shield(job), self.seconds)
        except TimeoutError:
            begun.cancel()  # unless it runs already
            raise too_long(self.seconds) from None

    def _release(self, job: "asyncio.Future[T]") -> None:
        self.taken -= 1
        if not job.cancelled():
            job.exception()  # seen, even if nobody waits any more

    def close(self) -> None:
        """Let no further work begin."""
        self._threads.shutdown(wait=False, cancel_futures=True)
