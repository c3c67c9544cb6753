"""Bad bodies, foreign hosts, missing headers: refused quickly, and the server stays well."""

import json
import socket
import time

import httpx
import pytest

from feynkac.errors import InputError
from feynkac.interfaces.server.guard import Access
from feynkac.interfaces.server.problems import Problem
from feynkac.interfaces.server.running import make_access

JSON = {"content-type": "application/json"}
AT = b'{"at": {"x": %s, "t": 0.5, "sigma": 0.3, "strike": 11.0}}'
LARGE = b'{"at": {"x": [' + b"9.5, " * (24 * 2**20 // 5) + b"9.5]}}"


def chunks():
    for start in range(0, len(LARGE), 2**16):
        yield LARGE[start : start + 2**16]


BODIES = {
    "nan": (AT % b"NaN", 422),
    "infinity": (AT % b"-Infinity", 422),
    "1e999": (AT % b"1e999", 422),
    "huge integer": (AT % (b"1" + b"0" * 400), 422),
    "bool": (AT % b"true", 422),
    "bool in a list": (AT % b"[9.5, false]", 422),
    "string": (AT % b'"9.5"', 422),
    "null": (AT % b"null", 422),
    "empty list": (AT % b"[]", 422),
    "wrong rank": (AT % b"[[[[[9.5]]]]]", 422),
    "ragged": (AT % b"[[9.5], [9.5, 9.6]]", 422),
    "depth": (AT % (b"[" * 10_000 + b"]" * 10_000), 400),
    "open depth": (b"[" * 10_000, 400),
    "bad utf-8": (b'{"at": {"x\xff\xfe": 1.0}}', 400),
    "not json": (b"at=1", 400),
    "empty": (b"", 400),
    "a list": (b"[1, 2]", 422),
    "blank name": (b'{"at": {"' + b" " * 5000 + b'x": 1.0}}', 422),
    "long name": (b'{"at": {"' + b"x" * 3_000_000 + b'": 1.0}}', 422),
    "long field": (b'{"at": {}, "' + b"x" * 3_000_000 + b'": 1.0}', 422),
    "unknown field": (b'{"at": {}, "eval": "1"}', 422),
    "24 MB": (LARGE, 413),
    "24 MB in chunks": (chunks, 413),
    "points that multiply": (
        json.dumps({"at": {"x": [[9.5]] * 5000, "t": [0.5] * 5000}}).encode(), 422),
}  # fmt: skip


@pytest.mark.parametrize("path", ["value", "greeks", "slice", "certify", "calibrate"])
@pytest.mark.parametrize("name", BODIES)
def test_a_bad_body_is_refused_within_a_second(server, name, path):
    content, status = BODIES[name]
    with server.client() as client:
        began = time.perf_counter()
        body = content() if callable(content) else content
        answer = client.post(f"v1/solutions/put/{path}", content=body, headers=JSON)
        took = time.perf_counter() - began
        assert answer.status_code == status if path == "value" else 400 <= answer.status_code < 500
        assert answer.headers["content-type"] == "application/problem+json"
        assert len(answer.content) < 20_000
        assert client.get("healthz").json()["status"] == "ok"
    assert took < 1.0


def test_the_content_type_must_be_json(server):
    answer = httpx.post(server.url + "v1/solutions/put/value", content=AT % b"9.5")
    assert answer.status_code == 415
    assert "application/json" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["", "healthz", "v1/solutions", "nowhere", "v1/solutions/x/value"])
def test_every_answer_has_the_security_headers(server, path):
    headers = httpx.get(server.url + path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_another_host_is_refused(server, host):
    answer = httpx.get(server.url + "v1/solutions", headers={"host": host})
    assert answer.status_code == 403
    assert "not served here" in answer.json()["detail"]


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_names_of_this_machine_are_served(server, name):
    headers = {"host": f"{name}:{server.port}"}
    assert httpx.get(server.url + "healthz", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "path", ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/assets/..%2f..%2f..%2fetc/passwd",
             "//etc/passwd", "/v1/solutions/..%2f..%2fetc/value"],
)  # fmt: skip
def test_no_path_leads_out_of_the_pages(server, path):
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
        host = f"127.0.0.1:{server.port}"
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 404")
    assert b"root:" not in answer


def test_a_host_that_others_reach_needs_a_token():
    with pytest.raises(InputError, match=r"0\.0\.0\.0 can be reached by others; give --token-file"):
        make_access("0.0.0.0", 8000, None)
    assert make_access("0.0.0.0", 8000, "t" * 20).hosts is None
    assert "[::1]:8000" in make_access("::1", 8000, None).hosts


@pytest.mark.parametrize("given", [b"", b"Bearer wrong", b"Basic secret", b"bearer secret"])
def test_a_wrong_token_is_refused(given):
    access = Access(None, "secret")
    with pytest.raises(Problem, match="Authorization: Bearer TOKEN") as caught:
        access.check("/v1/solutions", {b"authorization": given})
    assert caught.value.status == 401
    access.check("/v1/solutions", {b"authorization": b"Bearer secret"})
    access.check("/", {})
