"""A browser, and a real server with really trained solutions."""

import re
import shutil
import subprocess
import sys
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import feynkac as fk

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="session")
def browser():
    """Debian's chromium, driven by Playwright."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """A good network of four inputs, and a poor one with a vector and a matrix."""
    folder = tmp_path_factory.mktemp("runs")
    fk.solve(fk.BlackScholes(), steps=30, batch_size=128, out=folder / "puts")
    fk.solve(fk.HeatParaboloid(dim=3), steps=2, batch_size=64, out=folder / "heat")
    return [folder / "puts", folder / "heat"]


@dataclass
class Server:
    """`feynkac serve` in a process of its own."""

    folders: list[Path]
    port: int = 0
    process: subprocess.Popen | None = field(default=None, repr=False)

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}/"

    def start(self):
        command = [sys.executable, "-m", "feynkac.interfaces.cli", "serve", *self.folders]
        command = [*map(str, command), "--port", str(self.port)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                return self
        raise AssertionError(f"the server did not start: {''.join(lines)}")

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def ask(self, path, body=None):
        import json

        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, data=data, headers=headers)
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)


@pytest.fixture(scope="module")
def server(runs):
    """Serves both runs."""
    found = Server(runs).start()
    yield found
    found.stop()


@dataclass
class Watched:
    """A page, and what went wrong in it."""

    page: object
    base: str
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def _said(self, message):
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def open(self, fragment=""):
        self.page.goto(self.base + fragment)
        self.settle()
        return self.page

    def settle(self):
        """Wait until every number on the page answers the newest question."""
        self.page.wait_for_function(
            "() => { const all = [...document.querySelectorAll('[data-wanted]')];"
            " return all.length > 0 && all.every(e => e.dataset.key === e.dataset.wanted); }"
        )

    def check(self):
        """No error, and no request to another host."""
        assert self.errors == []
        outside = [u for u in self.requests if not u.startswith((self.base, "blob:", "data:"))]
        assert outside == []


@pytest.fixture
def watched(browser, server):
    """A wide page in light colours on the server; at the end, nothing went wrong in it."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light")
    found = Watched(context.new_page(), server.address)
    yield found
    context.close()
    found.check()
