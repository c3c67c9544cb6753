"""Ctrl-C and SIGTERM end a run between two steps, never inside one.

The first signal is a request: the loop finishes the current step, saves and stops. A second Ctrl-C
raises KeyboardInterrupt at once, as usual.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """Whether the user has requested a stop."""

    def __init__(self) -> None:
        self.requested = False


@contextmanager
def deferred_interrupts() -> Iterator[StopRequest]:
    """Collect signals while the body runs; outside the main thread there is nothing to collect."""
    stop = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    handlers = {s: signal.getsignal(s) for s in SIGNALS}
    before: dict[signal.Signals, Any] = {s: h for s, h in handlers.items() if h is not None}

    def ask(_number: int, _frame: FrameType | None) -> None:
        stop.requested = True
        if signal.SIGINT in before:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    for s in before:  # one that another program installed stays
        signal.signal(s, ask)
    try:
        yield stop
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)
