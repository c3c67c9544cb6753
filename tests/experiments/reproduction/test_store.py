"""The store: what was computed is not computed again."""

import json

import pytest

import feynkac as fk
from feynkac.errors import Interrupted
from feynkac.experiments.reproduction.store import Store
from feynkac.solver import plan_run


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


def test_a_number_is_kept_with_its_key(tmp_path):
    Store(tmp_path).once("d = 3, seed 0", lambda: 1)
    (path,) = (tmp_path / "numbers").iterdir()
    assert json.loads(path.read_text()) == {"key": "d = 3, seed 0", "value": 1}


def test_what_failed_is_not_kept(tmp_path):
    def fail():
        raise Interrupted("stopped")

    with pytest.raises(Interrupted):
        Store(tmp_path).once("a", fail)
    assert Store(tmp_path).once("a", lambda: 2) == 2


def test_a_training_is_found_again(tmp_path):
    store, family, seen = Store(tmp_path), fk.BlackScholes(), []
    run = plan_run(family, "fast", None, None, {"steps": 3, "evaluations": 1})
    assert not store.has(run)
    first = store.solve(run, family, lambda progress: seen.append(progress.step))
    assert store.has(run)
    again = store.solve(run, family, lambda progress: seen.append(progress.step))
    assert seen == [1, 2, 3]
    at = {"x": 9.5, "t": 0.5, "sigma": 0.35, "strike": 11.0}
    assert again(**at) == first(**at)
    other = plan_run(family, "fast", None, None, {"steps": 4, "evaluations": 1})
    assert not store.has(other)
