"""Processes that may die, hang or grow: forked from this one, so that torch is imported once."""

import contextlib
import io
import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from feynkac.benchmarks.bench import peak_memory, reset_peak_memory

_processes = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class End:
    """How a child ended."""

    value: Any = None
    """What its function returned."""
    code: int | None = None
    """Exit code, minus the signal that ended it, or None if it had to be killed."""
    output: str = ""
    """What it printed, and its traceback."""
    seconds: float = 0.0
    megabytes: float = 0.0
    """By which its memory grew."""


def start(function: Callable[[], Any]) -> tuple[Any, Connection]:
    """A child that computes `function()`, and where its answer will come from."""
    ours, theirs = _processes.Pipe(duplex=False)
    child = _processes.Process(target=_work, args=(function, theirs))
    child.start()
    theirs.close()
    return child, ours


def finish(child: Any, answers: Connection, patience: float) -> End:
    """Wait for the end of a child; after `patience` seconds it is killed."""
    began = time.perf_counter()
    value, output, seconds, megabytes, killed = None, "", 0.0, 0.0, False
    try:
        if answers.poll(patience):
            value, output, seconds, megabytes = answers.recv()
        else:
            killed = True
    except EOFError:  # it died
        pass
    child.join(5.0)
    if child.exitcode is None:
        killed = True
        os.kill(child.pid, signal.SIGKILL)
        child.join()
    answers.close()
    code = None if killed else child.exitcode
    return End(value, code, output, seconds or time.perf_counter() - began, megabytes)


def run(function: Callable[[], Any], patience: float = 60.0) -> End:
    """`function()` in a child of its own."""
    return finish(*start(function), patience)


def _work(function: Callable[[], Any], answers: Connection) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    out, code, value = io.StringIO(), 0, None
    reset_peak_memory()
    before, began = peak_memory(), time.perf_counter()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            value = function()
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
        except BaseException:
            traceback.print_exc()
            code = 99
    answers.send((value, out.getvalue(), time.perf_counter() - began, peak_memory() - before))
    answers.close()
    os._exit(code)
