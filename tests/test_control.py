"""The companion of a solution: trained for its certificates, kept beside it."""

from dataclasses import replace

import pytest
import torch

import feynkac as fk
from feynkac.sampling.visited import VisitedDomain
from feynkac.solution import CONTROL
from feynkac.storage import MANIFEST

FAMILY = fk.BlackScholes()
QUICK = fk.Effort(steps=4)


def closed(inputs):
    return FAMILY.closed_form(*FAMILY.domain.split(inputs.double())).squeeze(-1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs") / "put"


@pytest.fixture(scope="module")
def alone(folder):
    """A solution without a control."""
    return fk.solve(FAMILY, steps=150, seed=0, evaluations=1, out=folder)


@pytest.fixture(scope="module")
def progress():
    return []


@pytest.fixture(scope="module")
def accompanied(alone, folder, progress):
    return fk.add_control(alone, "3s", folder, progress.append)


@pytest.fixture(scope="module")
def queries():
    return FAMILY.domain.sample(8, torch.Generator().manual_seed(2))


def test_a_control_sharpens_certificates(alone, accompanied, queries):
    before, after = (s.certify_inputs(queries) for s in (alone, accompanied))
    assert after.reduction.median() > 2 * before.reduction.median()
    assert after.half_width.median() < before.half_width.median()
    assert torch.equal(after.network, before.network)


def test_certificates_cover_with_and_without_a_control(alone, accompanied):
    inputs = FAMILY.domain.sample(40, torch.Generator().manual_seed(5))
    for solution in (alone, accompanied):
        found = solution.certify_inputs(inputs, effort=fk.Effort(steps=4, confidence=0.99))
        assert ((found.value - closed(inputs)).abs() <= found.half_width).sum() >= 37


def test_only_the_control_is_new(alone, accompanied):
    assert alone.control is None
    assert accompanied.control is not None
    assert replace(accompanied, control=None) == alone
    assert isinstance(accompanied.control.domain, VisitedDomain)
    assert not any(p.requires_grad for p in accompanied.control.map.parameters())


def test_its_training_is_reported(accompanied, progress):
    assert progress[-1].step == progress[-1].steps > 1
    assert progress[-1].record is not None


def test_it_is_kept_in_the_folder_and_found_again(accompanied, folder, queries):
    assert (folder / CONTROL / MANIFEST).is_file()
    loaded = fk.load(folder)
    assert loaded.control is not None
    assert loaded.control.domain == accompanied.control.domain
    here, there = (s.certify_inputs(queries, effort=QUICK) for s in (accompanied, loaded))
    assert here.record() == there.record()


def test_a_solution_with_a_control_is_handed_back(accompanied, folder):
    before = (folder / CONTROL / MANIFEST).stat().st_mtime_ns
    assert fk.add_control(accompanied, "3s", folder) is accompanied
    loaded = fk.load(folder)
    assert fk.add_control(loaded) is loaded
    assert (folder / CONTROL / MANIFEST).stat().st_mtime_ns == before


def test_an_unfinished_control_is_not_one(alone, tmp_path):
    alone.save(tmp_path / "run")
    (tmp_path / "run" / CONTROL).mkdir()
    assert fk.load(tmp_path / "run").control is None


def test_the_corrected_value_is_that_of_the_certificate(accompanied):
    at = {"x": [[9.2], [9.8]], "t": [0.3, 0.9], "sigma": 0.4, "strike": 11.0}
    corrected = accompanied.value(corrected=True, **at)
    assert corrected.shape == (2, 2)
    assert torch.equal(corrected.flatten(), accompanied.certify(**at).value)
    assert torch.equal(accompanied.value(**at), accompanied(**at))


def test_certificates_depend_on_their_seed_alone(accompanied, queries):
    first, again, other = (
        accompanied.certify_inputs(queries, effort=QUICK, seed=s) for s in (7, 7, 8)
    )
    assert first.record() == again.record()
    assert not torch.equal(first.value, other.value)


def test_a_certificate_is_for_the_inside_of_the_domain(accompanied):
    with pytest.raises(fk.InputError, match=r"x = 8 lies outside \[9, 10\]"):
        accompanied.certify(x=8.0, t=0.5, sigma=0.3, strike=11.0)


def test_the_error_map_agrees_with_the_closed_form(accompanied):
    found = accompanied.error_map(64, effort=fk.Effort(paths=16))
    measured = accompanied.error(2**14)
    low, high = found.interval
    assert low - 3 * measured.l1_se < measured.l1 < high + 3 * measured.l1_se
