"""A real server in a process of its own, with really trained solutions."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

import feynkac as fk


@dataclass(frozen=True)
class Running:
    """A server under way."""

    url: str
    process: subprocess.Popen

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2].strip("/"))

    def client(self, **options) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=60.0, **options)

    def post(self, path: str, body: dict) -> dict:
        answer = httpx.post(f"{self.url}v1/solutions/{path}", json=body, timeout=60.0)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def get(self, path: str) -> dict:
        answer = httpx.get(self.url + path, timeout=60.0)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def kill(self) -> None:
        """Whatever became of it: nothing of it is left."""
        with self.process:
            self.process.kill()

    def ended(self) -> int:
        """The exit code; nothing was logged, hence no traceback."""
        _, said = self.process.communicate(timeout=60)
        assert said == ""
        return self.process.returncode


def start(*arguments: object) -> Running:
    """`feynkac serve …` on a free port."""
    program = "from feynkac.interfaces.cli import main; main()"
    command = [sys.executable, "-c", program, "serve", "--port", "0"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*command, *map(str, arguments)], stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.search(r"http://\S+", line)
    if found is None:
        process.kill()
        pytest.fail(line + process.communicate()[1])
    return Running(found[0], process)


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A put with a closed form, and heat with a matrix among its inputs."""
    root = tmp_path_factory.mktemp("served")
    fk.pretrained("black-scholes").save(root / "put")
    fk.solve(fk.HeatParaboloid(dim=2), steps=2, batch_size=64, out=root / "heat")
    return {name: root / name for name in ("put", "heat")}


@pytest.fixture(scope="session")
def put(folders) -> fk.Solution:
    return fk.load(folders["put"])


@pytest.fixture(scope="session")
def server(folders) -> Iterator[Running]:
    running = start(*folders.values())
    try:
        yield running
        assert running.stop() == 0
    finally:
        running.kill()


@pytest.fixture
def starting() -> Iterator[Callable[..., Running]]:
    """Starts another server with these arguments; the test stops it, or else it is killed."""
    begun: list[Running] = []

    def begin(*arguments: object) -> Running:
        begun.append(start(*arguments))
        return begun[-1]

    yield begin
    for running in begun:
        running.kill()
