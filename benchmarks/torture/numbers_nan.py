"""NaN, infinity or failing linear algebra inside a training step."""

import itertools
import math
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from benchmarks.torture.promise import Promise, Trial
from benchmarks.torture.small_runs import differences

import feynkac as fk
from feynkac import execution
from feynkac.errors import NonFiniteError
from feynkac.training.objective import Objective
from feynkac.training.state import State

STEPS = 12
METHODS = {
    "paper": {"method": "paper", "architecture": fk.Multilevel(levels=2, factor=2)},
    "fast": {"method": "fast", "architecture": fk.Smooth(width=8, depth=2), "paths": 8},
}
SETTINGS = {"steps": STEPS, "batch_size": 32, "evaluations": 3, "seed": 5}
VALUES = (math.nan, math.inf, -math.inf)
PLACES = (
    "label",
    "slope",
    "gradient",
    "loss",
    "algebra in labels",
    "algebra in the step",
    "update",
)


def _try(trial: Trial) -> None:
    rng = random.Random(4)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in METHODS:
            _train(folder / kind, kind)
        kinds = itertools.cycle(itertools.product(METHODS, PLACES))
        for index, (kind, place) in enumerate(itertools.islice(kinds, trial.count(112, 14))):
            if kind == "paper" and place == "slope":
                continue  # it fits none
            step, value = rng.randrange(2, STEPS), rng.choice(VALUES)
            with trial.case(f"{value} in the {place} of step {step}, {kind}"):
                _disturb(folder / str(index), folder / kind, kind, place, step, value)


def _train(run: Path, kind: str, **settings: Any) -> fk.Solution:
    return fk.solve(fk.BlackScholes(), out=run, **METHODS[kind], **SETTINGS, **settings)


def _disturb(run: Path, straight: Path, kind: str, place: str, step: int, value: float) -> None:
    """The error names the step; afterwards the run continues as if nothing had happened."""
    said = None
    try:
        with injected(place, step, value):
            _train(run, kind, checkpoint_seconds=1e-9)
    except NonFiniteError as error:
        said = str(error)
    if place == "slope":  # such slopes are left out, see `sobolev.py`
        assert said is None, said
        good = fk.load(run).network.parameters()
        assert all(parameter.isfinite().all() for parameter in good), "not finite"
        return
    assert said is not None, "nobody noticed"
    found = int(said.removeprefix("step ").partition(":")[0])
    noticed = (step, step + 1) if place == "update" else (step,)
    assert found in noticed, said
    assert "last good state is kept" in said, said
    assert (run / "checkpoint.safetensors").exists(), "no state was kept"
    _train(run, kind)
    why = differences(run, straight)
    assert not why, why


@contextmanager
def injected(place: str, step: int, value: float) -> Iterator[None]:
    """Spoil one thing at one step of whatever is trained meanwhile."""
    begin = execution.begin

    def spoilt(*arguments: Any, **named: Any) -> State:
        state: State = begin(*arguments, **named)
        _spoil_updates(state, place, step, value)
        return state

    kinds = [fk.Fast, fk.Paper]
    real = [kind.objective for kind in kinds]
    execution.begin = spoilt
    for kind, make in zip(kinds, real, strict=True):
        kind.objective = _spoiling(make, place, step, value)
    try:
        yield
    finally:
        execution.begin = begin
        for kind, make in zip(kinds, real, strict=True):
            kind.objective = make


def _spoil_updates(state: State, place: str, step: int, value: float) -> None:
    if place != "update":
        return
    real = state.optimiser.step

    def update() -> None:
        real()
        if state.step + 1 == step:
            next(state.network.parameters()).data.view(-1)[0] = value

    state.optimiser.step = update


def _spoiling(make: Callable[..., Objective], place: str, step: int, value: float) -> Any:
    def objective(*arguments: Any, **named: Any) -> Objective:
        return _Spoilt(make(*arguments, **named), place, step, value)

    return objective


class _Spoilt(Objective):
    """An objective of which one thing goes wrong, once."""

    def __init__(self, real: Objective, place: str, step: int, value: float) -> None:
        self.real, self.place, self.step, self.value = real, place, step, value
        self.whole, self.steps = real.whole, 0

    def sample(self, generator: torch.Generator) -> Any:
        self.steps += 1
        batch = self.real.sample(generator)
        if self._now("algebra in labels"):
            torch.linalg.cholesky(-torch.eye(3))
        if self._now("label"):
            batch.values.view(-1)[0] = self.value
        if self._now("slope"):
            batch.gradients.view(-1)[0] = self.value
        return batch

    def with_paths(self, paths: int) -> Any:
        return _Spoilt(self.real.with_paths(paths), self.place, self.step, self.value)

    def differentiate(self, network: Any, batch: Any, optimiser: Any) -> torch.Tensor:
        if self._now("algebra in the step"):
            torch.linalg.solve(torch.zeros(2, 2), torch.ones(2))
        loss = self.real.differentiate(network, batch, optimiser)
        if self._now("gradient"):
            next(network.parameters()).grad.view(-1)[0] = self.value
        return loss * self.value if self._now("loss") else loss

    def _now(self, place: str) -> bool:
        return self.place == place and self.steps == self.step


NANS = Promise(
    "numbers: NaN inside a step",
    "A NaN, an infinity or a matrix without inverse stops the run within one step, names it, and "
    "keeps the last good state.",
    "Injected at random steps into labels, gradients, losses, parameters and linear "
    "algebra, for both methods; the resumed run ends with the bits of an undisturbed one. Slopes "
    "of labels that are not finite are left out, and the run continues.",
    _try,
)
