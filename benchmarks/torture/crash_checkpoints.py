"""Checkpoints that were cut or flipped: refused, or the same bits."""

import random
import tempfile
from pathlib import Path

import torch
from benchmarks.torture.promise import Promise, Trial
from benchmarks.torture.small_runs import SETTINGS, train

import feynkac as fk
from feynkac.errors import ArtifactError, Interrupted
from feynkac.preparation import make_run
from feynkac.training.checkpoint import load_checkpoint
from feynkac.training.state import State, begin


def _try(trial: Trial) -> None:
    rng = random.Random(3)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "run" / "checkpoint.safetensors"
        for settings in ({"steps": 60}, {"budget": 5.0}):
            for part in Path(name).glob("run/*"):
                part.unlink()
            _stop_early(path.parent, settings)
            whole = path.read_bytes()
            good, identity = _state(settings)
            load_checkpoint(good, path, identity)
            cuts = [whole[: rng.randrange(len(whole))] for _ in range(trial.count(100))]
            flips = [_flipped(whole, rng) for _ in range(trial.count(500))]
            for content in cuts + flips:
                path.write_bytes(content)
                with trial.case(f"{len(content)} bytes of {len(whole)}"):
                    _load(path, good, settings, identity)


def _stop_early(folder: Path, settings: dict) -> None:
    try:
        train(folder, report=lambda progress: progress.step == 7, **settings)
    except Interrupted:
        return
    raise RuntimeError("the run was not interrupted")


def _state(settings: dict) -> tuple[State, str]:
    family = fk.BlackScholes()
    chosen = {k: v for k, v in SETTINGS.items() if k != "method"} | settings
    run = make_run(family, "paper", chosen)
    method = run.method
    return begin(method.architecture, method.optimiser, family, run.training, "cpu"), run.identity


def _load(path: Path, good: State, settings: dict, identity: str) -> None:
    state, _ = _state(settings)
    before = {name: tensor.clone() for name, tensor in state.tensors().items()}
    try:
        load_checkpoint(state, path, identity)
    except ArtifactError:
        good = None
    expected = before if good is None else good.tensors()
    found = state.tensors()
    assert found.keys() == expected.keys(), "other tensors"
    assert all(torch.equal(found[name], expected[name]) for name in found), "other bits"


def _flipped(content: bytes, rng: random.Random) -> bytes:
    spoilt = bytearray(content)
    spoilt[rng.randrange(len(spoilt))] ^= 1 << rng.randrange(8)
    return bytes(spoilt)


CHECKPOINTS = Promise(
    "crash: damaged checkpoints",
    "A checkpoint that is not as it was written is refused, and nothing of it is used.",
    "Cut at random places, and single bits flipped at random places, of runs with a given length "
    "and with a budget.",
    _try,
)
