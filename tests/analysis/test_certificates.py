"""Certificates: their intervals cover, their verdicts are right, and they stop when they should.

A coverage test counts misses among n certificates. Were the chance of a miss exactly 5 %, the count
would exceed `allowed(n, 0.05)` once in 10,000 runs.
"""

import itertools
import json
import math
from dataclasses import replace

import pytest
import torch
from scipy.stats import binom

import feynkac as fk
from feynkac.analysis.certificates import AIM, Certificate, Effort, certify
from feynkac.analysis.estimators import Simulated
from feynkac.analysis.martingale import Control
from feynkac.analysis.pilot import REPLICATES, interval
from feynkac.errors import InputError
from feynkac.families import BasketPut, BlackScholes, Box, Domain
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.noise.spherical import SphericalRadial
from feynkac.sampling.noise.stretched import Stretched
from feynkac.sampling.reference import monte_carlo
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.family_steps import FamilySteps
from feynkac.sampling.schemes.log_ode import LogOde
from still import Still

FAMILY = BlackScholes()
AT = {"x": 9.5, "t": 0.5, "sigma": 0.35, "strike": 11.0}
SHIFT = 0.05
FALSE_ALARM = 1e-4
COARSE = Effort(seconds=0.1, aim=1e-3)


def allowed(count, chance):
    return int(binom.ppf(1.0 - FALSE_ALARM, count, chance))


def closed(inputs, family=FAMILY):
    return family.closed_form(*family.domain.split(inputs))


def shifted(inputs):
    return closed(inputs) + SHIFT


def check(u=closed, inputs=None, family=FAMILY, scheme=Exact(), control=None, **settings):  # noqa: B008
    """A certificate, always from the same seed."""
    settings = {"effort": COARSE} | settings
    inputs = family.domain.join(AT)[None] if inputs is None else inputs
    generator = torch.Generator().manual_seed(1)
    noise = settings.pop("noise", Sobol())
    return certify(u, family, scheme, noise, control, inputs, generator, **settings)


def sample(family, count, seed=3):
    return family.domain.sample(count, torch.Generator().manual_seed(seed), torch.float64)


def missed(found, truth):
    return (found.value - truth).abs() > found.half_width


@pytest.fixture(scope="module")
def queries():
    return sample(FAMILY, 500)


# coverage


CASES = [
    pytest.param(FAMILY, 500, id="black-scholes"),
    pytest.param(fk.BlackScholesMerton(), 300, id="black-scholes-merton"),
    pytest.param(fk.Digital(), 300, id="digital", marks=pytest.mark.slow),
    pytest.param(fk.OrnsteinUhlenbeck(), 300, id="ornstein-uhlenbeck"),
    pytest.param(fk.Heston(), 100, id="heston", marks=pytest.mark.slow),
    pytest.param(fk.Rainbow(), 100, id="rainbow", marks=pytest.mark.slow),
    pytest.param(fk.Spread(), 100, id="spread"),
    pytest.param(fk.Cev(), 100, id="cev"),
]


@pytest.mark.parametrize(("family", "count"), CASES)
def test_95_percent_intervals_cover_the_closed_form(family, count):
    inputs = sample(family, count)
    scheme = Exact() if isinstance(family, fk.ExactSampler) else FamilySteps()
    truth = closed(inputs, family).squeeze(-1)
    effort = replace(COARSE, seconds=1.0)  # which another program may delay
    found = check(lambda v: closed(v, family), inputs, family, scheme, effort=effort)
    assert missed(found, truth).sum() <= allowed(count, 0.05)
    assert (found.half_width > 0.0).all()
    assert (found.half_width / (1.0 + truth.abs())).median() < 1e-3


def test_looking_again_does_not_cost_coverage():
    """A network wrong by exactly the tolerance: most looks are taken, and few verdicts are wrong.

    "Within" and "outside" are both wrong there by a hair: "within" must be rare, at most 2.5 %.
    """
    inputs, tolerance = sample(FAMILY, 500, seed=4), 1e-3
    truth = closed(inputs).squeeze(-1)
    effort = Effort(seconds=1.0, most_paths=2**13)
    found = check(lambda v: closed(v) + tolerance, inputs, tolerance=tolerance, effort=effort)
    assert missed(found, truth).sum() <= allowed(500, 0.05)
    assert found.verdicts.count("within") <= allowed(500, 0.025)
    assert found.verdicts.count("undecided") > 400


def test_a_clear_verdict_takes_one_look(queries):
    near = check(inputs=queries[:50], tolerance=0.1)
    assert set(near.verdicts) == {"within"}
    assert set(check(shifted, queries[:50], tolerance=0.2 * SHIFT).verdicts) == {"outside"}
    assert set(check(shifted, queries[:50], tolerance=2.0 * SHIFT).verdicts) == {"within"}
    sharp = check(lambda v: closed(v) + 0.1, queries[:50], tolerance=0.1 - 1e-7)
    assert sharp.paths.double().mean() > 2.0 * near.paths.double().mean()


def test_a_network_that_is_right_is_mostly_within_its_interval(queries):
    verdicts = check(inputs=queries).verdicts
    assert verdicts.count("outside") <= allowed(500, 0.05)
    assert set(check(shifted, queries[:40]).verdicts) == {"outside"}


# what hardly ever pays


@pytest.mark.parametrize("payoff", ["call", "digital"])
@pytest.mark.parametrize(("sigma", "low", "high"), [(0.2, 1e-7, 1e-3), (0.13, 1e-12, 1e-6)])
def test_what_hardly_ever_pays_has_an_interval(payoff, sigma, low, high):
    """A strike 4.5 to 7 deviations away: plain paths all say 0."""
    family = fk.BlackScholesMerton() if payoff == "call" else fk.Digital()
    at = {"x": 90.0, "t": 0.05, "sigma": sigma, "rate": 0.0, "dividend": 0.0, "strike": 110.0}
    inputs = family.domain.join(at)[None].expand(100, -1)
    truth = closed(inputs, family).squeeze(-1)
    assert low < truth[0] < high
    found = check(lambda v: closed(v, family), inputs, family)
    assert (found.half_width > 0.0).all()
    assert missed(found, truth).sum() <= allowed(100, 0.05)


def test_a_kink_far_out_is_not_overlooked():
    """In the money the payoff is linear on all usual paths, and antithetic pairs all agree."""
    family = fk.OrnsteinUhlenbeck()
    at = {"x": 0.9, "t": 0.5, "kappa": 1.0, "theta": 0.5, "sigma": 0.5, "strike": 0.13}
    inputs = family.domain.join(at)[None].expand(100, -1)
    truth = closed(inputs, family).squeeze(-1)
    assert 1e-9 < truth[0] - (0.9 + math.expm1(-0.5) * 0.4 - 0.13) < 1e-3
    found = check(lambda v: closed(v, family), inputs, family)
    assert missed(found, truth).sum() <= allowed(100, 0.05)


def test_at_maturity_the_value_is_the_payoff():
    found = check(inputs=FAMILY.domain.join(AT | {"t": 0.0})[None])
    assert found.value.item() == pytest.approx(1.5, abs=1e-12)
    assert found.half_width.item() == 0.0
    assert found.reduction.isfinite().all()


def test_without_noise_there_is_no_width():
    family = Still()
    found = check(lambda v: v[:, :1], sample(family, 3), family, EulerMaruyama(steps=2))
    assert torch.equal(found.value, found.network)
    assert not found.half_width.any()


# width, time and paths


def test_the_width_aimed_at_is_reached(queries):
    widths = []
    for aim in (1e-5, 3e-8):
        found = check(inputs=queries[:20], effort=Effort(aim=aim))
        relative = found.half_width / (1.0 + found.value.abs())
        assert relative.quantile(0.8) <= aim
        widths.append(relative.median())
    assert widths[1] < 0.5 * widths[0]


def test_black_scholes_is_certified_far_below_the_error_of_its_network():
    """Six digits; a martingale control of 20 seconds gave ± 0.003."""
    found = check(effort=Effort(aim=4e-6))
    assert found.half_width.item() < 1e-5
    assert found.paths.item() < 2**17


def test_paths_stay_below_the_cap():
    effort = Effort(seconds=10.0, aim=1e-12, most_paths=2**13)
    found = check(effort=effort)
    assert found.paths.item() <= 3 * 2**13  # with the pilots of both kinds of noise


def test_the_time_is_kept():
    """Of paths that would take minutes; a wide margin, for a busy machine."""
    clocks = []
    found = check(effort=Effort(seconds=0.2, aim=1e-13, most_paths=2**30), report=clocks.append)
    assert found.paths.item() < 2**24
    assert clocks == [1.0]


def test_intervals_widen_with_the_confidence(queries):
    sure, unsure = (
        check(inputs=queries, effort=Effort(seconds=1.0, aim=1e-3, confidence=c))
        for c in (0.99, 0.5)
    )
    truth = closed(queries).squeeze(-1)
    assert missed(sure, truth).sum() <= allowed(500, 0.01)
    assert 100 <= missed(unsure, truth).sum() <= 250


# discretisation


def test_exact_paths_have_no_discretisation_error(queries):
    found = check(inputs=queries[:10])
    assert not found.discretisation.any()
    assert torch.equal(found.half_width, found.statistical)
    assert {name.split(",")[0] for name in found.estimators} == {"exact:1"}


def test_steps_are_added_until_their_error_is_small():
    """Of a scheme that is visibly wrong: without its bound the intervals would miss."""
    family = fk.Channel()
    inputs = sample(family, 20)
    truth = closed(inputs, family).squeeze(-1)
    effort = Effort(seconds=0.1, aim=3e-3)
    found = check(lambda v: closed(v, family), inputs, family, FamilySteps(), effort=effort)
    assert (found.discretisation > 0.0).all()
    assert missed(found, truth).sum() <= allowed(20, 0.05)


def test_two_step_sizes_remove_most_of_the_error():
    """Two steps extrapolated against two steps as they are."""
    family, scheme = fk.Heston(), FamilySteps(steps=1)
    inputs, generator = sample(family, 20), torch.Generator().manual_seed(2)
    truth = closed(inputs, family).squeeze(-1)
    rule = Simulated(family, scheme, Stretched(far=0.0))
    found = rule.replicates(inputs, 2**11, REPLICATES, generator)
    every = torch.full((20,), True)
    better = interval(rule, found, every, 2**11, 0.95)
    plain = interval(rule, found, ~every, 2**11, 0.95)
    assert (better.value - truth).abs().mean() < 0.7 * (plain.value - truth).abs().mean()
    assert missed(better, truth).sum() <= allowed(20, 0.05)


def test_a_basket_agrees_with_plain_monte_carlo(generator):
    """With no closed form and a control that is wrong; run with Euler–Maruyama, and yet right."""
    family = BasketPut()
    inputs = family.domain.sample(3, generator, torch.float64)
    wrong = Control(lambda v: v[..., :3].mean(-1, keepdim=True).sin(), family.domain)
    found = check(lambda v: v[:, :1], inputs, family, EulerMaruyama(), wrong)
    assert {name[:7] for name in found.estimators} == {"log-ode"}
    plain = monte_carlo(family, LogOde(steps=4), inputs, 2**14, generator)
    spread = (found.se.square() + plain.error.squeeze(-1).square()).sqrt()
    allowance = 4.5 * spread + found.discretisation
    assert ((found.value - plain.value.squeeze(-1)).abs() < allowance).all()


# which estimator


def test_cubature_is_taken_where_it_is_exact():
    family = fk.HeatParaboloid(dim=3)
    found = check(lambda v: v[:, :1], sample(family, 3), family, noise=SphericalRadial())
    assert set(found.estimators) == {"exact:1, spherical-radial"}
    assert ((found.value - closed(sample(family, 3), family).squeeze(-1)).abs() < 1e-9).all()


def test_a_control_is_used_only_where_plain_paths_do_not_do(queries):
    anywhere = Domain(**{**FAMILY.domain.measures, "x": Box(1e-3, 1e3)})
    control = Control(closed, anywhere)
    easy = check(inputs=queries[:3], control=control)
    assert not any("control" in name for name in easy.estimators)
    useless = check(control=control._replace(error=1.0), effort=Effort(seconds=0.05, aim=1e-13))
    assert not any("control" in name for name in useless.estimators)


def test_the_estimate_does_not_depend_on_what_is_checked(queries, monkeypatch):
    """On a clock that ticks at every look, as the choice of an estimator depends on time."""
    inputs, ticks = queries[:20], itertools.count()
    monkeypatch.setattr("feynkac.analysis.pilot.clock", lambda: 1e-3 * next(ticks))
    right, off = (check(u, inputs) for u in (closed, lambda v: closed(v) + 1e-9))
    assert torch.equal(right.value, off.value)
    torch.testing.assert_close(off.error, off.network - off.value)


# the record


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
        paths=torch.tensor([1024] * 3),
        se=value + 0.02,
    )
    torch.testing.assert_close(found.half_width, value + 0.06)
    assert found.verdicts == expected


def test_a_record_is_plain_data_for_each_input(queries):
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
            "paths": found.paths[i].item(),
            "estimator": found.estimators[i],
            "tolerance": 0.01,
            "confidence": 0.95,
        }


def test_paths_of_pilots_are_counted():
    found = check(effort=Effort(aim=AIM))
    assert found.paths.item() > REPLICATES * 512


@pytest.mark.parametrize("tolerance", [0.0, -1.0, math.nan])
def test_a_tolerance_must_be_positive(tolerance):
    with pytest.raises(InputError, match=r"a tolerance must be positive, got (0\.0|-1\.0|nan)\."):
        check(tolerance=tolerance)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"confidence": 0.0}, r"confidence must lie between 0 and 1, got 0\.0\."),
        ({"confidence": 95}, r"confidence must lie between 0 and 1, got 95\."),
        ({"seconds": 0.0}, r"seconds must be positive, got 0\.0\."),
        ({"aim": -1e-3}, r"the aim is a half width, a positive number; got -0\.001\."),
        ({"steps": 0}, r"steps must be at least 1 and most_paths 256, got 0 and 16777216\."),
        ({"most_paths": 100}, r"steps must be at least 1 and most_paths 256, got 16 and 100\."),
    ],
)
def test_a_bad_effort_is_one_sentence(settings, message):
    with pytest.raises(InputError, match=message):
        Effort(**settings)


def test_a_scheme_that_cannot_simulate_the_family_is_refused():
    with pytest.raises(InputError, match="BlackScholes is not affine-linear"):
        check(scheme=LogOde())
