"""Progress of runs on a cluster for the terminal, and the request to stop in the other direction.

Ray Train's own report is a barrier for all workers; this costs one small message twice per second.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import typer

from feynkac.errors import FeynkacError

if TYPE_CHECKING:
    from feynkac.training.loop import Progress

INTERVAL = 0.5  # seconds between messages about steps; measured errors are sent at once


@dataclass
class News:
    """Messages since the last query; errors stay."""

    progress: list[tuple[int, "Progress"]] = field(default_factory=list)
    restarts: int = 0
    errors: dict[int, FeynkacError] = field(default_factory=dict)


class Channel:
    """An actor between runs, known by their numbers, and the process that watches them."""

    def __init__(self) -> None:
        self._news = News()
        self._begun: set[int] = set()
        self._stop = False

    def begin(self, run: int) -> bool:
        """Called by a run that starts or restarts; returns whether to stop."""
        self._news.restarts += run in self._begun
        self._begun.add(run)
        return self._stop

    def tell(self, run: int, progress: "Progress") -> bool:
        """Called by a run; returns whether to stop."""
        self._news.progress.append((run, progress))
        return self._stop

    def fail(self, run: int, error: FeynkacError) -> None:
        """Called by a run that failed and must not be retried; the first error counts."""
        self._news.errors.setdefault(run, error)

    def hear(self, stop: bool) -> News:
        """Called by the watcher, who may request that all stop."""
        news, self._news = self._news, News(errors=self._news.errors)
        self._stop = self._stop or stop
        return news


def open_channel() -> Any:
    """A channel on the connected cluster."""
    import ray

    return ray.remote(num_cpus=0)(Channel).remote()


def ask(answer: Any) -> Any:
    """The result of a remote call.

    It waits in a thread: if a task waits in its main thread, Ray lends its CPU to another task.
    """
    import ray

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(ray.get, answer).result()


def teller(channel: Any, run: int = 0) -> "Callable[[Progress], bool]":
    """A function to give to `execute(report=…)` on a worker."""
    told = 0.0

    def tell(progress: "Progress") -> bool:
        nonlocal told
        if progress.record is None and time.monotonic() - told < INTERVAL:
            return False
        told = time.monotonic()
        return bool(ask(channel.tell.remote(run, progress)))

    return tell


def watch(
    over: Callable[[], bool],
    channel: Any,
    show: "Callable[[int, Progress], Any]",
    until_error: bool = False,
) -> dict[int, FeynkacError]:
    """Show progress until all runs end or the first error arrives; Ctrl-C requests a stop.

    `over` waits a fraction of a second and returns whether all have ended.
    """
    import ray

    from feynkac.training.interrupts import deferred_interrupts

    news, ended = News(), False
    with deferred_interrupts() as stop:
        while not ended:
            ended = over()
            news = ray.get(channel.hear.remote(stop.requested))
            for run, progress in news.progress:
                show(run, progress)
            if news.restarts:
                typer.echo("a process died; resuming from the latest checkpoint", err=True)
            ended = ended or (until_error and bool(news.errors))
    return news.errors
