"""A server in a process of its own, and a page that is watched for errors."""

import json
import re
import subprocess
import sys
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

FEYNKAC = [sys.executable, "-c", "from feynkac.interfaces.cli import main; main()"]


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
        command = [*FEYNKAC, "serve", *map(str, self.folders), "--port", str(self.port)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                return self
        self.stop()
        raise AssertionError(f"the server did not start: {''.join(lines)}")

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, data=data, headers=headers)
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)


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
