"""The checkup: sound families pass, each broken one fails where and as it should."""

import json
import time

import pytest
from small_family import small

import feynkac as fk
from feynkac.checks import checkup
from feynkac.checks.checkup import CHECKS, Check, Checkup, check, require_simulable, require_sound
from feynkac.checks.finding import Finding
from feynkac.errors import InputError
from feynkac.families.capabilities import NoiseDimension, Pays, VectorValued
from feynkac.families.catalogue import BUILT_IN
from feynkac.methods.fast.choose_scheme import suitable_scheme

STRUCTURE = ["domain", "formulas", "broadcasting", "corners", "noise", "growth"]


# Sound families


@pytest.fixture(scope="module")
def put():
    return check(fk.BlackScholes())


def test_a_sound_family_passes_everything(put):
    assert put.passed
    assert put.family == "black-scholes"
    assert list(put.findings) == [
        *STRUCTURE,
        *("closed form, t = 0", "closed form, PDE", "simulation", "slopes", "jumps"),
        *("coefficients", "exact sampler", "closed form, paths", "scheme", "cost"),
    ]
    assert {f.verdict for f in put.findings.values()} == {"ok"}


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
    assert read["findings"][0]["name"] == "domain"
    assert read["findings"][0]["verdict"] == "ok"


@pytest.mark.parametrize(
    ("failures", "summary"),
    [
        (0, "heston: no problems found"),
        (1, "heston: 1 problem to fix"),
        (2, "heston: 2 problems to fix"),
    ],
)
def test_the_summary_counts_problems(failures, summary):
    sound = {"a": Finding("ok", "fine"), "b": Finding("note", "odd")}
    broken = {str(i): Finding("fail", "bad") for i in range(failures)}
    found = Checkup("heston", sound | broken)
    assert found.summary == summary
    assert found.passed == (failures == 0)
    assert found.failed == broken


def test_progress_goes_to_one():
    seen = []
    check(small(), seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_the_same_family_gives_the_same_findings():
    def figures():
        return [f for f in check(small()).record()["findings"] if f["name"] != "cost"]

    assert figures() == figures()


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_families_pass(name):
    found = check(BUILT_IN[name]())
    assert found.passed, found.failed


def test_something_else_is_no_family():
    with pytest.raises(fk.InputError, match="check expects a Family, got Box"):
        check(fk.Box(0.0, 1.0))
    with pytest.raises(fk.InputError, match=r"got the class BlackScholes; give BlackScholes\(\)"):
        check(fk.BlackScholes)


@pytest.mark.slow
def test_a_name_is_a_family():
    assert check("heat-gaussian").summary == "heat-gaussian: no problems found"


# What stops it


@pytest.mark.parametrize("broken", ["domain", "initial"])
def test_after_a_failed_beginning_nothing_more_is_checked(broken):
    members = {"domain": {}, "initial": lambda s, x, p: x}
    found = check(small(**{broken: members[broken]}))
    assert list(found.findings.values())[-1].verdict == "fail"
    assert len(found.failed) == 1
    assert "cost" not in found.findings


def test_a_formula_that_fails_later_is_a_finding():
    def closed_form(self, x, t, p):
        if x.requires_grad:
            raise ZeroDivisionError("gone")
        return fk.HeatGaussian(2).closed_form(x, t, p)

    found = check(small(closed_form=closed_form))
    assert found["closed form, PDE"].verdict == "fail"
    assert found["closed form, PDE"].sentence == "could not be checked: ZeroDivisionError: gone"
    assert "cost" in found.findings


@pytest.mark.parametrize(
    ("capability", "attribute"),
    [(VectorValued, "outputs"), (NoiseDimension, "noise_dim"), (Pays, "payoff")],
)
def test_a_wrong_declaration_is_the_only_finding(capability, attribute):
    """Nothing asks for what is declared before the declaration is checked."""
    family = type("Odd", (fk.HeatGaussian, capability), {attribute: "three"})(2)
    found = check(family)
    assert list(found.findings) == ["domain"]
    assert f"Odd.{attribute} must be a" in found["domain"].sentence


# The quick checks, which `solve` runs


def test_the_quick_checks_are_these():
    quick = [(one.name, one.needs_scheme) for one in CHECKS if one.quick]
    assert quick == [*((name, False) for name in (*STRUCTURE, "walls")), ("simulation", True)]


def test_a_family_is_concerned_by_one_check_of_each_name():
    for family in (cls() for cls in BUILT_IN.values()):
        names = [one.name for one in CHECKS if one.concerns(family)]
        assert len(names) == len(set(names))


@pytest.fixture
def calls(monkeypatch):
    """The names of checks in the order in which they run, all sound but the second quick one."""
    seen = []

    def stub(name, verdict="ok", **flags):
        def find(_subject):
            seen.append(name)
            return Finding(verdict, f"{name} it is")

        return Check(name, find, **flags)

    listed = (
        stub("slow", "fail"),
        stub("first", "note", quick=True),
        stub("second", "fail", quick=True),
        stub("third", "fail", quick=True),
        stub("path", "fail", quick=True, needs_scheme=True),
        stub("other", "fail", concerns=lambda _: False, quick=True),
    )
    monkeypatch.setattr(checkup, "CHECKS", listed)
    return seen


def test_the_first_quick_failure_is_raised(calls):
    with pytest.raises(InputError, match=r"^second it is\.$"):
        require_sound(fk.BlackScholes())
    assert calls == ["first", "second"]


def test_paths_are_checked_once_there_is_a_scheme(calls):
    with pytest.raises(InputError, match=r"^path it is\.$"):
        require_simulable(fk.BlackScholes(), fk.Exact())
    assert calls == ["path"]


def test_all_that_concern_the_family_run_in_a_checkup(calls):
    found = check(fk.BlackScholes())
    assert calls == ["slow", "first", "second", "third", "path"]
    assert list(found.failed) == ["slow", "second", "third", "path"]


def test_the_error_of_a_formula_stays_the_cause():
    def drift(self, x, p):
        raise ZeroDivisionError("gone")

    with pytest.raises(InputError, match=r"drift fails .* ZeroDivisionError: gone") as caught:
        require_sound(small(drift=drift))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_families_pass_in_a_second(name):
    family = BUILT_IN[name]()
    scheme = suitable_scheme(family)
    require_simulable(family, scheme)
    start = time.process_time()
    require_sound(family)
    require_simulable(family, scheme)
    assert time.process_time() - start < 1.0
