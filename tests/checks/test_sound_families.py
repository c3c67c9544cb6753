"""No alarm for families that solve well; `tests/broken` holds those that must be named."""

import pytest
from sound_families import SOUND

import feynkac as fk
from feynkac.benchmarks.zoo_members import choose_members
from feynkac.checks.checkup import CHECKS, Check, check
from feynkac.checks.finding import Subject
from feynkac.families.capabilities import ExactSampler

QUICK = [each for each in CHECKS if each.name not in ("cost", "scheme")]
"""Without those that search for a method."""


def given_scheme(family: fk.Family) -> fk.Scheme:
    return fk.Exact() if isinstance(family, ExactSampler) else fk.EulerMaruyama(steps=32)


@pytest.mark.parametrize("cls", SOUND)
def test_a_sound_family_raises_no_alarm(cls):
    family = cls()
    subject = Subject(family, given_scheme(family))
    concerned: list[Check] = [each for each in QUICK if each.concerns(family)]
    assert len(concerned) > 6
    findings = {each.name: each.find(subject) for each in concerned}
    assert {name: f.sentence for name, f in findings.items() if f.verdict != "ok"} == {}


@pytest.mark.slow
@pytest.mark.parametrize("cls", SOUND)
def test_a_sound_family_passes_the_whole_list(cls):
    assert check(cls()).failed == {}


@pytest.mark.slow
@pytest.mark.parametrize("member", choose_members([]), ids=lambda member: member.name)
def test_a_family_of_the_zoo_raises_no_alarm(member):
    findings = check(member.family).findings
    assert {name: f.sentence for name, f in findings.items() if f.verdict != "ok"} == {}
