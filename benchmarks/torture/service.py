"""A real server under attack: bad bodies, slow clients, overload, kills, a damaged run."""

import concurrent.futures
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from benchmarks.torture.bad_bodies import BODIES, PATHS
from benchmarks.torture.promise import Promise, Trial

import feynkac as fk

ONE = {"x": 9.5, "t": 0.5, "sigma": 0.3, "strike": 11.0}
JSON = {"content-type": "application/json"}
OPERATIONS = ("value", "greeks", "slice", "certify", "calibrate", "quotes", "uncertainty")
SLOW_CLIENTS, CUT_OFF = 100, 25.0  # seconds after which none of them is connected any more
CLIENTS = 50  # of an overload
PROGRAM = "from feynkac.interfaces.cli import main; main()"


class Server:
    """`feynkac serve` on a free port, in a process of its own."""

    def __init__(self, *runs: Path) -> None:
        command = [sys.executable, "-c", PROGRAM, "serve", *map(str, runs), "--port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.said = ""
        while not (found := re.search(r"http://\S+", self.said)):
            if not (line := self.process.stderr.readline()):
                raise RuntimeError(f"the server did not start: {self.said}")
            self.said += line
        self.url = found[0]
        self.port = int(self.url.strip("/").rpartition(":")[2])

    def value(self, client: httpx.Client | None = None) -> float:
        """Of the put at one input."""
        ask = client or httpx
        answer = ask.post(f"{self.url}v1/solutions/put/value", json={"at": ONE}, timeout=10.0)
        return float(answer.raise_for_status().json()["value"])

    def well(self, within: float = 1.0) -> bool:
        """Whether it answers, and soon."""
        began = time.perf_counter()
        try:
            good = httpx.get(self.url + "healthz", timeout=10.0).status_code == 200
        except httpx.HTTPError:
            return False
        return good and time.perf_counter() - began < within


@contextmanager
def serving(*runs: Path) -> Iterator[Server]:
    """A server that is gone afterwards."""
    server = Server(*runs)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate()


@contextmanager
def _run() -> Iterator[Path]:
    """A put that was trained for a moment."""
    with tempfile.TemporaryDirectory() as folder:
        fk.solve(fk.BlackScholes(), steps=12, batch_size=64, out=Path(folder) / "put")
        yield Path(folder) / "put"


def _bodies(trial: Trial) -> None:
    with _run() as run, serving(run) as server, httpx.Client(timeout=60.0) as client:
        operations = OPERATIONS[: trial.count(len(OPERATIONS), 2)]
        for operation in operations:
            for name, (content, _) in BODIES.items():
                body = content() if callable(content) else content
                began = time.perf_counter()
                where = f"{server.url}v1/solutions/put/{operation}"
                answer = client.post(where, content=body, headers=JSON)
                took = time.perf_counter() - began
                good = 400 <= answer.status_code < 500 and took < 1.0 and server.well()
                trial.check(good, f"{operation}, {name}: {answer.status_code} in {took:.2f} s")
        for path in PATHS:
            answer = client.send(httpx.Request("GET", server.url.rstrip("/") + path))
            trial.check("root:" not in answer.text, f"{path} was answered with a file")


def _slow(trial: Trial) -> None:
    with _run() as run, serving(run) as server:
        count = trial.count(SLOW_CLIENTS)
        clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(count)]
        for client in clients:
            client.setblocking(False)
            client.sendall(b"POST /v1/solutions/put/value HTTP/1.1\r\nHost: ")
        began, slowest = time.perf_counter(), 0.0
        while time.perf_counter() - began < CUT_OFF and any(map(_dripping, clients)):
            asked = time.perf_counter()
            server.value()
            slowest = max(slowest, time.perf_counter() - asked)
            time.sleep(0.5)
        for i, client in enumerate(clients):
            trial.check(not _dripping(client), f"slow client {i} is still connected")
            client.close()
        trial.check(slowest < 1.0, f"another client waited {slowest:.2f} s")
        trial.figures["longest wait of another client"] = f"{1000 * slowest:.0f} ms"


def _dripping(client: socket.socket) -> bool:
    """Send one byte more; whether the server still listens."""
    try:
        client.sendall(b"x")
        client.recv(65536)
        return False  # an answer, or the end: it was refused
    except BlockingIOError:
        return True
    except OSError:
        return False


def _overload(trial: Trial) -> None:
    statuses: Counter[int] = Counter()
    with _run() as run, serving(run) as server:
        end = time.perf_counter() + trial.count(60, 6)

        def ask(number: int) -> None:
            body = {"at": ONE, "seconds": 0.5} if number % 2 else {"at": ONE}
            what = "certify" if number % 2 else "greeks"
            with httpx.Client(timeout=90.0) as client:
                while time.perf_counter() < end:
                    answer = client.post(f"{server.url}v1/solutions/put/{what}", json=body)
                    statuses[answer.status_code] += 1
                    refused = answer.status_code == 503 and "retry-after" in answer.headers
                    trial.check(answer.status_code == 200 or refused, answer.text[:200])
                    time.sleep(0.05 if refused else 0.0)

        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            for done in [pool.submit(ask, number) for number in range(CLIENTS)]:
                done.result()
        trial.check(server.well(), "it was not well after the overload")
    trial.check(statuses[503] > 0, "nothing was refused, so this was no overload")
    trial.figures["answered"] = f"{statuses[200]:,}, refused with Retry-After: {statuses[503]:,}"


def _kills(trial: Trial) -> None:
    with _run() as run:
        with serving(run) as server:
            truth = server.value()
        for number in range(trial.count(20, 2)):
            with serving(run) as server, concurrent.futures.ThreadPoolExecutor(4) as pool:
                answers = [pool.submit(_ask_until_gone, server) for _ in range(4)]
                time.sleep(0.05 + 0.02 * number)
                server.process.kill()
                wrong = {v for done in answers for v in done.result() if v != truth}
                trial.check(not wrong, f"kill {number}: answers {wrong}, not {truth}")
        with serving(run) as server:
            trial.check(server.value() == truth, "the solution changed")


def _ask_until_gone(server: Server) -> set[float]:
    found: set[float] = set()
    with httpx.Client() as client:
        while True:
            try:
                found.add(server.value(client))
            except httpx.TransportError:
                return found


def _damaged(trial: Trial) -> None:
    with _run() as run:
        for name in ("manifest.json", "weights.safetensors"):
            broken = run.with_name(f"broken-{name[:4]}")
            fk.load(run).save(broken)
            (broken / name).write_bytes(b"{}" + (broken / name).read_bytes()[:-7])
            with serving(broken, run) as server:
                listed = httpx.get(server.url + "v1/runs").json()["runs"]
                faults = [each["problem"] for each in listed if each["id"] == broken.name]
                trial.check(bool(faults and faults[0]), f"{name}: nobody says what is wrong")
                trial.check(server.value() > 0.0, f"{name}: the other run is not served")


BODIES_PROMISE = Promise(
    "service: bad bodies and paths",
    "A body that is wrong is answered with 4xx within a second, and the server stays well.",
    "NaN, infinities, booleans, wrong ranks, 24 MB, depth 10,000, bad UTF-8 and others, sent to "
    "every operation; paths that lead upwards.",
    _bodies,
)
SLOW_PROMISE = Promise(
    "service: slow clients",
    "Clients that send byte by byte are cut off, and hold up nobody.",
    "100 connections at once, a byte every half second; meanwhile another client asks for values.",
    _slow,
)
OVERLOAD_PROMISE = Promise(
    "service: overload",
    "Over capacity the answer is 503 with Retry-After, never an error, and it passes.",
    "50 clients ask for simulations and derivatives without a pause, for a minute.",
    _overload,
)
KILLS_PROMISE = Promise(
    "service: killed",
    "Every answer that arrives is whole and right; what was served is served again after a start.",
    "SIGKILL while four clients ask for values without a pause.",
    _kills,
)
DAMAGED_PROMISE = Promise(
    "service: a damaged run",
    "A damaged run is named, and the others are served.",
    "Manifest or weights of one of two runs altered.",
    _damaged,
)
SERVICE = (BODIES_PROMISE, SLOW_PROMISE, OVERLOAD_PROMISE, KILLS_PROMISE, DAMAGED_PROMISE)
