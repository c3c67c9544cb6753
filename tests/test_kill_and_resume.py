"""SIGKILL at random times, then go on: the result is that of a run nobody disturbed, to the bit."""

import multiprocessing
import os
import random
import signal
import time
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest
import torch

import feynkac as fk
from feynkac.runs.artifact import MANIFEST, WEIGHTS, read_artifact

STEPS_PER_KILL = 40
LONGEST_LIFE = 0.2  # seconds from a process's first step to its end

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["feynkac.solver", "torch._dynamo"])  # import torch once


def work(folder: Path, steps: int, interval: float, born: Connection, doomed: bool) -> None:
    """Solve and tell the number of the first step; the doomed wait for their end at the last."""
    torch.set_num_threads(1)

    def watch(progress: fk.Progress) -> None:
        if not born.closed:
            born.send(progress.step)
            born.close()
        if doomed and progress.step == steps:
            time.sleep(600)

    fk.solve(
        fk.BlackScholes(),
        method="paper",
        architecture=fk.Multilevel(levels=3, factor=3),
        steps=steps,
        batch_size=64,
        seed=3,
        evaluations=4,
        checkpoint_seconds=interval,
        out=folder,
        report=watch,
    )


def start(
    folder: Path, steps: int, interval: float, doomed: bool = False
) -> tuple[ForkServerProcess, int]:
    """A process that has just done its first step, and the number of that step."""
    ours, theirs = processes.Pipe(duplex=False)
    process = processes.Process(target=work, args=(folder, steps, interval, theirs, doomed))
    process.start()
    theirs.close()
    return process, ours.recv()


def finish(process: ForkServerProcess) -> None:
    process.join(timeout=300)
    assert process.exitcode == 0


def live_and_be_killed(folder: Path, steps: int, interval: float, seconds: float) -> int:
    """One life; the step it began with. All but the first last until there is a checkpoint."""
    first = not folder.exists()
    process, began = start(folder, steps, interval, doomed=True)
    time.sleep(seconds)
    while not (first or (folder / "checkpoint.safetensors").exists()):
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert not (folder / MANIFEST).exists()
    return began


def check_kills(tmp_path: Path, kills: int, interval: float) -> None:
    steps = STEPS_PER_KILL * kills
    killed, straight = tmp_path / "killed", tmp_path / "straight"
    undisturbed, _ = start(straight, steps, interval)
    rng = random.Random(kills)
    lives = [rng.uniform(0.0, LONGEST_LIFE) for _ in range(kills)]
    began = [live_and_be_killed(killed, steps, interval, seconds) for seconds in lives]
    last, resumed_at = start(killed, steps, interval)
    finish(last)
    finish(undisturbed)
    assert began[0] == 1
    assert sorted(began) == began
    assert resumed_at > 1, "nothing was resumed"
    assert_equal_to_the_bit(killed, straight)
    assert sorted(os.listdir(killed)) == [MANIFEST, "metrics.jsonl", "run.json", WEIGHTS]


def assert_equal_to_the_bit(first: Path, second: Path) -> None:
    (a, weights), (b, others) = read_artifact(first), read_artifact(second)
    assert weights.keys() == others.keys()
    assert all(torch.equal(weights[name], others[name]) for name in weights)
    for key in ("step", "loss", "l1"):
        assert [record[key] for record in a.history] == [record[key] for record in b.history]


def test_2_kills_change_no_bit(tmp_path):
    check_kills(tmp_path, kills=2, interval=0.05)


@pytest.mark.slow
def test_20_kills_change_no_bit(tmp_path):
    check_kills(tmp_path, kills=20, interval=0.05)


@pytest.mark.slow
def test_20_kills_of_a_run_that_saves_after_every_step_change_no_bit(tmp_path):
    check_kills(tmp_path, kills=20, interval=1e-6)
