"""Certificates: their intervals cover, their verdicts are right, and they stop when they should."""

import json
import math

import pytest
import torch
from scipy.stats import t as student

from feynkac.analysis.certificates import REPLICATES, Certificate, Effort, certify
from feynkac.analysis.martingale import Control
from feynkac.errors import InputError
from feynkac.families import BasketPut, BlackScholes, Box, Domain
from feynkac.sampling.euler_maruyama import EulerMaruyama
from feynkac.sampling.exact import Exact
from feynkac.sampling.log_ode import LogOde
from feynkac.sampling.noise import Antithetic, Independent
from feynkac.sampling.reference import monte_carlo
from feynkac.sampling.sobol import Sobol
from feynkac.sampling.spherical import SphericalRadial

FAMILY = BlackScholes()
ANYWHERE = Domain(**{**FAMILY.domain.boxes, "x": Box(1e-3, 1e3)})
AT = {"x": 9.5, "t": 0.5, "sigma": 0.35, "strike": 11.0}
SHIFT = 0.05


def closed(inputs):
    return FAMILY.closed_form(*FAMILY.domain.split(inputs))


def shifted(inputs):
    return closed(inputs) + SHIFT


def flat(inputs):
    """As a control: none at all."""
    return torch.zeros_like(inputs[..., :1])


QUICK = Effort(steps=4)
GOOD, NONE = Control(closed, ANYWHERE), Control(flat, ANYWHERE)


def check(u=closed, inputs=None, scheme=Exact(), noise=Independent(), control=GOOD, **settings):  # noqa: B008
    """A certificate for Black–Scholes, always from the same seed, by default with few steps."""
    settings = {"effort": QUICK} | settings
    inputs = FAMILY.domain.join(AT)[None] if inputs is None else inputs
    generator = torch.Generator().manual_seed(1)
    return certify(u, FAMILY, scheme, noise, control, inputs, generator, **settings)


def covers(found, truth):
    return int(((found.value - truth).abs() <= found.half_width).sum())


@pytest.fixture(scope="module")
def queries():
    return FAMILY.domain.sample(200, torch.Generator().manual_seed(3))


@pytest.mark.parametrize("noise", [Independent(), Sobol()], ids=lambda n: n.kind)
def test_95_percent_intervals_cover_the_closed_form(queries, noise):
    found = check(inputs=queries, noise=noise, effort=Effort())
    truth = closed(queries.double()).squeeze(-1)
    assert covers(found, truth) >= 180
    assert found.half_width.max() < 0.05
    assert found.half_width.median() < 0.005


def test_intervals_widen_with_the_confidence(queries):
    sure, unsure = (
        check(inputs=queries, effort=Effort(steps=4, confidence=c)) for c in (0.95, 0.5)
    )
    assert torch.equal(sure.value, unsure.value)
    assert (sure.statistical > 2 * unsure.statistical).all()
    truth = closed(queries.double()).squeeze(-1)
    assert 75 <= covers(unsure, truth) <= 125


@pytest.mark.parametrize("noise", [Independent(), Antithetic(), Sobol()], ids=lambda n: n.kind)
def test_a_good_control_saves_99_percent_of_the_variance(queries, noise):
    assert check(inputs=queries[:40], noise=noise, effort=Effort()).reduction.median() > 100


def test_no_control_saves_nothing(queries):
    assert check(inputs=queries, control=NONE).reduction.median() == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize(
    ("noise", "paths"),
    [(Independent(), 49), (Antithetic(), 50), (Sobol(), 64), (SphericalRadial(), 9)],
    ids=lambda v: getattr(v, "kind", ""),
)
def test_the_reduction_compares_with_as_many_plain_paths(noise, paths, generator):
    """Whatever the noise's weights are, and however many paths it rounds up to."""
    inputs = FAMILY.domain.join(AT)[None].expand(40, -1)
    found = check(inputs=inputs, noise=noise, effort=Effort(paths=49, steps=4))
    assert found.paths == REPLICATES * paths
    error = found.statistical / student.ppf(0.975, REPLICATES - 1)
    variance = (found.reduction * error.square() * found.paths).mean().item()
    plain = monte_carlo(FAMILY, Exact(), inputs[:1], 2**16, generator).error.item() ** 2 * 2**16
    assert variance == pytest.approx(plain, rel=0.03)


def test_the_estimate_does_not_depend_on_what_is_checked(queries):
    inputs = queries[:20].double()
    right, off = check(inputs=inputs), check(shifted, inputs)
    assert torch.equal(right.value, off.value)
    torch.testing.assert_close(off.network - right.network, torch.full((20,), SHIFT).double())
    torch.testing.assert_close(off.error, off.network - off.value)


def test_a_shift_is_outside_a_small_tolerance_and_within_a_large_one(queries):
    inputs = queries[:40]
    assert set(check(shifted, inputs, tolerance=0.2 * SHIFT).verdicts) == {"outside"}
    assert set(check(shifted, inputs, tolerance=2.0 * SHIFT).verdicts) == {"within"}
    assert set(check(shifted, inputs).verdicts) == {"outside"}


@pytest.mark.parametrize(
    ("tolerance", "expected"),
    [(0.1, ["within", "undecided", "outside"]), (None, ["within", "within", "outside"])],
)
def test_a_verdict_weighs_error_and_half_width_against_the_tolerance(tolerance, expected):
    value = torch.zeros(3, dtype=torch.float64)
    found = Certificate(
        network=value + torch.tensor([0.03, -0.05, 0.2]),
        value=value,
        statistical=value + 0.04,
        discretisation=value + 0.02,
        reduction=value + 1.0,
        tolerance=tolerance,
        confidence=0.95,
        paths=1024,
    )
    torch.testing.assert_close(found.half_width, value + 0.06)
    assert found.verdicts == expected


def test_paths_are_spent_until_the_verdict_is_clear():
    first = check(shifted, control=NONE)
    tolerance = first.error.abs().item() + 0.3 * first.half_width.item()
    fractions = []
    effort = Effort(steps=4, most_paths=2**18)
    found = check(
        shifted, control=NONE, tolerance=tolerance, effort=effort, report=fractions.append
    )
    assert first.paths == REPLICATES * 64
    assert first.paths < found.paths < effort.most_paths
    assert found.verdicts != ["undecided"]
    assert found.half_width < first.half_width
    assert fractions == sorted(fractions)
    assert fractions[-1] == found.paths / effort.most_paths


@pytest.mark.parametrize("most", [1024, 3000, 5000])
def test_the_cap_ends_the_search(most, queries):
    """A tolerance of exactly the error is hardly ever decided."""
    effort = Effort(steps=4, most_paths=most)
    found = check(shifted, queries[:20], control=NONE, tolerance=SHIFT, effort=effort)
    assert found.verdicts.count("undecided") > 10
    assert most / 2 < found.paths <= most


def test_exact_paths_have_no_discretisation_error(queries):
    found = check(inputs=queries[:10])
    assert not found.discretisation.any()
    assert torch.equal(found.half_width, found.statistical)


def test_the_error_of_euler_maruyama_is_added(queries):
    """Two steps are visibly wrong: without their bound the intervals would miss."""
    found = check(inputs=queries, scheme=EulerMaruyama(steps=2), effort=Effort(steps=2))
    truth = closed(queries.double()).squeeze(-1)
    assert (found.discretisation > 0).all()
    assert covers(found, truth) >= 180
    assert ((found.value - truth).abs() <= found.statistical).sum() < 120
    finer = check(inputs=queries, scheme=EulerMaruyama(steps=2), effort=Effort(steps=16))
    assert finer.discretisation.mean() < 0.5 * found.discretisation.mean()


def test_a_scheme_keeps_its_steps_if_it_has_more():
    few, many = (
        check(scheme=EulerMaruyama(steps=8), noise=Sobol(), effort=Effort(steps=n)) for n in (1, 8)
    )
    assert torch.equal(few.value, many.value)


def test_at_maturity_the_value_is_the_payoff():
    found = check(inputs=FAMILY.domain.join(AT | {"t": 0.0})[None])
    assert found.value.item() == pytest.approx(1.5, abs=1e-12)
    assert found.half_width.item() == pytest.approx(0.0, abs=1e-12)
    assert found.reduction.isfinite().all()


@pytest.mark.parametrize("noise", [Independent(), Sobol()], ids=lambda n: n.kind)
def test_a_basket_agrees_with_plain_monte_carlo(noise, generator):
    """With no closed form and a control that is wrong."""
    family = BasketPut()
    inputs = family.domain.sample(4, generator, torch.float64)
    wrong = Control(lambda v: v[..., :3].mean(-1, keepdim=True).sin(), family.domain)
    found = certify(flat, family, LogOde(), noise, wrong, inputs, generator, effort=Effort(steps=3))
    plain = monte_carlo(family, LogOde(steps=3), inputs, 2**14, generator)
    error = found.statistical / student.ppf(0.975, REPLICATES - 1)
    spread = (error.square() + plain.error.squeeze(-1).square()).sqrt()
    assert ((found.value - plain.value.squeeze(-1)).abs() < 4.5 * spread).all()


def test_inputs_in_several_chunks_are_all_answered(monkeypatch, queries):
    monkeypatch.setattr("feynkac.analysis.certificates.CHUNK", 64 * 7)
    found = check(inputs=queries[:20], effort=Effort(steps=2))
    assert found.value.shape == found.reduction.shape == (20,)
    truth = closed(queries[:20].double()).squeeze(-1)
    assert ((found.value - truth).abs() < 3 * found.half_width).all()


def test_a_record_is_plain_data_an_input_each(queries):
    found = check(shifted, queries[:3], tolerance=0.01)
    rows = json.loads(json.dumps(found.record()))
    assert len(rows) == 3
    for i, row in enumerate(rows):
        assert row == {
            "network": found.network[i].item(),
            "value": found.value[i].item(),
            "half_width": found.half_width[i].item(),
            "statistical": found.statistical[i].item(),
            "discretisation": 0.0,
            "variance_reduction": found.reduction[i].item(),
            "verdict": "outside",
            "tolerance": 0.01,
            "confidence": 0.95,
            "paths": found.paths,
        }


@pytest.mark.parametrize("tolerance", [0.0, -1.0, math.nan])
def test_a_tolerance_must_be_positive(tolerance):
    with pytest.raises(InputError, match=r"a tolerance must be positive, got (0\.0|-1\.0|nan)\."):
        check(tolerance=tolerance)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"confidence": 0.0}, r"confidence must lie between 0 and 1, got 0\.0\."),
        ({"confidence": 95}, r"confidence must lie between 0 and 1, got 95\."),
        ({"steps": 0}, r"steps, paths and most_paths must be at least 1\."),
        ({"paths": 0}, r"steps, paths and most_paths must be at least 1\."),
        ({"most_paths": -5}, r"steps, paths and most_paths must be at least 1\."),
        ({"most_paths": 1000}, r"needs 16 replicates of 64 paths, more than most_paths=1000; give"),
    ],
)
def test_a_bad_effort_is_one_sentence(settings, message):
    with pytest.raises(InputError, match=message):
        Effort(**settings)


def test_a_scheme_that_cannot_simulate_the_family_is_refused():
    with pytest.raises(InputError, match="BlackScholes is not affine-linear"):
        check(scheme=LogOde())
