"""The folder of a search: what is asked, what trials are kept, how they are trained."""

from dataclasses import replace

import pytest

import feynkac as fk
from feynkac.errors import ArtifactError, InputError
from feynkac.tuning.trials import Trial, Trials, make_search, train_trial

FEW = fk.Fast(architecture=fk.Smooth(width=4, depth=1), batch_size=4, paths=2)


@pytest.fixture(scope="module")
def made():
    return make_search("black-scholes", {}, "fast", "1s", 3, {})


@pytest.fixture
def trials(tmp_path, made):
    kept = Trials(tmp_path / "search")
    kept.claim(made[0])
    return kept


def test_a_search_is_what_was_asked(made):
    search, space = made
    assert (search.family, search.method, search.budget, search.seed) == (
        "black-scholes",
        "fast",
        1.0,
        3,
    )
    assert search.space == space.record()


def test_the_folder_name_differs_between_searches(made):
    search, _ = made
    others = [
        replace(search, seed=4),
        replace(search, budget=2.0),
        replace(search, fields={"a": 1}),
    ]
    assert len({each.folder_name for each in (search, *others)}) == 4
    assert search.folder_name.startswith("tune-black-scholes-fast-seed3-")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": "soon"}, "a budget is a positive time"),
        ({"seed": -1}, "seed: Input should be greater"),
        ({"family": "blackscholes"}, "unknown family 'blackscholes'"),
        ({"ranges": {"widths": [3]}}, "nothing to search is called 'widths'"),
    ],
)
def test_bad_input(change, message):
    good = {"family": "black-scholes", "fields": {}, "method": "fast"}
    with pytest.raises(InputError, match=message):
        make_search(**(good | {"budget": 1, "seed": 0, "ranges": {}} | change))


def test_the_same_search_is_found_again(trials, made):
    trials.claim(made[0])
    assert trials.search() == made[0]


def test_another_search_is_refused(trials, made):
    with pytest.raises(ArtifactError, match=r"other settings \(budget is 1.0 there, 2.0 here\)"):
        trials.claim(replace(made[0], budget=2.0))


def test_trials_are_kept_in_order(trials):
    written = [trials.write(Trial(n, {"width": n}, FEW)) for n in (2, 10, 0)]
    assert trials.read() == sorted(written, key=lambda trial: trial.number)
    changed = trials.write(replace(written[0], status="stopped"))
    assert trials.trial(2) == changed


def test_a_damaged_trial_is_named(trials):
    trials.write(Trial(0, {}, FEW))
    (trials.path(0) / "trial.json").write_text('{"number": 0}')
    with pytest.raises(ArtifactError, match=r"trial.json is damaged"):
        trials.read()


def test_a_trial_trains_in_its_folder_and_is_found_there(trials, made):
    search, _ = made
    trials.write(Trial(0, {}, FEW))
    seen = []
    first = train_trial(search, FEW, 5, trials.path(0), seen.append)
    assert first.manifest.run.training.seed == 5
    assert first.manifest.run.method.batch_size == 4
    assert trials.history(0) == first.manifest.history
    assert trials.last(0) == first.manifest.history[-1]
    again = train_trial(search, FEW, 5, trials.path(0), seen.append)
    assert again.manifest.history == first.manifest.history
    assert [each.step for each in seen] == list(range(1, first.manifest.steps + 1))


def test_a_trial_without_measurements(trials):
    assert trials.history(7) == []
    assert trials.last(7) == {}


def test_the_best_is_the_finished_one_with_the_smallest_error(trials):
    assert trials.best() is None
    for number, (status, l1) in enumerate(
        [("finished", "0.3"), ("stopped", "0.1"), ("finished", "0.2"), ("finished", "null")]
    ):
        trials.write(Trial(number, {}, FEW, status))
        (trials.path(number) / "metrics.jsonl").write_text(f'{{"l1": {l1}}}\n')
    assert trials.best().number == 2


def test_a_search_may_be_on_another_domain(tmp_path):
    ours = {"t": fk.Box(0.0, 2.0), "sigma": fk.Fixed(0.3)}
    search, _ = make_search("black-scholes", {}, "fast", "1s", 3, {}, ours)
    assert search.found() == fk.BlackScholes().on(**ours)
    Trials(tmp_path).claim(search)
    again = Trials(tmp_path).search()
    assert again == search
    assert again.found() == fk.BlackScholes().on(**ours)
    plain, _ = make_search("black-scholes", {}, "fast", "1s", 3, {})
    assert plain.folder_name != search.folder_name
    with pytest.raises(ArtifactError, match="holds a search with other settings"):
        Trials(tmp_path).require(plain)
