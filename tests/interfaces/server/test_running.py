"""Tokens, draining, slow clients and taken ports of a real server."""

import concurrent.futures
import signal
import socket
import time

import httpx
import pytest
from typer.testing import CliRunner

from feynkac.errors import InputError
from feynkac.interfaces.cli import app
from feynkac.interfaces.server.running import listen, read_token

ONE = {"x": 9.5, "t": 0.5, "sigma": 0.3, "strike": 11.0}


@pytest.fixture
def token(tmp_path):
    path = tmp_path / "token"
    path.write_text("0123456789abcdef0123\n")
    return path


def test_with_a_token_only_those_who_have_it_are_answered(folders, token, starting):
    running = starting(folders["put"], "--host", "0.0.0.0", "--token-file", token)
    url = running.url.replace("0.0.0.0", "127.0.0.1")
    key = {"authorization": f"Bearer {token.read_text().strip()}"}
    assert httpx.get(url + "v1/solutions").status_code == 401
    assert httpx.get(url + "metrics").status_code == 401
    wrong = {"authorization": "Bearer x"}
    assert httpx.get(url + "v1/solutions", headers=wrong).status_code == 401
    assert httpx.get(url + "v1/solutions", headers=key).status_code == 200
    answer = httpx.post(url + "v1/solutions/put/value", json={"at": ONE})
    assert answer.status_code == 401
    assert httpx.get(url + "healthz").status_code == 200
    assert running.stop() == 0


@pytest.mark.slow
def test_the_first_visitor_does_not_wait_for_torch(folders, starting):
    """What torch loads for its first derivative, most of a second, is loaded before it serves."""
    times = [float("inf")]
    while len(times) < 3 and min(times) > 0.4:  # another program may delay the first
        running = starting(folders["put"])
        with running.client() as client:
            client.get("healthz")
            began = time.perf_counter()
            answer = client.post("v1/solutions/put/greeks", json={"at": ONE})
            times.append(time.perf_counter() - began)
        assert answer.status_code == 200
        assert running.stop() == 0
    assert min(times) < 0.4, times


def requests_under_way(running):
    """With the one that asks."""
    lines = httpx.get(running.url + "metrics").text.splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("feynkac_in_flight "))


def test_a_request_under_way_ends_before_the_server_does(folders, put, starting):
    running = starting(folders["put"])
    at = ONE | {"x": [9.1, 9.2]}
    domain = put.family.domain
    error = put(at) - put.family.closed_form(*domain.split(domain.join(at))).squeeze(-1)
    hard = error.abs().max().item()  # whether it is within its own error takes all the seconds
    body = {"at": at, "seconds": 2.0, "tolerance": hard}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        url = running.url + "v1/solutions/put/certify"
        under_way = pool.submit(httpx.post, url, json=body, timeout=60.0)
        while requests_under_way(running) < 2:
            assert not under_way.done()
        running.process.send_signal(signal.SIGTERM)
        answer = under_way.result()
    assert answer.status_code == 200
    assert len(answer.json()["certificates"]) == 2
    assert running.ended() == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(running.url + "healthz")


@pytest.mark.slow
def test_clients_that_send_slowly_are_cut_off_and_hold_up_nobody(server):
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(50)]
    for client in slow:
        client.sendall(b"POST /v1/solutions/put/value HTTP/1.1\r\nHost: ")
    began = time.perf_counter()
    assert httpx.get(server.url + "healthz").status_code == 200
    assert time.perf_counter() - began < 1.0
    slow[0].settimeout(30.0)
    while time.perf_counter() - began < 25.0:
        try:
            slow[0].sendall(b"x")
            time.sleep(0.5)
        except OSError:
            break
    assert time.perf_counter() - began < 22.0
    for client in slow:
        client.close()


def send_headers_without_end(client):
    for _ in range(1000):
        client.sendall(b"x-more: " + b"y" * 8000 + b"\r\n")
        time.sleep(0.001)


def test_endless_headers_are_cut_off(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n")
        with pytest.raises(OSError, match=r"reset|[Bb]roken pipe"):
            send_headers_without_end(client)
    assert httpx.get(server.url + "healthz").status_code == 200


@pytest.mark.slow
def test_a_body_that_stops_coming_is_refused(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
        host = f"127.0.0.1:{server.port}"
        head = (
            f"POST /v1/solutions/put/value HTTP/1.1\r\nHost: {host}\r\nContent-Length: 99\r\n\r\n"
        )
        client.sendall(head.encode() + b"{")
        assert client.recv(100).startswith(b"HTTP/1.1 408")


def test_a_taken_port_is_said():
    with (
        listen("127.0.0.1", 0) as taken,
        pytest.raises(InputError, match=r"cannot listen at 127\.0\.0\.1:.*choose another --port"),
    ):
        listen("127.0.0.1", taken.getsockname()[1])


@pytest.mark.parametrize("text", ["short", "two words and more of them", ""])
def test_a_token_is_one_long_word(tmp_path, text):
    path = tmp_path / "token"
    path.write_text(text)
    with pytest.raises(InputError, match="one word of at least 16 characters"):
        read_token(path)


def test_what_cannot_be_served_is_said(tmp_path):
    result = CliRunner().invoke(app, ["serve", str(tmp_path / "none")])
    assert result.exit_code == 2
    assert "there is no folder" in result.output
    result = CliRunner().invoke(app, ["serve", str(tmp_path), "--host", "0.0.0.0"])
    assert result.exit_code == 2
    assert "give --token-file" in result.output


def test_a_name_from_the_library_is_served(monkeypatch):
    served = []
    serve = "feynkac.interfaces.server.running.serve"
    monkeypatch.setattr(serve, lambda offer, *_: served.extend(offer.solutions))
    result = CliRunner().invoke(app, ["serve", "black-scholes"])
    assert (result.exit_code, served) == (0, ["black-scholes"]), result.output
