"""A search on Ray: Ray Tune with ASHA, and Optuna as searcher.

Each trial has one CPU with one thread, or one GPU if there are any. The default runs under the same
conditions.
"""

import logging
import os
import shutil
from pathlib import Path
from typing import Any

import optuna
import ray
import torch
from ray import tune

from feynkac.errors import NonFiniteError
from feynkac.interfaces.application import debugging, import_used
from feynkac.interfaces.ray.proposals import WORST, Halving, Proposals
from feynkac.methods.space import Space
from feynkac.solution import Solution
from feynkac.training.loop import Progress
from feynkac.tuning.trials import ENDED, Search, Trials, train_trial
from feynkac.tuning.verdict import Verdict, judge

DIVERGED = (NonFiniteError, torch.linalg.LinAlgError)  # type: ignore[attr-defined]
FAILURES = 3  # of a trial's process, after which the trial ends
SILENT = {
    "RAY_AIR_NEW_OUTPUT": "0",  # the new output of Tune cannot be silenced
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # Ctrl-C ends the program, not one part of it
}


def run_trials(search: Search, space: Space, trials: Trials, count: int) -> list[Exception]:
    """Run trials until `count` of them have ended; returns the errors of those that failed."""
    left = count - sum(trial.status in ENDED for trial in trials.read())
    if left <= 0:
        return []
    os.environ.update(SILENT)
    if not debugging():
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        logging.getLogger("ray.tune").setLevel(logging.CRITICAL)  # it continues after failures
    own = trials.folder / "ray"  # not needed afterwards
    tuner = tune.Tuner(
        tune.with_resources(run_trial, {"cpu": 1, "gpu": _gpus()}),
        param_space={"folder": str(trials.folder)},
        tune_config=tune.TuneConfig(
            metric="l1",
            mode="min",
            search_alg=Proposals(space, trials, search.seed, count),
            scheduler=Halving(search.budget),
            num_samples=left,
        ),
        run_config=tune.RunConfig(
            name=own.name,
            storage_path=str(own.parent),
            failure_config=tune.FailureConfig(max_failures=FAILURES),
            verbose=0,
        ),
    )
    try:
        return list(tuner.fit().errors)
    finally:
        shutil.rmtree(own, ignore_errors=True)


def run_trial(config: dict[str, Any]) -> None:
    """In a process of its own: train, and report every evaluation."""
    _prepare()
    trials = Trials(Path(config["folder"]))
    search, trial = trials.search(), trials.trial(config["number"])

    def report(progress: Progress) -> None:
        if progress.record:
            l1 = progress.record["l1"]
            tune.report({"l1": WORST if l1 is None else l1, "seconds": progress.seconds})

    try:
        train_trial(search, trial.method, search.seed, trials.path(trial.number), report)
    except DIVERGED:
        tune.report({"l1": WORST, "seconds": search.budget, "diverged": True})


def train_again(search: Search, trials: Trials, repeats: int) -> Verdict:
    """Train the best trial and the default with `repeats` other seeds, and compare them.

    If `repeats` is 0, the trials themselves are compared on fresh inputs.
    """
    best, default = trials.best(), trials.trial(0)
    if best is None or best.number == default.number:
        return judge(0, {})
    seeds = [search.seed + 1 + i for i in range(repeats)] or [search.seed]
    train = ray.remote(num_cpus=1, num_gpus=_gpus(), max_calls=1, max_retries=FAILURES)(train_once)
    folder = str(trials.folder)
    under_way = {s: [train.remote(folder, t.number, s) for t in (best, default)] for s in seeds}
    family = search.found()

    def load(trained: Any) -> Solution | None:
        found = ray.get(trained)
        return Solution.load(Path(found), family) if found else None

    return judge(best.number, {s: (load(b), load(d)) for s, (b, d) in under_way.items()})


def train_once(folder: str, number: int, seed: int) -> str | None:
    """The folder of a training with the settings of a trial; None if it diverges."""
    _prepare()
    trials = Trials(Path(folder))
    search = trials.search()
    if seed == search.seed:
        finished = trials.trial(number).status == "finished"
        return str(trials.path(number)) if finished else None
    place = trials.folder / "again" / f"{number:03}-seed{seed}"
    try:
        train_trial(search, trials.trial(number).method, seed, place)
    except DIVERGED:
        return None
    return str(place)


def _prepare() -> None:
    """Prepare a process before the clock of its trial starts."""
    import torch._dynamo  # torch's evaluations would, in seconds that vary with the machine's load

    import_used()
    torch.set_num_threads(1)


def _gpus() -> int:
    return min(1, int(ray.cluster_resources().get("GPU", 0)))
