"""Every file of a run, mutated: refused in one sentence, or the same as before."""

import json
import pickle
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from benchmarks.torture import children
from benchmarks.torture.promise import Promise, Trial
from benchmarks.torture.small_runs import SETTINGS, train

import feynkac as fk
from feynkac.errors import FeynkacError, Interrupted
from feynkac.files import seal, unseal
from feynkac.methods.preset import read_preset
from feynkac.preparation import make_run
from feynkac.runs.folder import RunFolder
from feynkac.training.state import begin

LONGEST, LARGEST = 1.0, 300.0  # seconds of a case, MB of a hundred
BATCH = 100


def _load(folder: Path) -> Any:
    solution = fk.load(folder)
    weights = {k: v.tolist() for k, v in solution.network.state_dict().items()}
    return solution.manifest, weights, solution.control is not None


def _resume(folder: Path) -> Any:
    """What a run would be continued with."""
    family = fk.BlackScholes()
    settings = {k: v for k, v in SETTINGS.items() if k != "method"}
    run = make_run(family, "paper", settings | {"steps": 60}, folder)
    files = RunFolder(folder)
    files.require(run)
    method = run.method
    state = begin(method.architecture, method.optimiser, family, run.training, "cpu")
    decided = files.decisions()
    files.restore(state, run.identity)
    tensors = {name: tensor.tolist() for name, tensor in state.tensors().items()}
    return decided, tensors, state.step, state.history


def _metrics(folder: Path) -> Any:
    """Only shown while a run is under way: it has no checksum, and must merely be readable."""
    RunFolder(folder).metrics()


def _preset(folder: Path) -> Any:
    return read_preset(folder / "preset.json")


READERS: dict[str, Callable[[Path], Any]] = {
    "manifest.json": _load,
    "weights.safetensors": _load,
    "control/manifest.json": _load,
    "control/weights.safetensors": _load,
    "run.json": _resume,
    "checkpoint.safetensors": _resume,
    "metrics.jsonl": _metrics,
    "preset.json": _preset,
}


def _prepare(folder: Path) -> dict[str, Path]:
    """A finished run with a control, one under way, and a preset."""
    finished, under_way, preset = (folder / name for name in ("finished", "under", "preset"))
    train(finished, 4)
    train(finished / "control", 4, seed=9)
    try:
        train(under_way, 60, report=lambda progress: progress.step == 20)
    except Interrupted:
        preset.mkdir()
    kept = {"kind": "paper", "batch_size": 32}
    (preset / "preset.json").write_bytes(seal(kept))
    of = {_load: finished, _resume: under_way, _metrics: under_way, _preset: preset}
    return {name: of[reader] for name, reader in READERS.items()}


def _try(trial: Trial) -> None:
    with tempfile.TemporaryDirectory() as name:
        folders = _prepare(Path(name))
        for file, folder in folders.items():
            for first in range(0, trial.count(10_000, 200), BATCH):
                end = children.run(lambda f=file, d=folder, s=first: _batch(f, d, s), 300.0)
                trial.cases += BATCH - 1
                failures = end.value if end.code == 0 else [f"exit {end.code}: {end.output[-300:]}"]
                trial.check(not failures, f"{file}: {(failures or ['?'])[0]}")
                if end.megabytes > LARGEST:
                    trial.fail(f"{file}: {end.megabytes:.0f} MB")


def _batch(file: str, folder: Path, seed: int) -> list[str]:
    """Failures among a hundred mutations."""
    rng, reader, failures = random.Random(f"{file} {seed}"), READERS[file], []
    content = (folder / file).read_bytes()
    with tempfile.TemporaryDirectory() as name:
        copy = Path(shutil.copytree(folder, Path(name) / "copy"))
        expected = reader(copy)
        for _ in range(BATCH):
            (copy / file).write_bytes(_mutated(content, rng))
            began = time.perf_counter()
            try:
                same = reader(copy) == expected
                why = "" if same else "it was read, and says something else"
            except FeynkacError as error:
                why = "more than one line" if "\n" in str(error) else ""
            except Exception as error:
                why = f"{type(error).__name__}: {error}"
            seconds = time.perf_counter() - began
            if why or seconds > LONGEST:
                failures.append(why or f"{seconds:.1f} s")
    return failures


def _mutated(content: bytes, rng: random.Random) -> bytes:
    kind = rng.choice((_flip, _flip, _replace, _cut, _insert, _delete, _repeat, _swap, _number))
    return kind(bytearray(content), rng)


def _flip(content: bytearray, rng: random.Random) -> bytes:
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(content)


def _replace(content: bytearray, rng: random.Random) -> bytes:
    content[rng.randrange(len(content))] = rng.randrange(256)
    return bytes(content)


def _cut(content: bytearray, rng: random.Random) -> bytes:
    return bytes(content[: rng.randrange(len(content))])


def _insert(content: bytearray, rng: random.Random) -> bytes:
    at = rng.randrange(len(content))
    return bytes(content[:at] + rng.randbytes(rng.randrange(1, 20)) + content[at:])


def _delete(content: bytearray, rng: random.Random) -> bytes:
    at = rng.randrange(len(content))
    return bytes(content[:at] + content[at + rng.randrange(1, 20) :])


def _repeat(content: bytearray, rng: random.Random) -> bytes:
    at = rng.randrange(len(content))
    return bytes(content[:at] + content[max(0, at - rng.randrange(1, 200)) :])


def _swap(content: bytearray, rng: random.Random) -> bytes:
    one, other = (rng.randrange(len(content)) for _ in range(2))
    content[one], content[other] = content[other], content[one]
    return bytes(content)


def _number(content: bytearray, rng: random.Random) -> bytes:
    """A digit becomes a large number, a negative one, or none."""
    digits = [i for i, byte in enumerate(content[:20_000]) if 48 <= byte < 58]
    at = rng.choice(digits)
    other = rng.choice((b"9" * 30, b"-1", b"1e308", b"NaN", b'"x"', b"null", b"[]", b"{}"))
    return bytes(content[:at] + other + content[at + 1 :])


MUTATIONS = Promise(
    "bad files: mutations",
    "A file of a run that was altered is refused in one sentence, or reads as before; within "
    f"{LONGEST:g} second, and {LARGEST:g} MB.",
    "Bits, bytes and numbers changed, parts cut, inserted, deleted, repeated and exchanged, in "
    f"each of: {', '.join(READERS)}. What metrics.jsonl says is not compared: it is only shown.",
    _try,
)


def _try_forgeries(trial: Trial) -> None:
    """Data that somebody sealed again: any answer but code, a traceback, a hang or a giant."""
    rng = random.Random(6)
    with tempfile.TemporaryDirectory() as name:
        run = Path(name) / "run"
        train(run, 2)
        path = run / "manifest.json"
        whole = path.read_bytes()
        for start in range(0, trial.count(1000), BATCH):
            forged = [_forged(whole, rng) for _ in range(BATCH)]
            end = children.run(lambda f=forged, p=path: _read_all(f, p), 300.0)
            trial.cases += BATCH - 1
            failures = end.value if end.code == 0 else [f"exit {end.code}: {end.output[-300:]}"]
            trial.check(not failures, f"batch {start}: {(failures or ['?'])[0]}")
        path.write_bytes(whole)
        _canaries(trial, run)


def _forged(whole: bytes, rng: random.Random) -> bytes:
    """One value anywhere in the manifest becomes something else."""
    data = unseal(whole)
    part: Any = data
    while True:
        key = rng.choice(list(part) if isinstance(part, dict) else range(len(part)))
        if isinstance(part[key], dict | list) and part[key] and rng.random() < 0.8:
            part = part[key]
            continue
        part[key] = rng.choice(
            (10**9, -1, 0, 1e308, 10**400, "x", "../../x", None, [], {}, True, "\ud800", [[[]]])
        )
        return seal(json.loads(json.dumps(data)))


def _read_all(contents: list[bytes], path: Path) -> list[str]:
    failures = []
    for content in contents:
        path.write_bytes(content)
        began = time.perf_counter()
        try:
            fk.load(path.parent)
            why = ""
        except FeynkacError as error:
            why = "more than one line" if "\n" in str(error) else ""
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
        seconds = time.perf_counter() - began
        if why or seconds > LONGEST:
            failures.append(why or f"{seconds:.1f} s")
    return failures


class _Canary:
    """Unpickling it leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


def _canaries(trial: Trial, run: Path) -> None:
    sung = run.parent / "sung"
    files = ("weights.safetensors", "manifest.json", "run.json", "checkpoint.safetensors")
    writers = (pickle.dumps, lambda bird: _torch_bytes(bird, run.parent / "saved"))
    for file in (*files, "metrics.jsonl", "preset.json"):
        for write in writers:
            copy = Path(shutil.copytree(run, run.parent / "copy"))
            (copy / file).write_bytes(write(_Canary(sung)))
            for reader in (_load, _resume, _metrics, _preset):
                try:
                    reader(copy)
                except (FeynkacError, OSError):
                    continue
            trial.check(not sung.exists(), f"{file} was unpickled")
            shutil.rmtree(copy)


def _torch_bytes(bird: _Canary, path: Path) -> bytes:
    torch.save(bird, path)
    return path.read_bytes()


FORGERIES = Promise(
    "bad files: forgeries",
    "An artifact is data: nothing in it is run, and no value in it hangs or floods the program.",
    "Any value of a manifest replaced and the checksum made right; pickles in place of each file.",
    _try_forgeries,
)
