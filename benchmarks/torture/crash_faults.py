"""Ctrl-C and SIGTERM at random times; a disk that is full, read-only or failing for a while."""

import contextlib
import errno
import itertools
import os
import random
import resource
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.torture import children
from benchmarks.torture.promise import Promise, Trial
from benchmarks.torture.small_runs import straight, train

from feynkac.errors import InputError, Interrupted

STEPS = 100
OFTEN = {"steps": STEPS, "checkpoint_seconds": 1e-3}
ERRORS = (errno.ENOSPC, errno.EROFS, errno.EIO, errno.EDQUOT, errno.EACCES)


def _try_signals(trial: Trial) -> None:
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        same = straight(folder / "straight", steps=STEPS)
        for index in range(trial.count(60)):
            run, number = folder / str(index), rng.choice((signal.SIGINT, signal.SIGTERM))
            child, answers = children.start(lambda run=run: _until_stopped(run))
            time.sleep(rng.uniform(0.0, 0.5))
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, number)
            end = children.finish(child, answers, 60.0)
            good = end.code in (0, -number) or (
                end.code == 99 and "KeyboardInterrupt" in end.output
            )
            why = "" if good else f"exit {end.code}: {end.output[-300:]}"
            train(run, STEPS)
            why = why or same(run)
            trial.check(not why, f"{number.name}: {why}")


def _until_stopped(run: Path) -> str:
    try:
        train(run, STEPS, checkpoint_seconds=0.01)
    except Interrupted as stopped:
        assert (run / "checkpoint.safetensors").exists(), "the state was not kept"
        return str(stopped)
    return "done"


SIGNALS = Promise(
    "crash: Ctrl-C and SIGTERM",
    "A stopped run keeps its state and resumes to the bit.",
    "Signals at random times from the start of the process to the end of the run.",
    _try_signals,
)


def _try_disks(trial: Trial) -> None:
    rng = random.Random(2)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        same = straight(folder / "straight", steps=STEPS)
        for index in range(trial.count(120)):
            run, fault = folder / str(index), _fault(rng)
            end = children.run(lambda run=run, fault=fault: _under(fault, run))
            why = "" if end.code == 0 else f"exit {end.code}: {end.output[-300:]}"
            if end.code == 0 and not (run / "manifest.json").exists():
                train(run, STEPS)
            why = why or same(run)
            trial.check(not why, f"{fault.__name__}: {why}")


def _under(fault: Callable[[], Any], run: Path) -> None:
    """With a fault, the run ends well, or with one sentence; then nothing is half written."""
    said = None
    try:
        with fault():
            train(run, **OFTEN)
    except InputError as error:
        said = str(error)
    if said is not None:
        assert "cannot " in said, said
        assert "\n" not in said, said
        left = [path.name for path in run.iterdir()] if run.exists() else []
        assert not [name for name in left if name.endswith(".tmp")], left


def _fault(rng: random.Random) -> Callable[[], Any]:
    kind = rng.choice((_full_disk, _failing, _failing))
    return kind(rng)


def _full_disk(rng: random.Random) -> Callable[[], Any]:
    """No file may grow beyond some size, as the kernel has it on a full disk."""
    size = rng.choice((0, 1, 100, 1000, 2000, 5000, 10_000, 20_000))

    @contextlib.contextmanager
    def full_disk() -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    full_disk.__name__ = f"files of at most {size} bytes"
    return full_disk


def _failing(rng: random.Random) -> Callable[[], Any]:
    """A system call fails from its n-th time on, for a while or for good."""
    name, code = rng.choice(("fsync", "replace", "open")), rng.choice(ERRORS)
    first, length = rng.randrange(1, 80), rng.choice((1, 5, 10**9))

    @contextlib.contextmanager
    def failing() -> Iterator[None]:
        real, count = getattr(os, name), itertools.count(1)

        def call(*arguments: Any, **named: Any) -> Any:
            if first <= next(count) < first + length:
                raise OSError(code, os.strerror(code))
            return real(*arguments, **named)

        setattr(os, name, call)
        try:
            yield
        finally:
            setattr(os, name, real)

    failing.__name__ = f"{name} fails with {errno.errorcode[code]} from {first} for {length}"
    return failing


DISKS = Promise(
    "crash: bad disks",
    "What cannot be written is said in one sentence; nothing is half written or lost.",
    "Files of bounded size as on a full disk; fsync, rename and open that fail from some call on "
    "(no space, read-only, input/output error, quota, no permission), once or for good. "
    "Afterwards the run ends on a good disk as if nothing had happened, to the bit.",
    _try_disks,
)
