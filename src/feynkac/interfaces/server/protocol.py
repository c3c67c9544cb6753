"""uvicorn's HTTP protocol with deadlines for requests and answers, and a limit for headers.

Without them, clients that send a byte now and then (slow loris), or that do not read what they
asked for, would hold connections for ever.
"""

import asyncio
import math
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

REQUEST_SECONDS = 15.0
"""From the first byte of a request, or from the connection, to the last byte of its body."""
MOST_HEADER_BYTES = 64 * 1024
READ_SECONDS = 60.0
"""In which a client must read on, if an answer waits for it."""


class BoundedProtocol(HttpToolsProtocol):
    """Closes connections whose requests do not arrive, or whose answers are not read."""

    _timer: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None
    _arriving = 0
    """Bytes since the request began, while its headers are not complete."""

    def connection_made(self, transport: Any) -> None:
        """A request must begin soon."""
        super().connection_made(transport)
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to wait for any more."""
        self._disarm()
        if self._reading is not None:
            self._reading.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what comes before the headers are complete."""
        self._arriving += len(data)
        super().data_received(data)
        if self._timer is None:
            self._arriving = 0
        elif self._arriving > MOST_HEADER_BYTES and not self._complete:
            self.transport.close()

    _complete = False

    def on_message_begin(self) -> None:
        """The clock starts."""
        super().on_message_begin()
        self._complete = False
        self._arm()

    def on_headers_complete(self) -> None:
        """Only the body is missing."""
        self._complete = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """All is here."""
        self._disarm()
        super().on_message_complete()

    def pause_writing(self) -> None:
        """A long answer waits to be read."""
        super().pause_writing()
        self._watch()

    def on_response_complete(self) -> None:
        """The connection may close once the answer is read."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch()

    def timeout_keep_alive_handler(self) -> None:
        """It closes once the answer is read."""
        super().timeout_keep_alive_handler()
        self._watch()

    def _watch(self, before: float = math.inf) -> None:
        """Look again and again whether the client reads; closing alone would wait for it."""
        if self._reading is not None:
            self._reading.cancel()
        unread = self.transport.get_write_buffer_size()
        if unread >= before:
            self.transport.abort()
        elif unread:
            self._reading = self.loop.call_later(READ_SECONDS, self._watch, unread)

    def _arm(self) -> None:
        self._disarm()
        self._timer = self.loop.call_later(REQUEST_SECONDS, self._expired)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expired(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()
