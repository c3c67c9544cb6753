"""Load on the service: requests of 100 points from 8 and 50 connections; memory over time.

Starts a server on this machine's loopback address, asks it with wrk (or, without wrk, with a loader
in Python) and stops it. Targets on two quiet cores: at least 1,000 requests per second, 99 % within
50 ms (8 connections) and 150 ms (50), no errors; memory grows by less than 1 MB per minute.
"""

import argparse
import json
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

POINTS = 100
RANGES = {"x": (9.0, 10.0), "t": (0.0, 1.0), "sigma": (0.1, 0.6), "strike": (10.0, 12.0)}
CONNECTIONS = {8: 0.050, 50: 0.150}
"""Connections, and the time within which 99 % must be answered."""
PAGE, MARK = Path(__file__).parents[1] / "docs" / "service.md", "<!-- load -->"
PROGRAM = "from feynkac.interfaces.cli import main; main()"
LATENCY = re.compile(r"99%\s+([\d.]+)(us|ms|s|m)\b")
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}


def main() -> None:
    """Parse options, load, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, help="a run of black-scholes; default: train one")
    parser.add_argument("--seconds", type=int, default=60, help="of each load")
    parser.add_argument("--soak", type=float, default=0.0, help="minutes of 8 connections")
    parser.add_argument("--steps", type=int, default=300, help="of the training")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into docs/service.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = options.run or train(Path(folder) / "put", options.steps)
        result = measure(run, Path(folder), options.seconds, options.soak)
    print(json.dumps(result) if options.json else "\n".join(lines(result)))
    if options.write:
        write(result)


def write(result: dict) -> None:
    """The table at the end of docs/service.md."""
    rows = ["| connections | requests per second | 99 % within | errors |", "|---|---|---|---|"]
    for connections, found in result["loads"].items():
        p99 = f"{1000 * found['p99']:.1f} ms"
        rows.append(f"| {connections} | {found['rate']:,.0f} | {p99} | {found['errors']} |")
    if soak := result.get("soak"):
        rows += [
            "",
            f"{soak['minutes']:g} minutes of 8 connections: {soak['rate']:,.0f} requests a second, "
            f"99 % within {1000 * soak['p99']:.1f} ms,",
            f"{soak['errors']} errors; {soak['memory_mb']:.0f} MB of memory, which changed by "
            f"{soak['mb_per_minute']:+.2f} MB per minute in the second half.",
        ]
    head = PAGE.read_text().partition(MARK)[0]
    PAGE.write_text("\n".join([f"{head}{MARK}", "", *rows, ""]))


def train(folder: Path, steps: int) -> Path:
    """A solution to ask."""
    import feynkac as fk

    fk.solve(fk.BlackScholes(), steps=steps, evaluations=1, out=folder)
    return folder


def measure(run: Path, folder: Path, seconds: int, soak: float) -> dict:
    """All loads against one server."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "serve", str(run), "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        url = re.search(r"http://\S+", process.stderr.readline())[0]
        target = f"{url}v1/solutions/{run.name}/value"
        loads = {str(c): load(target, c, seconds, folder) for c in CONNECTIONS}
        found = {"points": POINTS, "seconds": seconds, "loads": loads}
        if soak:
            found["soak"] = soaked(target, soak, folder, process.pid)
        return found
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def body() -> str:
    """100 random points."""
    draw = random.Random(1)
    columns = {n: [round(draw.uniform(*r), 6) for _ in range(POINTS)] for n, r in RANGES.items()}
    return json.dumps({"at": columns})


def load(url: str, connections: int, seconds: int, folder: Path) -> dict:
    """Requests per second, 99 % latency and errors."""
    if shutil.which("wrk") is None:
        return load_in_python(url, connections, seconds)
    script = folder / "wrk.lua"
    script.write_text(
        'wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\n'
        f"wrk.body = {json.dumps(body())}\n"
    )
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s"]
    command += ["--latency", "-s", str(script), url]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    number, unit = LATENCY.search(text).groups()
    errors = sum(map(int, re.findall(r"(?:connect|read|write|timeout) (\d+)", text)))
    errors += sum(map(int, re.findall(r"Non-2xx or 3xx responses: (\d+)", text)))
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])
    return {"by": "wrk", "rate": rate, "p99": float(number) * UNITS[unit], "errors": errors}


def load_in_python(url: str, connections: int, seconds: int) -> dict:
    """The same from threads; slower than wrk, so the rate is a lower bound."""
    import http.client
    from urllib.parse import urlsplit

    address, content = urlsplit(url), body().encode()
    took, errors, end = [], [], time.monotonic() + seconds

    def ask() -> None:
        client = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
        while time.monotonic() < end:
            began = time.perf_counter()
            client.request("POST", address.path, content, {"Content-Type": "application/json"})
            answer = client.getresponse()
            answer.read()
            took.append(time.perf_counter() - began)
            if answer.status != 200:
                errors.append(answer.status)

    threads = [threading.Thread(target=ask) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    p99 = sorted(took)[int(0.99 * len(took))]
    return {"by": "threads", "rate": len(took) / seconds, "p99": p99, "errors": len(errors)}


def soaked(url: str, minutes: float, folder: Path, pid: int) -> dict:
    """Memory of the server under load, by least squares over the second half."""
    seen: list[tuple[float, float]] = []
    done = threading.Event()

    def watch() -> None:
        while not done.wait(1.0):
            seen.append((time.monotonic() / 60.0, megabytes(pid)))

    watching = threading.Thread(target=watch)
    watching.start()
    found = load(url, 8, max(1, round(60 * minutes)), folder)
    done.set()
    watching.join()
    return found | {"minutes": minutes, "memory_mb": seen[-1][1], "mb_per_minute": slope(seen)}


def megabytes(pid: int) -> float:
    """Resident memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def slope(seen: list[tuple[float, float]]) -> float:
    """Of memory over time, in the second half."""
    half = seen[len(seen) // 2 :]
    t, m = (sum(v) / len(half) for v in zip(*half, strict=True))
    spread = sum((a - t) ** 2 for a, _ in half)
    return sum((a - t) * (b - m) for a, b in half) / spread if spread else 0.0


def lines(result: dict) -> list[str]:
    """For people."""
    shown = []
    for connections, found in result["loads"].items():
        limit = CONNECTIONS[int(connections)]
        met = found["rate"] >= 1000 and found["p99"] <= limit and not found["errors"]
        shown.append(
            f"{connections:>3} connections: {found['rate']:.0f} requests/s, 99 % within "
            f"{1e3 * found['p99']:.1f} ms (target {1e3 * limit:.0f}), {found['errors']} errors: "
            f"{'met' if met else 'missed'}"
        )
    if soak := result.get("soak"):
        shown.append(
            f"soak of {soak['minutes']:g} min: {soak['rate']:.0f} requests/s, {soak['errors']} "
            f"errors, {soak['memory_mb']:.0f} MB, {soak['mb_per_minute']:+.2f} MB/min"
        )
    return shown


if __name__ == "__main__":
    main()
