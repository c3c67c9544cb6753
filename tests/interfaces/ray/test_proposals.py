"""Which trials are proposed: the default, open ones, then Optuna's; and how they are kept."""

import pytest
import torch
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState

import feynkac as fk
from feynkac.interfaces.ray.cluster import PRIVATE
from feynkac.methods.dimension import Choice, Interval
from feynkac.preparation import make_run
from feynkac.runs.artifact import make_manifest, write_artifact
from feynkac.tuning.trials import Trials, make_search

with pytest.MonkeyPatch.context() as patch:  # as the program imports ray
    for name, value in PRIVATE.items():
        patch.setenv(name, value)
    from feynkac.interfaces.ray.proposals import Halving, Proposals, distribution

COMPLETE = TrialState.COMPLETE


@pytest.fixture(scope="module")
def made():
    return make_search("black-scholes", {}, "fast", "8s", 0, {"depth": [2, 3]})


@pytest.fixture
def trials(tmp_path, made):
    kept = Trials(tmp_path)
    kept.claim(made[0])
    return kept


@pytest.fixture
def propose(trials, made):
    """Makes a searcher of the same folder, as a program started anew does."""
    return lambda seed=0: Proposals(made[1], trials, seed, count=8)


def end(trials, searcher, trial_id, number, l1=None, **how):
    """The trial measures `l1` and is over."""
    if l1 is not None:
        (trials.path(number) / "metrics.jsonl").write_text(f'{{"l1": {l1}}}\n')
    searcher.on_trial_complete(trial_id, **how)


def finish(folder, l1):
    """An artifact that says so."""
    family = fk.BlackScholes()
    run = make_run(family, "paper", {"steps": 1})
    history = [{"step": 1, "l1": l1}]
    sizes = {"steps": 1, "seconds": 0.1, "parameters": 1}
    manifest = make_manifest(run, family.domain, history=history, **sizes)
    write_artifact(folder, manifest, {"weight": torch.zeros(1)})


def test_the_default_comes_first_even_outside_of_narrower_ranges(tmp_path):
    search, space = make_search("black-scholes", {}, "fast", "8s", 0, {"width": [8]})
    kept = Trials(tmp_path)
    kept.claim(search)
    searcher = Proposals(space, kept, 0, count=2)
    assert [searcher.suggest(i) for i in "ab"] == [{"number": 0}, {"number": 1}]
    default, other = kept.read()
    assert default.values == space.default
    assert other.values["width"] == 8
    end(kept, searcher, "a", 0, 0.1)
    assert len(searcher.study.get_trials(states=[COMPLETE])) == 0


def test_trials_are_kept_before_they_start(trials, propose, made):
    searcher = propose()
    for i in range(4):
        searcher.suggest(str(i))
    kept = trials.read()
    assert [trial.number for trial in kept] == [0, 1, 2, 3]
    assert {trial.status for trial in kept} == {"open"}
    assert all(made[1].contains(trial.values) for trial in kept)
    assert all(trial.method == made[1].at(trial.values) for trial in kept)


def test_the_seed_decides_what_is_tried(trials, propose):
    def second(seed):
        searcher = propose(seed)
        return [searcher.study.ask(searcher.distributions).params for _ in range(3)]

    assert second(1) == second(1) != second(2)


def test_how_a_trial_ended_is_kept(trials, propose):
    searcher = propose()
    for i in range(4):
        searcher.suggest(str(i))
    finish(trials.path(0), 0.1)
    end(trials, searcher, "0", 0)
    end(trials, searcher, "1", 1, 0.2)
    end(trials, searcher, "2", 2, result={"diverged": True})
    end(trials, searcher, "3", 3, error=True)
    assert [t.status for t in trials.read()] == ["finished", "stopped", "diverged", "failed"]
    assert [t.value for t in searcher.study.trials if t.state == COMPLETE] == [0.2, 1.0, 1.0, 0.1]


def test_a_search_goes_on_with_what_was_open_and_knows_what_ended(trials, propose):
    first = propose()
    for i in range(4):
        first.suggest(str(i))
    end(trials, first, "1", 1, 0.2)
    end(trials, first, "3", 3, error=True)
    again = propose()
    assert [t.value for t in again.study.trials] == [0.2]
    assert [again.suggest(str(i))["number"] for i in range(4)] == [0, 2, 3, 4]
    assert len(trials.read()) == 5


def test_a_search_that_goes_on_does_not_begin_again(trials, propose):
    for session in range(3):
        searcher = propose()
        for i in range(2):
            searcher.suggest(str(i))
            end(trials, searcher, str(i), 2 * session + i, 0.2)
    rates = [trial.values["learning_rate"] for trial in trials.read()]
    assert len(set(rates)) == len(rates) == 6


def test_distributions():
    assert distribution(Choice((1, None))) == CategoricalDistribution((1, None))
    assert distribution(Interval(1, 2)) == FloatDistribution(1, 2)
    assert distribution(Interval(1, 2, log=True)) == FloatDistribution(1, 2, log=True)


class Controlled:
    """As much of Tune's trial as the scheduler looks at."""

    def __init__(self, number):
        self.trial_id, self.config = str(number), {"number": number}


@pytest.mark.parametrize("first", [0, 9])
def test_the_worse_is_stopped_but_never_the_default(first):
    scheduler = Halving(budget=8.0)
    scheduler.set_search_properties("l1", "min")
    worse, better = Controlled(first), Controlled(1)
    for trial in (worse, better):
        scheduler.on_trial_add(None, trial)

    def report(trial, seconds, l1):
        return scheduler.on_trial_result(None, trial, {"seconds": seconds, "l1": l1})

    assert report(better, 1.0, 0.5) == report(worse, 1.0, 0.9) == "CONTINUE"
    assert report(better, 2.0, 0.1) == "CONTINUE"
    assert report(worse, 2.0, 0.2) == ("CONTINUE" if first == 0 else "STOP")
    assert report(better, 9.0, 0.4) == "CONTINUE", "the last evaluation must not stop a trial"
