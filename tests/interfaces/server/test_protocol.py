"""Clients that do not read their answers do not keep their connections."""

import socket
import threading
import time

import pytest
import uvicorn

from feynkac.interfaces.server import protocol
from feynkac.interfaces.server.running import listen

BODY = b"x" * 2**25


async def long_answer(scope, receive, send):
    """More than the buffers of both sides hold."""
    headers = [(b"content-length", str(len(BODY)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": BODY})


@pytest.fixture
def quick(monkeypatch):
    """A server that waits a short time for its readers, and its port."""
    monkeypatch.setattr(protocol, "READ_SECONDS", 1.0)
    config = uvicorn.Config(
        long_answer,
        http=protocol.BoundedProtocol,
        loop="uvloop",
        lifespan="off",
        log_level="warning",
        timeout_keep_alive=1,
    )
    server = uvicorn.Server(config)
    with listen("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield server, listening.getsockname()[1]
        server.should_exit = True
        thread.join()


def asking(port: int, *headers: str, times: int = 1) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), timeout=10)
    lines = ["GET / HTTP/1.1", "Host: a", *headers, "", ""]
    client.sendall("\r\n".join(lines).encode() * times)
    return client


@pytest.mark.parametrize(("headers", "times"), [(["Connection: close"], 1), ([], 1), ([], 3)])
def test_who_does_not_read_is_cut_off(quick, headers, times):
    server, port = quick
    with asking(port, *headers, times=times):
        began = time.perf_counter()
        while not server.server_state.connections:
            time.sleep(0.01)
        while server.server_state.connections:
            assert time.perf_counter() - began < 15.0
            time.sleep(0.05)


def test_who_reads_slowly_gets_all(quick):
    _, port = quick
    with asking(port, "Connection: close") as client:
        count = 0
        while part := client.recv(2**18):
            count += len(part)
            time.sleep(0.01)
    assert count > len(BODY)
