"""The store: what was computed is not computed again, by the same version of the code."""

import json
from dataclasses import replace

import pytest

import feynkac as fk
from feynkac.benchmarks import store as module
from feynkac.benchmarks.store import Store, keep_training, name_of
from feynkac.errors import ArtifactError, Interrupted
from feynkac.preparation import make_run
from feynkac.runs.artifact import MANIFEST, WEIGHTS

AT = {"x": 9.5, "t": 0.5, "sigma": 0.35, "strike": 11.0}


def plan(**training):
    lengths = {"steps": 3, "batch_size": 32, "evaluations": 1}
    return make_run(fk.BlackScholes(), "paper", lengths | training)


@pytest.fixture
def another_version(monkeypatch):
    """As if the code had been changed."""
    return lambda: monkeypatch.setattr(module, "code_version", lambda _module=None: "0.2+new")


def test_a_number_is_computed_once(tmp_path):
    calls = []

    def compute():
        calls.append(1)
        return {"l1": [0.5, 1e-3], "steps": None}

    assert not Store(tmp_path).knows("a")
    first = Store(tmp_path).once("a", compute)
    assert Store(tmp_path).knows("a")
    assert Store(tmp_path).once("a", compute) == first == {"l1": [0.5, 1e-3], "steps": None}
    assert len(calls) == 1
    assert Store(tmp_path).once("b", compute) == first
    assert len(calls) == 2


def test_a_number_is_kept_with_its_key_version_and_seconds(tmp_path):
    Store(tmp_path).once("d = 3, seed 0", lambda: 1)
    (path,) = (tmp_path / "numbers").iterdir()
    found = json.loads(path.read_text())
    assert path.name.startswith("d-=-3-seed-0-")
    assert (found["key"], found["value"]) == ("d = 3, seed 0", 1)
    assert found["version"].startswith(fk.__version__ + "+")
    assert found["seconds"] >= 0.0


def test_a_number_of_another_version_is_computed_anew(tmp_path, another_version):
    store = Store(tmp_path)
    assert [store.once("a", lambda: 1), store.once("b", lambda: 1)] == [1, 1]
    another_version()
    assert store.once("a", lambda: 2) == 2
    assert store.once("b", lambda: 2, keep=True) == 1
    versions = [used.version for used in store.used]
    assert versions[2] == "0.2+new"
    assert versions[3] == versions[1] != "0.2+new"


def test_a_number_without_a_version_is_computed_anew(tmp_path):
    store = Store(tmp_path)
    store.once("a", lambda: 1)
    (path,) = (tmp_path / "numbers").iterdir()
    path.write_text(json.dumps({"key": "a", "value": 1}))
    assert not store.knows("a")
    assert store.once("a", lambda: 2, keep=True) == 2


def test_what_failed_is_not_kept(tmp_path):
    def fail():
        raise Interrupted("stopped")

    with pytest.raises(Interrupted):
        Store(tmp_path).once("a", fail)
    assert Store(tmp_path).once("a", lambda: 2) == 2


def test_a_training_is_found_again_and_labelled(tmp_path, another_version):
    store, family, seen = Store(tmp_path), fk.BlackScholes(), []
    run = plan()
    assert not store.has(run)
    first = store.solve(run, family, lambda progress: seen.append(progress.step), "x", full=True)
    assert store.has(run)
    another_version()
    again = store.solve(run, family, lambda progress: seen.append(progress.step), "x", full=True)
    assert seen == [1, 2, 3]
    assert again(**AT) == first(**AT)
    assert not store.has(plan(steps=4))
    one, two = store.used
    assert one == two
    assert one.seconds == first.manifest.seconds > 0.0
    assert (one.what, one.method, one.seed, one.full, one.committed) == (
        "x",
        "paper",
        0,
        True,
        False,
    )
    assert one.version.startswith(fk.__version__ + "+")


def test_a_name_is_readable_and_does_not_depend_on_the_machine():
    run = plan(seed=2)
    assert name_of(run).startswith("black-scholes-paper-seed-2-")
    assert name_of(plan(seed=2, compile=True, device="cpu")) == name_of(run)
    others = [plan(), plan(seed=2, batch_size=64), plan(seed=2, steps=4)]
    assert len({name_of(each) for each in (run, *others)}) == 4


@pytest.fixture
def committed(tmp_path):
    """A finished training, kept where it can be committed."""
    folder = tmp_path / "full" / "table-1-paper-seed-0"
    fk.solve(fk.BlackScholes(), method="paper", steps=3, batch_size=32, evaluations=1, out=folder)
    return keep_training(folder, tmp_path / "trainings")


def test_weights_and_manifest_alone_are_kept(committed, tmp_path):
    assert committed == tmp_path / "trainings" / "table-1-paper-seed-0"
    assert sorted(path.name for path in committed.iterdir()) == [MANIFEST, WEIGHTS]
    with pytest.raises(ArtifactError, match="exists; delete it"):
        keep_training(tmp_path / "full" / "table-1-paper-seed-0", tmp_path / "trainings")


def test_what_is_not_finished_is_not_kept(tmp_path):
    with pytest.raises(ArtifactError, match="holds no solution"):
        keep_training(tmp_path, tmp_path / "trainings")
    assert not (tmp_path / "trainings").exists()


def test_a_committed_training_is_found_and_only_read(committed, tmp_path):
    store, seen = Store(tmp_path / "runs", committed.parent), []
    before = {path: path.stat().st_mtime_ns for path in committed.rglob("*")}
    assert store.has(plan(compile=True))
    found = store.solve(plan(compile=True), fk.BlackScholes(), seen.append, full=True)
    assert seen == []
    assert found.manifest.steps == 3
    assert store.used[-1].committed
    assert not (tmp_path / "runs").exists()
    assert before == {path: path.stat().st_mtime_ns for path in committed.rglob("*")}


@pytest.mark.parametrize(
    "other", [{"seed": 1}, {"steps": 4}, {"batch_size": 64}], ids=lambda other: next(iter(other))
)
def test_a_committed_training_with_other_settings_is_not_taken(committed, tmp_path, other):
    store = Store(tmp_path / "runs", committed.parent)
    assert not store.has(plan(**other))
    fast = make_run(fk.BlackScholes(), "fast", {"steps": 3, "evaluations": 1})
    assert not store.has(fast)


def test_a_damaged_committed_training_is_refused(committed, tmp_path):
    content = (committed / WEIGHTS).read_bytes()
    (committed / WEIGHTS).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(ArtifactError, match="truncated or altered"):
        Store(tmp_path / "runs", committed.parent).has(plan())


def test_an_own_training_goes_before_a_committed_one(committed, tmp_path):
    store = Store(tmp_path / "runs", committed.parent)
    assert store.find(plan()) == committed
    replace(store, committed=None).solve(plan(), fk.BlackScholes())
    assert store.find(plan()) == tmp_path / "runs" / name_of(plan())
