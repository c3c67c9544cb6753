"""The program in a process of its own, with all that it starts."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

MAIN = "from feynkac.interfaces.cli import main; main()"


class Program:
    """`feynkac …` in a new process group, its output in files."""

    def __init__(
        self, folder: Path, *arguments: object, code: str = MAIN, **environment: str
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.out, self.err = folder / "stdout", folder / "stderr"
        with self.out.open("w") as out, self.err.open("w") as err:
            self._process = subprocess.Popen(
                [sys.executable, "-c", code, *map(str, arguments)],
                stdout=out,
                stderr=err,
                env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
                start_new_session=True,
            )

    def wait_for(self, text: str, seconds: float = 240.0) -> None:
        """Until `text` is on standard error."""
        wait_until(lambda: text in self.err.read_text() or self._process.poll(), seconds)
        assert text in self.err.read_text(), self.err.read_text()

    def interrupt(self) -> None:
        """Ctrl-C: the signal goes to the whole group."""
        os.killpg(self._process.pid, signal.SIGINT)

    def terminate(self) -> None:
        """SIGTERM to the program alone."""
        self._process.terminate()

    def end(self, seconds: float = 300.0) -> int:
        """The exit code."""
        return self._process.wait(seconds)

    def family(self) -> dict[int, str]:
        """All its processes and theirs, by number, with their command lines."""
        parents = {int(p.name): _parent(p) for p in Path("/proc").iterdir() if p.name.isdigit()}
        found: set[int] = set()
        more = {self._process.pid}
        while more:
            found |= more
            more = {pid for pid, parent in parents.items() if parent in found} - found
        return {pid: _command(pid) for pid in found}


def wait_until(condition: Callable[[], object], seconds: float) -> None:
    """Fail if `condition` does not come true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


def alive(pids: dict[int, str]) -> dict[int, str]:
    """Those that still run the same command."""
    return {pid: command for pid, command in pids.items() if command and _command(pid) == command}


def listening(pids: dict[int, str]) -> set[str]:
    """Addresses on which one of them waits for connections, as `ss` sees it."""
    lines = subprocess.run(["ss", "-ltnpH"], capture_output=True, text=True, check=True).stdout
    found = set()
    for line in lines.splitlines():
        if {int(pid) for pid in re.findall(r"pid=(\d+)", line)} & pids.keys():
            found.add(line.split()[3].rpartition(":")[0])
    return found


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:  # it has just ended
        return 0


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()
    except OSError:
        return ""
