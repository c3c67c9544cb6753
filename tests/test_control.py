"""The companion of a solution: trained for its certificates, kept beside it."""

import shutil
from dataclasses import replace

import pytest
import torch

import feynkac as fk
from feynkac.analysis.candidates import candidates
from feynkac.analysis.martingale import Control
from feynkac.runs.artifact import MANIFEST
from feynkac.runs.folder import CONTROL
from feynkac.sampling.visited import Visits

FAMILY = fk.BlackScholes()
ANYWHERE = fk.Domain(**{**FAMILY.domain.measures, "x": fk.Box(1e-3, 1e3)})
QUICK = fk.Effort(aim=1e-3)


def closed(inputs):
    return FAMILY.closed_form(*FAMILY.domain.split(inputs.double())).squeeze(-1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs") / "put"


@pytest.fixture(scope="module")
def alone(folder):
    """A solution without a control."""
    fk.pretrained("black-scholes").save(folder)
    return fk.load(folder)


@pytest.fixture(scope="module")
def progress():
    return []


@pytest.fixture(scope="module")
def accompanied(alone, folder, progress):
    return fk.add_control(alone, "3s", folder, progress.append)


@pytest.fixture(scope="module")
def good(accompanied):
    """Whatever three seconds were enough for on this machine."""
    return replace(accompanied, control=accompanied.control._replace(error=0.5))


@pytest.fixture(scope="module")
def queries():
    return FAMILY.domain.sample(8, torch.Generator().manual_seed(2))


def controlled(solution, inputs):
    """The replicates of the estimator that uses the control."""
    run = solution.manifest.run
    (rule,) = candidates(FAMILY, run.method.scheme, run.method.noise, solution.control, 4, 0)[-1]
    assert rule.name.endswith("control")
    return rule.replicates(inputs.double(), 64, 16, torch.Generator().manual_seed(1))


def test_a_control_takes_variance_and_does_no_harm(good):
    inputs = FAMILY.domain.sample(40, torch.Generator().manual_seed(5))
    perfect = Control(lambda v: closed(v)[..., None], ANYWHERE)
    for solution, least in ((good, 0.5), (replace(good, control=perfect), 100.0)):
        found = controlled(solution, inputs)
        variance = found.second.mean(0) - found.first.mean(0).square()
        assert (variance / (64 * found.value.var(0))).median() > least
        spread = found.value.std(0) / 4.0
        assert ((found.value.mean(0) - closed(inputs)).abs() < 5.0 * spread).all()


def test_only_the_control_is_new(alone, accompanied):
    assert alone.control is None
    assert accompanied.control is not None
    assert replace(accompanied, control=None) == alone
    assert isinstance(accompanied.control.domain.sampler, Visits)
    assert not any(p.requires_grad for p in accompanied.control.map.parameters())


def test_its_training_is_reported(accompanied, progress):
    assert progress[-1].step == progress[-1].steps
    assert progress[-1].record is not None


def test_it_is_kept_in_the_folder_and_found_again(accompanied, folder, queries):
    assert (folder / CONTROL / MANIFEST).is_file()
    loaded = fk.load(folder)
    assert loaded.control is not None
    assert loaded.control.domain.measures == accompanied.control.domain.measures
    here, there = (s.certify(queries, effort=QUICK) for s in (accompanied, loaded))
    assert here.record() == there.record()


def test_a_control_that_is_good_enough_is_kept(accompanied, good, folder):
    before = (folder / CONTROL / MANIFEST).stat().st_mtime_ns
    assert fk.add_control(good, "3s", folder) is good
    assert fk.add_control(good, "2s") is good
    assert (folder / CONTROL / MANIFEST).stat().st_mtime_ns == before
    loaded = fk.load(folder).control
    assert (loaded.error, loaded.budget) == (accompanied.control.error, 3.0)


def test_a_control_of_no_use_is_replaced(accompanied, folder, tmp_path):
    useless = accompanied.control._replace(error=1.5)
    shutil.copytree(folder, tmp_path / "run")
    (tmp_path / "run" / CONTROL / MANIFEST).write_text("{}")
    again = fk.add_control(replace(accompanied, control=useless), "1s", tmp_path / "run")
    assert again.control is not useless
    assert fk.load(tmp_path / "run").control.budget == 1.0
    assert sorted(path.name for path in (tmp_path / "run").glob("control*")) == [CONTROL]


@pytest.mark.slow
def test_a_larger_budget_is_honoured(accompanied, tmp_path):
    """And the better of both controls is kept."""
    worse = accompanied.control._replace(error=2.0, budget=0.5)
    longer = fk.add_control(replace(accompanied, control=worse), "1s", tmp_path)
    assert longer.control.budget == 1.0
    best = accompanied.control._replace(error=0.0, budget=0.5)
    solution = replace(accompanied, control=best)
    assert fk.add_control(solution, "1s", tmp_path / "other") is solution
    assert not list((tmp_path / "other").glob("control*"))


@pytest.mark.parametrize(("steps", "l1"), [(1, 0.01), (50, 0.4)], ids=["one step", "not linear"])
def test_which_controls_are_of_no_use(alone, steps, l1):
    record = {**alone.manifest.history[-1], "l1": l1, "linear_baseline": 0.3}
    manifest = alone.manifest.model_copy(update={"steps": steps, "history": [record]})
    assert replace(alone, manifest=manifest).as_control().error >= 1.0


def test_an_unfinished_control_is_not_one(alone, tmp_path):
    alone.save(tmp_path / "run")
    (tmp_path / "run" / CONTROL).mkdir()
    assert fk.load(tmp_path / "run").control is None


def test_flat_inputs_are_those_of_the_values_by_name(accompanied):
    at = {"x": [[9.2], [9.7]], "t": [0.3, 0.6], "sigma": 0.3, "strike": 11.0}
    flat = accompanied.family.domain.join(at)
    by_name, by_row = accompanied.certify(at, effort=QUICK), accompanied.certify(flat, effort=QUICK)
    assert by_name.value.shape == by_row.value.shape == (4,)
    assert torch.equal(by_name.network, by_row.network)


def test_with_time_enough_certificates_depend_on_their_seed_alone(accompanied, queries):
    effort = fk.Effort(seconds=60.0, aim=1e-3)
    first, again, other = (accompanied.certify(queries, effort=effort, seed=s) for s in (7, 7, 8))
    assert first.record() == again.record()
    assert not torch.equal(first.value, other.value)


def test_a_certificate_is_for_the_inside_of_the_domain(accompanied):
    with pytest.raises(fk.InputError, match=r"x = 8 lies outside \[9, 10\]"):
        accompanied.certify(x=8.0, t=0.5, sigma=0.3, strike=11.0)


def test_the_error_map_agrees_with_the_closed_form(accompanied):
    found = accompanied.error_map(64, effort=QUICK)
    measured = accompanied.error(2**14)
    low, high = found.interval
    assert low - 3 * measured.l1_se < measured.l1 < high + 3 * measured.l1_se
