"""In front of every request: host, token, size and time of the body, headers, counts.

A page on another site can make a browser send requests here. It cannot read answers (there are no
CORS headers), cannot send JSON without a preflight, and with a name of its own that leads to this
machine (DNS rebinding) it is refused by the `Host` header.
"""

import asyncio
import hmac
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from feynkac.interfaces.server.counters import Counters
from feynkac.interfaces.server.problems import CONTENT_TYPE, Problem, busy

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BYTES = 4 * 1024 * 1024
"""Of a body."""
BODY_SECONDS = 10.0
"""In which a body must arrive."""
MOST_IN_FLIGHT = 512
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]
OPEN = ("/healthz",)
"""Paths under `/v1`, `/metrics` and `/openapi.json` need the token; pages and these do not."""


@dataclass(frozen=True)
class Access:
    """Who may ask."""

    hosts: frozenset[str] | None
    """Allowed values of the Host header; None: any, since there is a token."""
    token: str | None = None

    def check(self, path: str, headers: dict[bytes, bytes]) -> None:
        """Refuse another host, or a missing token.

        Raises:
            Problem: 403 or 401.
        """
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self.hosts is not None and host not in self.hosts:
            raise Problem(
                403, f"the host {host[:100]!r} is not served here; open the address shown."
            )
        if self.token is None or not path.startswith(("/v1", "/metrics", "/openapi")):
            return
        given = headers.get(b"authorization", b"")
        if not hmac.compare_digest(given, b"Bearer " + self.token.encode()):
            wanted = {"WWW-Authenticate": "Bearer"}
            raise Problem(401, "send the header Authorization: Bearer TOKEN.", headers=wanted)


@dataclass
class Guard:
    """The outermost ASGI application."""

    app: App
    access: Access
    counters: Counters = field(default_factory=Counters)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; anything but HTTP goes through as it is."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # the protocol, which keeps its own scope, sends no body
            scope = {**scope, "method": "GET"}
        started, status = time.perf_counter(), 500
        self.counters.in_flight += 1

        async def secured(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *HEADERS]
            await send(message)

        try:
            await self._serve(scope, receive, secured)
        finally:
            self.counters.in_flight -= 1
            route = scope.get("route_path", getattr(scope.get("route"), "path", "other"))
            self.counters.count(route, status, time.perf_counter() - started)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        try:
            if self.counters.in_flight > MOST_IN_FLIGHT:
                raise busy(f"more than {MOST_IN_FLIGHT} requests are in flight; try again.")
            self.access.check(scope["path"], headers)
            body = await _body(receive, headers)
        except Problem as problem:
            return await send_problem(problem, send)
        return await self.app(scope, _replay(body, receive), send)


async def _body(receive: Receive, headers: dict[bytes, bytes]) -> bytes:
    """The whole body, if it is small and comes soon.

    Raises:
        Problem: 413 or 408.
    """
    length = headers.get(b"content-length", b"")
    if length.isdigit() and int(length) > MOST_BYTES:
        raise _too_large()
    if not length and b"transfer-encoding" not in headers:
        return b""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _read(receive)
    except TimeoutError:
        raise Problem(408, f"the body did not arrive within {BODY_SECONDS:g} s.") from None


async def _read(receive: Receive) -> bytes:
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        return body
    whole = bytearray(body)
    while message.get("more_body"):
        message = await receive()
        whole += message.get("body", b"")
        if len(whole) > MOST_BYTES:
            raise _too_large()
    return bytes(whole)


def _too_large() -> Problem:
    return Problem(413, f"the body is larger than {MOST_BYTES} bytes; send several requests.")


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body that was read, then what comes next."""
    sent = False

    async def again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def send_problem(problem: Problem, send: Send) -> None:
    """As an ASGI response."""
    body = problem.body()
    headers = {"content-type": CONTENT_TYPE, "content-length": str(len(body)), **problem.headers}
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
