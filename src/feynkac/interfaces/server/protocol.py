"""uvicorn's HTTP protocol with a deadline for each request and a limit for its headers.

Without them, clients that send a byte now and then (slow loris) would hold connections for ever.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

REQUEST_SECONDS = 15.0
"""From the first byte of a request, or from the connection, to the last byte of its body."""
MOST_HEADER_BYTES = 64 * 1024


class BoundedProtocol(HttpToolsProtocol):
    """Closes connections whose requests do not arrive."""

    _timer: asyncio.TimerHandle | None = None
    _arriving = 0
    """Bytes since the request began, while its headers are not complete."""

    def connection_made(self, transport: Any) -> None:
        """A request must begin soon."""
        super().connection_made(transport)
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to wait for any more."""
        self._disarm()
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
