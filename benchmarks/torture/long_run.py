"""A long training with checkpoints: memory and file handles do not grow."""

import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.torture import children
from benchmarks.torture.promise import Promise, Trial
from benchmarks.torture.small_runs import train

LIMIT = 5.0  # MB per hour
SETTLED = 0.3  # share of the run after which memory is watched
SECONDS = float(os.environ.get("TORTURE_SECONDS", "60"))
"""Of the run; an hour is 3600."""


@dataclass
class _Watch:
    """Memory in MB and open handles, at times in hours."""

    began: float = field(default_factory=time.perf_counter)
    rows: list[tuple[float, float, int]] = field(default_factory=list)

    def __call__(self, _progress: Any) -> None:
        now = time.perf_counter() - self.began
        if not self.rows or now / 3600 > self.rows[-1][0] + 0.25 / 3600:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            size = pages * os.sysconf("SC_PAGESIZE") / 2**20
            self.rows.append((now / 3600, size, len(os.listdir("/proc/self/fd"))))


def _train(folder: Path, seconds: float) -> list[tuple[float, float, int]]:
    watch = _Watch()
    train(folder, budget=seconds, checkpoint_seconds=0.2, report=watch, evaluations=1000)
    return watch.rows


def _try(trial: Trial) -> None:
    seconds = 10.0 if trial.quick else SECONDS
    with tempfile.TemporaryDirectory() as name:
        end = children.run(lambda: _train(Path(name) / "run", seconds), 2 * seconds + 60)
    if end.code != 0:
        return trial.check(False, f"exit {end.code}: {end.output[-300:]}")
    rows = [row for row in end.value if row[0] > SETTLED * seconds / 3600]
    hours, megabytes, handles = (
        np.array(column, dtype=float) for column in zip(*rows, strict=True)
    )
    slope, error = _slope(hours, megabytes)
    trial.check(slope - 3.0 * error < LIMIT, f"memory grows by {slope:.1f} ± {error:.1f} MB/h")
    trial.check(handles[-1] <= handles[0], f"{handles[0]:.0f} handles became {handles[-1]:.0f}")
    trial.figures |= {
        "length": f"{seconds:g} s",
        "memory slope": f"{slope:.1f} ± {error:.1f} MB/h",
        "range": f"{np.ptp(megabytes):.2f} MB",
        "handles": f"{handles[0]:.0f} → {handles[-1]:.0f}",
    }
    return None


def _slope(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Of a line through the points, and its standard error."""
    (slope, offset), error = np.polyfit(x, y, 1), 0.0
    rest = y - slope * x - offset
    if len(x) > 2:
        error = float(np.sqrt(rest @ rest / (len(x) - 2) / ((x - x.mean()) ** 2).sum()))
    return float(slope), error


LONG_RUN = Promise(
    "long run",
    f"Memory does not grow by {LIMIT:g} MB per hour of training; no file handle is left open.",
    "A training with five checkpoints a second and many evaluations; memory and handles four times "
    "a second; a failure is a slope that is larger by three standard errors. By default a minute; "
    "TORTURE_SECONDS=3600 makes it an hour.",
    _try,
)
