"""Runs the service until it is told to stop; then no request begins, and those under way end."""

import contextlib
import ipaddress
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import uvicorn

from feynkac.analysis.partials import gradient
from feynkac.errors import InputError
from feynkac.files import read_regular
from feynkac.interfaces.server.app import make_app
from feynkac.interfaces.server.guard import Access
from feynkac.interfaces.server.offer import Offer
from feynkac.interfaces.server.protocol import BoundedProtocol
from feynkac.threads import using_threads

DRAIN_SECONDS = 40
SHORTEST_TOKEN, LARGEST_TOKEN = 16, 4096
BACKLOG = 1024
NAMES = ("localhost", "127.0.0.1", "[::1]")
"""Of this machine, as a browser writes them."""


def read_token(path: Path) -> str:
    """The token in a file.

    Raises:
        InputError: it cannot be read, or is short or not plain ASCII.
    """
    try:
        token = read_regular(path, LARGEST_TOKEN).decode("ascii").strip()
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read a token from {path}: {error}.") from error
    if len(token) < SHORTEST_TOKEN or not token.isprintable() or " " in token:
        raise InputError(
            f"the token in {path} must be one word of at least {SHORTEST_TOKEN} characters; "
            "write one with: openssl rand -hex 32."
        )
    return token


def make_access(host: str, port: int, token: str | None) -> Access:
    """Who may ask a server that listens at `host`.

    Raises:
        InputError: others can reach it, and there is no token.

    Example:
        >>> sorted(make_access("127.0.0.1", 8000, None).hosts)[:2]
        ['127.0.0.1', '127.0.0.1:8000']
    """
    local = is_loopback(host)
    if not local and token is None:
        raise InputError(
            f"{host} can be reached by others; give --token-file FILE, or serve on 127.0.0.1."
        )
    if not local:
        return Access(None, token)
    named = {*NAMES, f"[{host}]" if ":" in host else host}
    return Access(frozenset(named | {f"{name}:{port}" for name in named}), token)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server at `host`.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
        (True, False)
    """
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def listen(host: str, port: int) -> socket.socket:
    """A socket that accepts connections; port 0 takes a free one.

    Raises:
        InputError: the port is taken, or there is no such host.
    """
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(kind, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(BACKLOG)
    except OSError as error:
        found.close()
        raise InputError(
            f"cannot listen at {host}:{port}: {error.strerror or error}; choose another --port."
        ) from error
    return found


def serve(
    offer: Offer, host: str, port: int, token: str | None, announce: Callable[[str], None]
) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    make_access(host, port, token)  # refuses before a port is taken
    with contextlib.closing(listen(host, port)) as listening, using_threads(1), _signals_end_it():
        _warm_up()
        chosen = listening.getsockname()[1]
        app = make_app(offer, make_access(host, chosen, token))
        config = uvicorn.Config(
            app,
            http=BoundedProtocol,
            loop="auto",
            ws="none",
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=DRAIN_SECONDS,
        )
        server = uvicorn.Server(config)
        offer.draining = lambda: server.should_exit
        announce(f"http://{f'[{host}]' if ':' in host else host}:{chosen}/")
        server.run(sockets=[listening])


def _warm_up() -> None:
    """Torch loads modules for a second when it first differentiates: do so before anybody waits."""
    gradient(lambda v: v.square().sum(-1, keepdim=True), torch.ones(1, 2))


@contextlib.contextmanager
def _signals_end_it() -> Iterator[None]:
    """uvicorn raises the signal that stopped it once more at the end; that is no failure."""
    kinds = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(kind, lambda *_: None) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)
