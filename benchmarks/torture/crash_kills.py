"""SIGKILL while training and while saving; with a budget, too."""

import contextlib
import itertools
import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.torture import children
from benchmarks.torture.promise import Promise, Trial
from benchmarks.torture.small_runs import differences, straight, train

PATIENCE = 300.0
STEPS = 400


def _try(trial: Trial) -> None:
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        same = straight(folder / "straight", steps=STEPS, checkpoint_seconds=0.05)
        anytime, saving, planned = trial.count(100), trial.count(60), trial.count(40)
        rounds = itertools.count()

        def repeat(kills: int, life: Callable[[Path], bool], what: str) -> None:
            done = 0
            while done < kills:
                run = folder / f"{what}-{next(rounds)}"
                found = 0
                while done + found < kills and life(run):
                    found += 1
                done += found
                end = children.run(partial(_complete, run, steps=STEPS), PATIENCE)
                why = same(run) if end.code == 0 else f"exit {end.code}: {end.output[-300:]}"
                trial.check(not why, f"{what}, {found} kills: {why}")
                trial.cases += max(found, 1) - 1
                shutil.rmtree(run)

        repeat(anytime, lambda run: _killed_anytime(run, rng), "anytime")
        repeat(saving, lambda run: _killed_while_saving(run, rng), "while saving")
        _with_budgets(trial, folder, planned, rng)


OFTEN = {"checkpoint_seconds": 0.02}


def _complete(run: Path, **settings: Any) -> None:
    train(run, **{**OFTEN, **settings})


def _killed_anytime(run: Path, rng: random.Random) -> bool:
    """Kill a process some time after its first step; False if it was done before."""
    return _one_life(lambda watch: train(run, STEPS, report=watch, **OFTEN), rng.uniform(0.0, 0.4))


def _one_life(work: Callable[[Any], Any], seconds: float) -> bool:
    read, write = os.pipe()

    def body() -> None:
        born = []

        def watch(_progress: Any) -> None:
            if not born:
                born.append(os.write(write, b"1"))

        work(watch)

    child, answers = children.start(body)
    os.close(write)
    with contextlib.suppress(OSError):
        os.read(read, 1)
    os.close(read)
    time.sleep(seconds)
    alive = child.is_alive()
    child.kill()
    child.join()
    answers.close()
    return bool(alive and child.exitcode == -signal.SIGKILL)


def _killed_while_saving(run: Path, rng: random.Random) -> bool:
    """A process that ends itself before or after its n-th fsync or rename."""
    left, after = rng.randrange(1, 60), rng.random() < 0.5

    def body() -> None:
        count = itertools.count(1)

        def deadly(real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any) -> Any:
                last = next(count) == left
                if last and not after:
                    os.kill(os.getpid(), signal.SIGKILL)
                found = real(*arguments)
                if last:
                    os.kill(os.getpid(), signal.SIGKILL)
                return found

            return call

        os.fsync, os.replace = deadly(os.fsync), deadly(os.replace)
        train(run, STEPS, checkpoint_seconds=1e-3)

    return children.run(body, PATIENCE).code == -signal.SIGKILL


def _with_budgets(trial: Trial, folder: Path, kills: int, rng: random.Random) -> None:
    """Runs that plan anew: what they have decided can be repeated to the bit."""
    while kills > 0:
        run, again = folder / f"budget-{kills}", folder / f"again-{kills}"
        budget = {"budget": 2.0, "evaluations": 1, **OFTEN}
        found = 0
        while found < min(kills, 8) and _one_life(
            lambda watch, run=run, budget=budget: train(run, report=watch, **budget),
            rng.uniform(0.0, 0.25),
        ):
            found += 1
        kills -= max(found, 1)
        end = children.run(partial(_complete, run, **budget), PATIENCE)
        again.mkdir()
        if end.code == 0:
            shutil.copy(run / "run.json", again)
            end = children.run(partial(_complete, again, **budget), PATIENCE)
        why = f"{end.code}: {end.output[-300:]}"
        if end.code == 0:  # how many inputs the error is measured with depends on the time left
            why = differences(run, again, measured=("step", "loss"))
        trial.check(not why, f"budget, {found} kills: {why}")
        trial.cases += max(found, 1) - 1


KILLS = Promise(
    "crash: SIGKILL",
    "A killed run resumes, and its result is that of a run nobody disturbed, to the bit.",
    "Kills at random times, kills before or after every kind of fsync and rename, and kills of "
    "runs with a budget, whose recorded plan is then repeated from the start. Compared: all "
    "weights, the history of losses and errors (with a budget: of losses), the files left. All "
    "crashes are those of the paper's method on a small Black–Scholes network; the fast method is "
    "resumed in the trial of NaNs.",
    _try,
)
