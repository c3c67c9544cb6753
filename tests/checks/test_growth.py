"""Growth far outside: what explodes by theory is refused, what does not is let through."""

import math

import pytest
import torch

from feynkac.checks.checkup import require_sound
from feynkac.checks.finding import Subject
from feynkac.checks.growth import growth, measure_growth
from feynkac.errors import InputError
from feynkac.families import Box, Domain, Family
from feynkac.families.capabilities import Absorbing
from feynkac.families.catalogue import BUILT_IN


def make(drift, diffusion, low=-1.0, high=1.0, dim=1, base=(), power=1):
    """A family with these coefficients and φ = Σx^power; a ∈ [0.5, 1]."""

    class Sample(Family, *base):
        domain = Domain(x=Box(low, high, shape=(dim,)), t=Box(0, 1), a=Box(0.5, 1.0))

        def drift(self, x, p):
            return drift(x, p)

        def diffusion(self, x, dw, p):
            return diffusion(x, dw, p)

        def initial(self, x, p):
            return (x**power).sum(-1, keepdim=True)

        def distance(self, x, p):
            return 2.0 - x.abs()

    return Sample()


def pair(first, second):
    """A coefficient of two coordinates from functions of both."""
    return lambda x, *rest: torch.stack([first(*x.unbind(-1)), second(*x.unbind(-1))], dim=-1)


def still(x, p):
    return 0.0 * x


def unit(x, dw, p):
    return dw


def root(x):
    return x.clamp_min(0.0).sqrt()


HESTON = (
    pair(lambda s, v: 0.0 * s, lambda s, v: 1.0 - v),
    lambda x, dw, p: dw * pair(lambda s, v: s * root(v), lambda s, v: root(v))(x),
)
SCOTT = (
    pair(lambda s, v: 0.0 * s, lambda s, v: -v),
    lambda x, dw, p: dw * pair(lambda s, v: s * v.exp(), lambda s, v: 1.0 + 0.0 * v)(x),
)


@pytest.mark.parametrize(
    ("family", "culprit", "power"),
    [
        (make(lambda x, p: x**2, unit), "μ", 2),
        (make(lambda x, p: x**3, unit), "μ", 3),
        (make(lambda x, p: x * x.square().sum(-1, keepdim=True), unit, dim=3), "μ", 3),
        (make(lambda x, p: x.abs() ** 1.3, unit), "μ", 1.3),
        (make(lambda x, p: x.exp(), unit), "μ", math.inf),
        (make(lambda x, p: x * (1.0 - x), unit, 0.0, 1.0), "μ", 2),  # noise carries it below 0
        (make(still, lambda x, dw, p: x**2 * dw), "σ", 2),
        (make(still, lambda x, dw, p: x.abs() ** 1.5 * dw), "σ", 1.5),
        (make(lambda x, p: -x, lambda x, dw, p: x.exp() * dw), "σ", math.inf),
    ],
    ids=range(9),
)
def test_explosions_are_refused_and_the_culprit_is_named(family, culprit, power):
    measured = measure_growth(family)
    found = measured.drift if culprit == "μ" else measured.diffusion
    assert found == pytest.approx(power, abs=0.03)
    finding = growth(Subject(family))
    assert finding.verdict == "fail"
    assert f"Sample explodes: superlinear growth of {culprit}, like" in finding.sentence


def test_growth_where_no_path_comes_is_noted():
    """Radiation −T⁴ heats below 0 K; a slow explosion far from short paths is none."""
    cold = make(lambda x, p: 1e-8 * (1e10 - x**4), lambda x, dw, p: 5.0 * dw, 230.0, 300.0)
    slow = make(lambda x, p: 0.01 * x**3, lambda x, dw, p: 0.1 * dw)
    for family in (cold, slow):
        assert measure_growth(family).explosive == "μ"
        finding = growth(Subject(family))
        assert finding.verdict == "note"
        assert "no simulated path comes there" in finding.sentence


def test_solve_refuses_them():
    with pytest.raises(InputError, match=r"explodes: superlinear growth of μ, like .* wall\.$"):
        require_sound(make(lambda x, p: x**3, unit))


@pytest.mark.parametrize(
    "family",
    [
        make(still, unit),
        make(lambda x, p: 50.0 * p.a - x, unit, 99.9, 100.1),
        make(lambda x, p: -x, lambda x, dw, p: 3.0 * x * dw, 99.9, 100.1),
        make(lambda x, p: -(x**3), unit),
        make(lambda x, p: -2.0 * x**3, lambda x, dw, p: x**2 * dw),  # Khasminskii: −4 + 1 < 0
        make(lambda x, p: x * x.abs().clamp_min(1e-9).log(), unit),
        make(lambda x, p: x * (1.0 - x), lambda x, dw, p: x * dw, 0.0, 1.0),  # stays positive
        make(lambda x, p: p.a - x, lambda x, dw, p: root(x) * dw, 0.0, 1.0),
        make(lambda x, p: p.a - x, lambda x, dw, p: x.sqrt() * dw, 0.0, 1.0),  # NaN below 0
        make(lambda x, p: x.clamp(-2.0, 2.0) ** 3, unit),
        make(lambda x, p: x**2, unit, base=(Absorbing,)),  # walls at ±2
        make(lambda x, p: 10.0 * ((-2.0 * x).exp() - (-x).exp()), unit, 0.5, 2.0),  # Morse
        make(*HESTON, 0.0, 1.0, dim=2),
        make(*SCOTT, 0.5, 1.0, dim=2),
    ],
    ids=range(14),
)
def test_what_stays_finite_is_let_through(family):
    assert growth(Subject(family)).verdict != "fail"


def test_noise_that_a_drift_outruns_is_noted():
    coefficients = lambda x, p: -0.1 * x**3, lambda x, dw, p: x**2 * dw  # 2 · 0.1 < 1
    finding = growth(Subject(make(*coefficients, power=2)))
    assert finding.verdict == "note"
    assert finding.sentence.startswith("the coefficients grow like |x|^3: E φ(S) may be infinite")
    assert finding.sentence.endswith("φ grows like |x|^2")
    finding = growth(Subject(make(*coefficients)))
    assert finding.verdict == "ok"
    assert finding.sentence.startswith("the coefficients grow like |x|^3: paths exist")


@pytest.mark.parametrize(
    "drift",
    [
        pair(lambda q, v: v, lambda q, v: q - q**3 - 0.1 * v),  # inertia in a double well
        pair(lambda q, v: v, lambda q, v: -(q**3)),  # without friction
        pair(lambda a, b: a * (1.0 - b), lambda a, b: b * (a - 1.0)),  # predators and prey
        pair(lambda a, b: -a * b.square(), lambda a, b: -b * a.square()),  # a flat potential
    ],
)
def test_a_flow_that_stays_raises_no_alarm(drift):
    family = make(drift, lambda x, dw, p: 0.1 * x * dw, 0.5, 1.5, dim=2)
    assert growth(Subject(family)).verdict == "ok"


def test_inward_growth_is_said():
    family = make(lambda x, p: -(x**3), unit)
    found = measure_growth(family)
    assert found.drift == pytest.approx(3.0, abs=0.03)
    assert not found.together
    finding = growth(Subject(family))
    assert finding.verdict == "ok"
    assert "grow like |x|^3, but μ holds paths together" in finding.sentence
    assert finding.figures["drift"] == found.drift


@pytest.mark.parametrize(("power", "verdict"), [(1, "ok"), (2, "note")])
@pytest.mark.parametrize("coefficients", [HESTON, SCOTT])
def test_growth_of_two_coordinates_at_once_is_noted_if_the_payoff_grows(
    coefficients, power, verdict
):
    family = make(*coefficients, 0.5, 1.0, dim=2, power=power)
    found = measure_growth(family)
    assert found.together
    assert found.initial == pytest.approx(power, abs=0.03)
    finding = growth(Subject(family))
    assert finding.verdict == verdict
    assert finding.sentence.startswith("with all coordinates at once")


@pytest.mark.parametrize(
    ("family", "ending"),
    [
        (make(lambda x, p: (1.0 - x.square()).sqrt(), unit), "not checked there"),
        (
            make(lambda x, p: x**2, unit, base=(Absorbing,)),
            "all around are walls, or places they cannot cross",
        ),
    ],
    ids=["undefined", "beyond walls"],
)
def test_where_nothing_is_defined_nothing_is_said(family, ending):
    found = measure_growth(family)
    assert found.checked == 0.0
    assert math.isnan(found.drift)
    assert math.isnan(found.diffusion)
    assert growth(Subject(family)).sentence.endswith(ending)


def test_the_exponents_of_a_geometric_brownian_motion_are_one():
    family = make(lambda x, p: p.a * x, lambda x, dw, p: x * dw, 90.0, 110.0)
    found = measure_growth(family)
    assert found.drift == pytest.approx(1.0, abs=0.01)
    assert found.diffusion == pytest.approx(1.0, abs=0.01)
    assert found.checked == 1.0
    assert growth(Subject(family)).verdict == "ok"


@pytest.mark.parametrize("cls", BUILT_IN.values())
def test_built_in_families_do_not_explode(cls):
    assert growth(Subject(cls())).verdict != "fail"
