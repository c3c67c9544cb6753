"""solve(): same settings, same bits; a run in a folder goes on where it stopped."""

import json
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

import feynkac as fk
import feynkac.runs.folder
import feynkac.solver
import feynkac.training.checkpoint
from feynkac.errors import ArtifactError, InputError, Interrupted, NonFiniteError
from feynkac.evaluation import Evaluator
from feynkac.files import seal, unseal
from feynkac.preparation import make_run
from feynkac.solution import Solution
from feynkac.threads import using_threads
from still import Holey, Still

SMALL = {
    "method": "paper",
    "architecture": fk.Multilevel(levels=2, factor=2),
    "batch_size": 32,
    "evaluations": 3,
}
CHECKPOINT = "checkpoint.safetensors"
FINISHED = ["manifest.json", "metrics.jsonl", "run.json", "weights.safetensors"]


def solve(out: Path | None = None, **settings: Any) -> Solution:
    return fk.solve(fk.BlackScholes(), out=out, **{**SMALL, "steps": 9, **settings})


def stop_at(step: int, number: signal.Signals = signal.SIGINT):
    """A watcher that sends this process a real signal during `step`."""

    def watch(progress: fk.Progress) -> None:
        if progress.step == step:
            signal.raise_signal(number)

    return watch


def interrupted(out: Path, step: int = 5, **settings: Any) -> None:
    with pytest.raises(Interrupted, match=f"stopped at step {step} of"):
        solve(out, report=stop_at(step), **settings)


def same_bits(a: Solution, b: Solution) -> bool:
    first, second = a.network.state_dict(), b.network.state_dict()
    return first.keys() == second.keys() and all(torch.equal(first[k], second[k]) for k in first)


def losses(solution: Solution) -> list[tuple[Any, ...]]:
    return [(r["step"], r["loss"], r["l1"]) for r in solution.manifest.history]


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def metrics(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


# The result


def test_the_seed_determines_the_result():
    assert same_bits(solve(seed=4), solve(seed=4))
    assert not same_bits(solve(seed=4), solve(seed=5))


def test_training_helps():
    solution = solve(steps=200, batch_size=256, evaluations=2)
    early, late = solution.manifest.history
    assert late["l1"] < early["l1"]
    assert late["l1"] < late["mean_baseline"] / 2


def test_the_result_is_frozen_and_described():
    solution = solve()
    assert not solution.network.training
    assert not any(p.requires_grad for p in solution.network.parameters())
    assert (solution.manifest.steps, solution.manifest.run.training.seed) == (9, 0)
    assert solution.manifest.parameters == sum(p.numel() for p in solution.network.parameters())
    assert solution.manifest.seconds > 0


def test_the_error_is_measured_evenly_and_at_the_end():
    solution = solve(steps=10, evaluations=3)
    assert [record["step"] for record in solution.manifest.history] == [4, 7, 10]


def test_every_step_is_reported():
    seen: list[fk.Progress] = []
    solve(report=seen.append)
    assert [p.step for p in seen] == list(range(1, 10))
    assert [p.step for p in seen if p.record] == [3, 6, 9]


def test_a_budget_becomes_steps(monkeypatch):
    monkeypatch.setattr("feynkac.execution.FEW_STEPS", 10**6)
    with pytest.warns(fk.FeynkacWarning, match="training steps fit into 0.3 seconds"):
        solution = solve(steps=None, budget="0.3s")
    assert solution.manifest.run.training.budget == 0.3
    assert solution.manifest.run.training.steps is None
    assert solution.manifest.steps == solution.manifest.history[-1]["step"] >= 1
    assert solution.manifest.segments[-1][1] == solution.manifest.steps
    assert solution.manifest.warnings[0].startswith("only ")


@pytest.mark.slow
def test_a_budget_is_kept_beside_other_work():
    """With a process that burns the same cores half of the time; a real clock."""
    burner = (
        "import time, itertools\n"
        "for k in itertools.count():\n"
        "    end = time.time() + 0.7\n"
        "    while time.time() < end: sum(range(1000))\n"
        "    time.sleep(0.7)"
    )
    with subprocess.Popen([sys.executable, "-c", burner]) as other:
        start = time.perf_counter()
        solution = fk.solve(fk.BlackScholes(), budget=8.0)
        seconds = time.perf_counter() - start
        other.kill()
    assert seconds == pytest.approx(8.0, rel=0.05)
    assert solution.manifest.seconds == pytest.approx(seconds, abs=0.2)


# The default method


TINY = {"steps": 3, "batch_size": 16, "paths": 8, "evaluations": 1}


def test_without_a_method_the_fast_one_is_taken():
    default, fast = (fk.solve(fk.BlackScholes(), **TINY, **m) for m in ({}, {"method": "fast"}))
    assert default.manifest.run == fast.manifest.run
    assert same_bits(default, fast)


@pytest.mark.parametrize(
    "family",
    [fk.BlackScholes(), pytest.param(fk.HeatParaboloid(dim=5), marks=pytest.mark.slow)],
    ids=["few inputs", "many inputs"],
)
def test_without_a_method_a_run_goes_on_to_the_bit(tmp_path, family):
    with pytest.raises(Interrupted, match="stopped at step 2 of 3"):
        fk.solve(family, out=tmp_path, report=stop_at(2), **TINY)
    resumed, straight = fk.solve(family, out=tmp_path, **TINY), fk.solve(family, **TINY)
    assert same_bits(resumed, straight)
    assert same_bits(fk.load(tmp_path), straight)
    assert files(tmp_path) == FINISHED


# Runs


def asked(family: fk.Family | None = None, method: str = "paper", **training: Any):
    return make_run(family or fk.BlackScholes(), method, training)


def test_the_papers_method_has_the_papers_settings():
    run = asked()
    assert (run.training.steps, run.method.batch_size) == (24_000, 2**16)
    assert (run.method.architecture, run.method.scheme) == (
        fk.Multilevel(levels=4, factor=5),
        fk.Exact(),
    )
    assert asked(fk.BasketPut()).method.scheme == fk.EulerMaruyama(steps=25)


def test_given_settings_replace_the_papers():
    run = asked(steps=None, budget="2m", batch_size=64, seed=7, optimiser=fk.SGD())
    assert (run.training.steps, run.training.budget) == (None, 120.0)
    assert (run.method.batch_size, run.training.seed) == (64, 7)
    assert run.method.optimiser == fk.SGD()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, r"steps: .* greater than or equal to 1 \(got 0\)"),
        ({"steps": 5, "budget": "5s"}, "give either steps or a budget"),
        ({"budget": "soon"}, 'a budget is a positive time such as "60s"'),
        ({"batch_size": 1}, r"batch_size: .* greater than or equal to 2 \(got 1\)"),
        ({"seed": -1}, r"seed: .* \(got -1\)"),
        ({"paths": 0}, r"paths: .* \(got 0\)"),
        ({"evaluations": 0}, r"evaluations: .* \(got 0\)"),
        (
            {"batchsize": 64},
            r"'paper' has no setting called 'batchsize'\. Did you mean 'batch_size'",
        ),
        ({"method": "magic"}, "unknown method 'magic'; there are: fast, paper"),
    ],
)
def test_a_wrong_setting_is_named(settings, message):
    with pytest.raises(InputError, match=message):
        asked(**settings)


def test_what_is_no_family_is_refused():
    with pytest.raises(InputError, match=r"solve expects a Family, got the class BlackScholes; "):
        fk.solve(fk.BlackScholes)
    with pytest.raises(InputError, match="solve expects a Family, got int"):
        fk.solve(3)


def test_a_built_in_family_is_found_by_its_name():
    assert fk.solve("black-scholes", steps=1, batch_size=64).family == fk.BlackScholes()


def test_a_scheme_must_suit_the_family():
    with pytest.raises(InputError, match="BasketPut has no exact sampler"):
        fk.solve(fk.BasketPut(), scheme=fk.Exact(), steps=1)


def test_a_device_that_is_not_there_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(InputError, match="device 'abacus' is not available here"):
        solve(tmp_path / "run", device="abacus")
    assert not (tmp_path / "run").exists()


@dataclass(frozen=True)
class WithField(Still):
    """With one field of any kind."""

    field: Any = None


@pytest.mark.parametrize("field", [torch.ones(2), print], ids=["tensor", "function"])
def test_a_field_that_cannot_be_written_down_is_refused_before_training(field):
    with pytest.raises(InputError, match="fields of WithField must be plain data"):
        fk.solve(WithField(field=field), "paper", steps=1)  # no pilots


# A run in a folder


def test_a_finished_folder_holds_the_artifact_and_the_metrics(tmp_path):
    solution = solve(tmp_path / "a" / "run")
    assert files(tmp_path / "a" / "run") == FINISHED
    assert metrics(tmp_path / "a" / "run") == solution.manifest.history
    assert same_bits(fk.load(tmp_path / "a" / "run"), solution)


def test_a_folder_changes_nothing_in_the_result(tmp_path):
    assert same_bits(solve(tmp_path), solve())


def test_a_finished_run_is_returned_at_once(tmp_path):
    first = solve(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    second = solve(tmp_path, report=lambda _: pytest.fail("trained again"))
    assert same_bits(first, second)
    assert second.manifest.created == first.manifest.created
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_goes_on_to_the_bit(tmp_path, number):
    with pytest.raises(Interrupted, match="stopped at step 5 of 9"):
        solve(tmp_path, report=stop_at(5, number))
    assert files(tmp_path) == [CHECKPOINT, "metrics.jsonl", "run.json"]
    seen: list[int] = []
    resumed, straight = solve(tmp_path, report=lambda p: seen.append(p.step)), solve()
    assert seen == [6, 7, 8, 9]
    assert same_bits(resumed, straight)
    assert losses(resumed) == losses(straight)
    assert files(tmp_path) == FINISHED


@pytest.mark.parametrize(
    "settings",
    [
        {"optimiser": fk.SGD()},
        {"architecture": fk.FeedForward(levels=1, factor=2, norm="none")},
        {"schedule": fk.StepDecay(decay=0.5, patience=2)},
        {"scheme": fk.EulerMaruyama(steps=2), "paths": 3},
    ],
    ids=["sgd", "feed-forward", "decay", "paths"],
)
def test_every_kind_of_run_goes_on_to_the_bit(tmp_path, settings):
    interrupted(tmp_path, **settings)
    assert same_bits(solve(tmp_path, **settings), solve(**settings))


def test_a_run_may_be_interrupted_at_every_step(tmp_path):
    for step in range(1, 9):
        interrupted(tmp_path, step)
    resumed = solve(tmp_path)
    assert same_bits(resumed, solve())
    assert metrics(tmp_path) == resumed.manifest.history
    assert [record["step"] for record in metrics(tmp_path)] == [3, 6, 9]


def test_metrics_ahead_of_the_checkpoint_are_not_repeated(tmp_path):
    interrupted(tmp_path, 2)
    old = (tmp_path / CHECKPOINT).read_bytes()
    interrupted(tmp_path, 7)
    assert [record["step"] for record in metrics(tmp_path)] == [3, 6]
    (tmp_path / CHECKPOINT).write_bytes(old)  # as if killed before the next checkpoint
    assert same_bits(solve(tmp_path), solve())
    assert [record["step"] for record in metrics(tmp_path)] == [3, 6, 9]


def test_a_signal_during_the_last_step_does_not_undo_it(tmp_path):
    assert same_bits(solve(tmp_path, report=stop_at(9)), solve())


def test_a_run_without_checkpoint_or_manifest_is_done_again(tmp_path):
    first = solve(tmp_path)
    (tmp_path / "manifest.json").unlink()  # as if killed just before it was written
    assert same_bits(solve(tmp_path), first)
    assert files(tmp_path) == FINISHED


def run_file(folder: Path) -> dict[str, Any]:
    return unseal((folder / "run.json").read_bytes())


def rewrite(folder: Path, **values: Any) -> None:
    """Change the run file as nobody else would: with the right checksum."""
    (folder / "run.json").write_bytes(seal(run_file(folder) | values))


def test_a_run_with_a_budget_repeats_what_it_has_decided_to_the_bit(tmp_path):
    """From an early checkpoint, with the segments that were written down since."""
    settings = {"steps": None, "budget": 3.0, "schedule": fk.LinearDecay(), "evaluations": 1}
    first = tmp_path / "first"
    interrupted(first, 3, **settings)
    early = (first / CHECKPOINT).read_bytes()
    straight = solve(first, **settings)
    assert len(straight.manifest.segments) > 2
    again = tmp_path / "again"
    again.mkdir()
    (again / CHECKPOINT).write_bytes(early)
    (again / "run.json").write_bytes((first / "run.json").read_bytes())
    resumed = solve(again, **settings)
    assert resumed.manifest.segments == straight.manifest.segments
    assert same_bits(resumed, straight)


def test_a_resumed_budget_keeps_time_for_its_evaluation(tmp_path, monkeypatch):
    settings = {"steps": None, "budget": 3.0, "evaluations": 1}
    interrupted(tmp_path, 3, **settings)
    reserved, seconds = [], Evaluator.reserved
    monkeypatch.setattr(
        Evaluator, "reserved", lambda *a: reserved.append(seconds(*a)) or reserved[-1]
    )
    solve(tmp_path, **settings)
    assert min(reserved) > 0.0


def test_a_budgets_choices_are_made_once_and_kept(tmp_path):
    family = fk.BlackScholes()
    settings = {"budget": 5.0, "evaluations": 1, "out": tmp_path}
    with pytest.raises(Interrupted, match="stopped at step 3 of"):
        fk.solve(family, report=stop_at(3), **settings)
    chosen = run_file(tmp_path)["run"]["method"]["paths"]
    rewrite(tmp_path, segments=[[0, 5], [5, 5]])  # what no timing would give
    with pytest.warns(fk.FeynkacWarning, match="only 5 training steps"):
        resumed = fk.solve(family, **settings)
    assert (resumed.manifest.run.method.paths, resumed.manifest.steps) == (chosen, 5)


@pytest.mark.slow
def test_a_budget_includes_the_pilots_of_a_family_that_is_dear():
    """Noise that does not commute in two dimensions has dear pilots; they are cut to fit."""
    assert fk.solve(Crossed(), budget=10.0).manifest.seconds == pytest.approx(10.0, rel=0.1)


@dataclass(frozen=True)
class Crossed(fk.Family):
    """Each noise moves one coordinate by a function of the other."""

    @property
    def domain(self) -> fk.Domain:
        return fk.Domain(x=fk.Box(-1, 1, shape=(2,)), t=fk.Box(0, 1))

    def drift(self, x: torch.Tensor, p: fk.Params) -> torch.Tensor:
        return -x

    def diffusion(self, x: torch.Tensor, dw: torch.Tensor, p: fk.Params) -> torch.Tensor:
        return torch.sin(x.flip(-1)) * dw + 0.5 * dw

    def initial(self, x: torch.Tensor, p: fk.Params) -> torch.Tensor:
        return x.square().sum(-1, keepdim=True)


@pytest.mark.parametrize("length", [{"steps": 3}, {"budget": 3.0}])
def test_paths_are_as_given(length):
    given = {"paths": 2, "batch_size": 16, "evaluations": 1}
    assert fk.solve(fk.BlackScholes(), **given, **length).manifest.run.method.paths == 2


@pytest.mark.parametrize(
    ("settings", "balanced"),
    [({"budget": 1.0}, True), ({"budget": 1.0, "paths": 64}, False), ({"steps": 3}, False)],
)
def test_paths_are_balanced_in_a_budget_unless_they_are_given(settings, balanced, monkeypatch):
    monkeypatch.setattr("feynkac.methods.fast.fast.choose_paths", lambda *_: 77)
    found = make_run(fk.BlackScholes(), "fast", settings).method.paths
    assert (found == 77) == balanced


def test_retraining_starts_over_and_leaves_other_files(tmp_path):
    first = solve(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    again = solve(tmp_path, retrain=True, seed=1)
    assert not same_bits(first, again)
    assert files(tmp_path) == sorted([*FINISHED, "notes.txt"])


def test_how_often_to_save_is_not_part_of_a_run(tmp_path):
    settings = {"steps": None, "budget": 2.0, "evaluations": 1}
    interrupted(tmp_path, 3, **settings)
    began = run_file(tmp_path)
    seen = []
    found = solve(tmp_path, checkpoint_seconds=1e-3, report=seen.append, **settings)
    assert seen[0].step == 4
    assert found.manifest.run.training.checkpoint_seconds == 1e-3
    assert run_file(tmp_path)["run"]["method"] == began["run"]["method"]
    assert found.manifest.run.asked == began["run"]["asked"]


def test_a_run_continued_with_another_number_of_threads_says_so(tmp_path):
    interrupted(tmp_path, 3)
    assert run_file(tmp_path)["began_with"] == 1
    with (
        using_threads(2),
        pytest.warns(fk.FeynkacWarning, match="begun with 1 threads and continues with 2"),
    ):
        found = solve(tmp_path)
    assert found.manifest.threads == 2


def test_a_run_that_another_process_has_just_finished_is_not_done_again(tmp_path, monkeypatch):
    """It was not finished when this process looked first, but is when it has the lock."""
    done = solve(tmp_path / "other")
    locked = feynkac.runs.folder.RunFolder.locked

    @contextmanager
    def late(self):
        shutil.copytree(tmp_path / "other", self.path)
        with locked(self):
            yield

    monkeypatch.setattr(feynkac.runs.folder.RunFolder, "locked", late)
    found = solve(tmp_path / "run", report=lambda _: pytest.fail("trained"))
    assert same_bits(found, done)


def test_what_killed_processes_left_is_cleared_away(tmp_path):
    interrupted(tmp_path)
    for name in ("checkpoint.safetensors", "manifest.json"):
        (tmp_path / f".{name}.tmp").write_bytes(b"half")
    solve(tmp_path)
    assert files(tmp_path) == FINISHED


def test_what_pilots_chose_is_kept_when_the_same_words_come_again(tmp_path, monkeypatch):
    family = fk.BlackScholes()
    with pytest.raises(Interrupted):
        fk.solve(family, out=tmp_path, report=stop_at(2), **TINY)
    monkeypatch.setattr(fk.Fast, "resolve", lambda *_: pytest.fail("piloted again"))
    finished = fk.solve(family, out=tmp_path, **TINY)
    assert same_bits(fk.solve(family, out=tmp_path, **TINY), finished)


def test_checkpoints_come_at_their_interval(tmp_path):
    seen: list[bool] = []

    def watch(_progress: fk.Progress) -> None:
        seen.append((tmp_path / CHECKPOINT).exists())
        time.sleep(0.03)

    solve(tmp_path, checkpoint_seconds=0.05, report=watch)
    assert not seen[0]
    assert seen[-1]


# Other settings, damage, places that cannot be written


@pytest.mark.parametrize(
    ("settings", "difference"),
    [
        ({"seed": 1}, "training.seed is 0 there, 1 here"),
        ({"steps": 10}, "training.steps is 9 there, 10 here"),
        ({"architecture": fk.Multilevel(levels=3, factor=2)}, "architecture.levels is 2 there, 3"),
        ({"scheme": fk.EulerMaruyama()}, "scheme.kind is 'exact' there, 'euler-maruyama' here"),
        ({"optimiser": fk.SGD()}, "method.optimiser.kind is 'adamw' there, 'sgd' here"),
    ],
)
@pytest.mark.parametrize("state", ["finished", "interrupted"])
def test_a_run_with_other_settings_is_refused_and_kept(tmp_path, state, settings, difference):
    solve(tmp_path) if state == "finished" else interrupted(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    message = rf"holds a run with other settings \(.*{difference}.*choose another folder"
    with pytest.raises(ArtifactError, match=message):
        solve(tmp_path, **settings)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_run_of_another_family_is_refused(tmp_path):
    solve(tmp_path)
    with pytest.raises(ArtifactError, match=r"family\.fields\.dim is 1 there, 2 here"):
        fk.solve(fk.BlackScholes(dim=2), out=tmp_path, steps=9, **SMALL)


def early(count: int, generator: torch.Generator, dtype: torch.dtype) -> torch.Tensor:
    return 9.0 + torch.rand(count, generator=generator, dtype=dtype).square()


def late(count: int, generator: torch.Generator, dtype: torch.dtype) -> torch.Tensor:
    return 10.0 - torch.rand(count, generator=generator, dtype=dtype).square()


def drawn_by(function: Any) -> fk.BlackScholes:
    """With mean and deviation given, so that the sampler is all that differs."""
    return fk.BlackScholes().on(x=fk.Sampled(function, 9.0, 10.0, mean=9.5, std=0.3))


def test_a_run_whose_inputs_were_drawn_otherwise_is_refused(tmp_path):
    settings = SMALL | {"out": tmp_path, "steps": 9}
    with pytest.raises(Interrupted):
        fk.solve(drawn_by(early), report=stop_at(5), **settings)
    with pytest.raises(ArtifactError, match="or of what draws its inputs, has changed since"):
        fk.solve(drawn_by(late), **settings)
    whole = fk.solve(drawn_by(early), **SMALL | {"steps": 9})
    assert same_bits(fk.solve(drawn_by(early), **settings), whole)
    with pytest.raises(ArtifactError, match="or of what draws its inputs, has changed since"):
        fk.solve(drawn_by(late), **settings)  # also when it is finished
    at = {"x": 9.5, "t": 0.5, "sigma": 0.3, "strike": 11.0}
    assert fk.load(tmp_path)(**at) == whole(**at)  # answers need no sampler


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("run.json", b"{", r"run\.json is damaged .*; choose another folder"),
        ("run.json", b"[]", r"run\.json is damaged .*; choose another folder"),
        ("run.json", b'{"run": [], "steps": 9, "paths": 1}', r"run\.json is damaged"),
        (CHECKPOINT, b"PK", "is not a readable checkpoint .* delete it to start over"),
        (CHECKPOINT, b"", "is not a readable checkpoint .* delete it to start over"),
    ],
)
def test_a_damaged_run_is_refused(tmp_path, name, content, message):
    interrupted(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ArtifactError, match=message):
        solve(tmp_path)


def test_a_run_without_its_damaged_checkpoint_starts_anew(tmp_path):
    interrupted(tmp_path)
    (tmp_path / CHECKPOINT).unlink()
    assert same_bits(solve(tmp_path), solve())


def test_a_nan_ends_the_run_and_keeps_the_last_good_state(tmp_path):
    settings = SMALL | {"batch_size": 256, "steps": 9, "out": tmp_path}
    message = r"step 5: a NaN .* simulated paths, first at x="
    for expected in ([1, 2, 3, 4], []):  # the second time it goes on and meets the same path
        seen: list[fk.Progress] = []
        with pytest.raises(NonFiniteError, match=message):
            fk.solve(Holey(), report=seen.append, **settings)
        assert [progress.step for progress in seen] == expected
    assert files(tmp_path) == [CHECKPOINT, "metrics.jsonl", "run.json"]


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("/proc/feynkac", "cannot create the folder /proc/feynkac"),
        ("/proc/self", r"cannot write /proc/self/\.lock"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_training(out, message):
    with pytest.raises(InputError, match=message):
        solve(Path(out), report=lambda _: pytest.fail("trained"))


def test_a_file_in_the_way_is_refused_before_training(tmp_path):
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(InputError, match="cannot create the folder"):
            solve(out, report=lambda _: pytest.fail("trained"))
    assert (tmp_path / "file").read_text() == "mine"


@contextmanager
def file_size_limit(size: int):
    """The operating system refuses to let any file grow beyond `size` bytes: a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    ("size", "blocked", "left"),
    [
        (100, "run.json", []),
        (1500, "weights.safetensors", ["metrics.jsonl", "run.json"]),
    ],
)
def test_a_full_disk_leaves_no_part_of_a_file(tmp_path, size, blocked, left):
    settings = {"checkpoint_seconds": 1e-9, "evaluations": 9}
    with file_size_limit(size), pytest.raises(InputError, match=f"cannot write .*{blocked}: File"):
        solve(tmp_path, **settings)
    assert files(tmp_path) == left
    assert same_bits(solve(tmp_path, **settings), solve(**settings))


def test_a_checkpoint_that_cannot_be_written_is_said_and_training_goes_on(tmp_path):
    """The disk is full for a while: only a checkpoint is lost, and the result is the same."""
    limits = []

    def watch(progress: fk.Progress) -> None:
        if progress.step == 3:
            limits.append(resource.getrlimit(resource.RLIMIT_FSIZE))
            resource.setrlimit(resource.RLIMIT_FSIZE, (1500, limits[0][1]))
        if progress.step == 6:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits[0])

    with pytest.warns(fk.FeynkacWarning, match=r"cannot write .*checkpoint.*The work continues"):
        disturbed = solve(tmp_path, checkpoint_seconds=1e-9, report=watch)
    assert same_bits(disturbed, solve())
    assert files(tmp_path) == FINISHED


def test_metrics_and_segments_that_cannot_be_written_are_written_later(tmp_path, monkeypatch):
    """Segments belong to a checkpoint: it is not written before they are."""
    real, failing = feynkac.runs.folder.write_atomically, {"run.json", "metrics.jsonl"}
    written, steps = [], []

    def write(path, content):
        if path.name in failing:
            raise InputError(f"cannot write {path}: for a while. Choose another.")
        written.append((path.name, steps[-1]))
        real(path, content)

    def watch(progress: fk.Progress) -> None:
        steps.append(progress.step)
        if progress.step == 1:
            monkeypatch.setattr(feynkac.runs.folder, "write_atomically", write)
            monkeypatch.setattr(feynkac.training.checkpoint, "write_atomically", write)
        if progress.step == 12:
            failing.clear()

    settings = {"steps": None, "budget": 2.0, "evaluations": 1, "checkpoint_seconds": 1e-9}
    with pytest.warns(fk.FeynkacWarning, match=r"cannot write .*run\.json: for a while"):
        found = solve(tmp_path, report=watch, **settings)
    assert found.manifest.steps > 12
    first = next(step for name, step in written if name == "run.json")
    assert first > 10  # the end of the run has moved at steps 3 and 10
    assert not [step for name, step in written if name == CHECKPOINT and 10 <= step < first]


def test_a_disk_full_at_the_end_keeps_the_checkpoint(tmp_path):
    interrupted(tmp_path, 8)
    with file_size_limit(1500), pytest.raises(InputError, match=r"cannot write .*File too large"):
        solve(tmp_path)
    assert CHECKPOINT in files(tmp_path)
    assert "manifest.json" not in files(tmp_path)
    assert same_bits(solve(tmp_path), solve())
