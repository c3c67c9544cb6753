"""The next trials for Ray Tune: first the open ones, then those that Optuna proposes.

Every trial is written into the folder of the search before it starts and when it ends. This folder
is the state of the search; the state of Tune is not kept.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from ray.tune.schedulers import ASHAScheduler, TrialScheduler
from ray.tune.search import Searcher

from feynkac.files import sha256
from feynkac.methods.dimension import Choice, Dimension, Interval
from feynkac.methods.space import Space
from feynkac.runs.artifact import MANIFEST
from feynkac.tuning.trials import ENDED, Status, Trial, Trials

WORST = 1.0
"""The error of a trial without a finite one; the L1 error of u = 0 is smaller."""


class Proposals(Searcher):
    """Proposes points of `space` as trials, and keeps them in `trials`."""

    def __init__(self, space: Space, trials: Trials, seed: int, count: int) -> None:
        super().__init__(metric="l1", mode="min")
        known = trials.read()
        stream = int(sha256(f"{seed}, {len(known)}".encode())[:8], 16)  # another one after resuming
        sampler = optuna.samplers.TPESampler(seed=stream, n_startup_trials=max(4, count // 4))
        self.study = optuna.create_study(sampler=sampler)
        self.space, self.trials = space, trials
        self.distributions = {n: distribution(d) for n, d in space.dimensions.items()}
        self.next_number = len(known)
        self.waiting = [trial for trial in known if trial.status not in ENDED]
        self.running: dict[str, tuple[Trial, optuna.Trial | None]] = {}
        for trial in known:
            if trial.status in ENDED:
                self._learn(trial, trials.last(trial.number).get("l1") or WORST)

    def suggest(self, trial_id: str) -> dict[str, Any]:
        """The number of the next trial, written into the folder."""
        asked = None
        if self.waiting:
            trial = self.waiting.pop(0)
        elif self.next_number == 0:
            trial = self._add(dict(self.space.default))
        else:
            asked = self.study.ask(self.distributions)
            trial = self._add(asked.params)
        self.running[trial_id] = trial, asked
        return {"number": trial.number}

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        """Record how the trial ended, and tell Optuna."""
        trial, asked = self.running.pop(trial_id)
        value = self.trials.last(trial.number).get("l1")
        diverged = bool(result and result.get("diverged"))
        status: Status = "failed" if error else "diverged" if diverged else self._ended(trial)
        self.trials.write(replace(trial, status=status))
        if diverged or value is None:
            value = WORST
        if asked is None:
            self._learn(trial, value)
        else:
            self.study.tell(asked, value)

    def _ended(self, trial: Trial) -> Status:
        finished = (self.trials.path(trial.number) / MANIFEST).exists()
        return "finished" if finished else "stopped"

    def save(self, checkpoint_path: str) -> None:
        """Write an empty file: the folder of the search is the state."""
        Path(checkpoint_path).touch()

    def restore(self, checkpoint_path: str) -> None:
        """Do nothing."""

    def _add(self, values: dict[str, Any]) -> Trial:
        trial = Trial(self.next_number, values, self.space.at(values))
        self.next_number += 1
        return self.trials.write(trial)

    def _learn(self, trial: Trial, value: float) -> None:
        """Tell Optuna about a trial that it did not propose."""
        if self.space.contains(trial.values):
            self.study.add_trial(
                optuna.trial.create_trial(
                    params=trial.values,
                    distributions=self.distributions,
                    value=value,
                )
            )


class Halving(ASHAScheduler):
    """Stops a trial at a quarter or half of its time unless it is in the better half.

    The default always runs to its end, because all others are compared with it.
    """

    def __init__(self, budget: float) -> None:
        super().__init__(
            time_attr="seconds",
            grace_period=budget / 4,  # type: ignore[arg-type]
            max_t=budget / 2,  # type: ignore[arg-type]
            reduction_factor=2,
            stop_last_trials=False,
        )

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        """CONTINUE or STOP."""
        decision: str = super().on_trial_result(tune_controller, trial, result)
        return TrialScheduler.CONTINUE if trial.config["number"] == 0 else decision


def distribution(dimension: Dimension) -> BaseDistribution:
    """The Optuna distribution of a dimension."""
    match dimension:
        case Choice(values):
            return CategoricalDistribution(values)
        case Interval(low, high, log):
            return FloatDistribution(low, high, log=log)
    raise TypeError(f"no distribution for {dimension}")
