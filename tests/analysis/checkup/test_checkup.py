"""The checkup: sound families pass, each broken one fails where and as it should."""

import dataclasses
import json
import math

import pytest

import feynkac as fk
from feynkac.analysis.checkup.checkup import examine
from feynkac.analysis.checkup.finding import Finding
from feynkac.families.catalogue import BUILT_IN

COMMON = ["domain", "formulas", "broadcasting", "corners", "noise", "growth"]


def small(cls=fk.HeatGaussian, **members):
    """A family of two dimensions that is examined in no time, with some members replaced."""
    derived = type("Changed", (cls,), {"__annotations__": {"dim": int}, "dim": 2, **members})
    return dataclasses.dataclass(frozen=True)(derived)()


# Sound families


@pytest.fixture(scope="module")
def put():
    return examine(fk.BlackScholes())


def test_a_sound_family_passes_everything(put):
    assert put.passed
    assert put.family == "black-scholes"
    assert [f.name for f in put.findings] == [
        *COMMON,
        *("closed form, t = 0", "closed form, PDE", "simulation", "slopes", "jumps"),
        *("exact sampler", "closed form, paths", "scheme", "cost"),
    ]
    assert {f.verdict for f in put.findings} == {"ok"}


def test_figures_are_what_was_measured(put):
    assert put["domain"].figures == {"inputs": 4, "state": 1}
    assert put["growth"].figures["diffusion"] == pytest.approx(1.0, abs=0.01)
    assert 0.0 < put["closed form, PDE"].figures["residual"] < 1e-12
    assert 0.0 < put["closed form, paths"].figures["excess"] < 1.0
    assert put["cost"].figures["megabytes"] > 0.1


def test_the_record_is_plain_data(put):
    read = json.loads(json.dumps(put.record(), allow_nan=False))
    assert read == put.record()
    assert read["passed"] is True
    assert read["findings"][0]["verdict"] == "ok"


def test_what_is_not_a_number_is_none_in_a_record():
    assert Finding("a", "ok", "b", {"c": math.nan}).record()["figures"] == {"c": None}


def test_progress_goes_to_one():
    seen = []
    examine(small(), seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_the_same_family_gives_the_same_findings():
    def figures():
        return [f.record() for f in examine(small()).findings if f.name != "cost"]

    assert figures() == figures()


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_families_pass(name):
    found = examine(BUILT_IN[name]())
    assert found.passed, found.failed


def test_something_else_is_no_family():
    with pytest.raises(fk.InputError, match="examine expects a Family, got str"):
        examine("black-scholes")


# What stops it


@pytest.mark.parametrize("broken", ["domain", "initial"])
def test_after_a_failed_beginning_nothing_more_is_examined(broken):
    members = {"domain": {}, "initial": lambda s, x, p: x}
    found = examine(small(**{broken: members[broken]}))
    assert found.findings[-1].verdict == "fail"
    assert len(found.failed) == 1
    assert "cost" not in [f.name for f in found.findings]


def test_a_formula_that_fails_later_is_a_finding():
    def closed_form(self, x, t, p):
        if x.requires_grad:
            raise ZeroDivisionError("gone")
        return fk.HeatGaussian(2).closed_form(x, t, p)

    finding = examine(small(closed_form=closed_form))["equation"]
    assert finding.verdict == "fail"
    assert finding.sentence == "could not be examined: ZeroDivisionError: gone"
