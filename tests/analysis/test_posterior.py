"""Posteriors of linear models against Bayes' rule in closed form."""

import json

import numpy as np
import pytest

from feynkac.analysis.calibration import calibrate
from feynkac.analysis.observations import make_problem
from feynkac.analysis.posterior import sample_posterior, split_r_hat
from feynkac.errors import InputError
from feynkac.families import Box, Domain

DOMAIN = Domain(x=Box(-1.0, 1.0), t=Box(0.0, 1.0), a=Box(-5.0, 5.0), b=Box(-5.0, 5.0))
COUNT = 12
NOISE = 0.3
draw = np.random.default_rng(8)
X = draw.uniform(-1.0, 1.0, COUNT)
DESIGN = np.stack([X, np.ones(COUNT)], axis=1)
VALUES = DESIGN @ [1.5, -0.5] + NOISE * draw.standard_normal(COUNT)
SQUARE = np.linalg.inv(DESIGN.T @ DESIGN)
BEST = SQUARE @ DESIGN.T @ VALUES


def line(inputs):
    x, _, p = DOMAIN.split(inputs)
    return p.a * x + p.b


def problem_of(noise=NOISE, values=VALUES, model=0.0):
    return make_problem(line, DOMAIN, ["a", "b"], {"x": X, "t": 0.5}, values, noise, model)


def sampled(problem, prior=None, steps=1000, **settings):
    return sample_posterior(problem, calibrate(problem), prior, steps, **settings)


def assert_moments(posterior, mean, covariance, kurtosis=3.0):
    """Within four standard errors of Monte Carlo, whose effective samples are many."""
    std, size = np.sqrt(np.diag(covariance)), posterior.effective
    assert posterior.warnings == []
    assert (size > 1000).all()
    found = posterior.samples
    assert (np.abs(found.mean(0) - mean) < 4 * std / np.sqrt(size)).all()
    assert (np.abs(found.std(0) / std - 1) < 4 * np.sqrt((kurtosis - 1) / 4 / size)).all()


def test_data_that_nothing_explains_widen_it_as_they_widen_intervals():
    """The given noise is a quarter of the true one: χ² is 16 times too large."""
    problem = problem_of(NOISE / 4)
    fit, found = calibrate(problem), sampled(problem)
    wider = np.sqrt(fit.chi_square / problem.freedom)
    assert wider > 2
    assert found.samples.std(0) == pytest.approx(fit.std, rel=0.1)
    assert found.warnings == [
        f"no parameters explain these data: the noise is taken {wider:.3g} times as large."
    ]


@pytest.fixture(scope="module")
def posterior():
    return sampled(problem_of())


def test_a_linear_model_with_gaussian_noise_is_gaussian(posterior):
    covariance = NOISE**2 * SQUARE
    assert_moments(posterior, BEST, covariance)
    correlation = np.corrcoef(posterior.samples.T)[0, 1]
    expected = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    assert correlation == pytest.approx(expected, abs=4 / np.sqrt(posterior.effective.min()))


def test_its_intervals_are_those_of_the_fit(posterior):
    fit = calibrate(problem_of())
    slack = 8 * fit.std[:, None] / np.sqrt(posterior.effective[:, None])
    assert (np.abs(posterior.interval - fit.interval) < slack).all()
    inside = (posterior.samples > posterior.interval[:, 0]).mean(0)
    np.testing.assert_allclose(inside, 0.95, atol=1e-3)


@pytest.mark.slow
def test_unknown_noise_is_integrated_out():
    """Student's law with n − p degrees of freedom."""
    freedom = COUNT - 2
    variance = np.sum((DESIGN @ BEST - VALUES) ** 2) / freedom
    covariance = variance * SQUARE * freedom / (freedom - 2)
    assert_moments(sampled(problem_of(noise=None)), BEST, covariance, 3 + 6 / (freedom - 4))


@pytest.mark.slow
def test_model_error_widens_the_posterior():
    model = 0.4 / np.sqrt(COUNT)
    assert_moments(sampled(problem_of(noise=0.3, model=model)), BEST, 0.25 * SQUARE)


@pytest.mark.slow
def test_model_error_widens_it_where_the_noise_is_unknown():
    """Student's law again, its variance larger by n model²."""
    freedom, model = COUNT - 2, 0.1
    variance = np.sum((DESIGN @ BEST - VALUES) ** 2) / freedom + COUNT * model**2
    covariance = variance * SQUARE * freedom / (freedom - 2)
    found = sampled(problem_of(noise=None, model=model))
    assert_moments(found, BEST, covariance, 3 + 6 / (freedom - 4))


def test_a_prior_shifts_the_posterior_as_bayes_rule_says():
    centre, width = 2.5, 0.2
    precision = DESIGN.T @ DESIGN / NOISE**2 + np.diag([width**-2, 0.0])
    covariance = np.linalg.inv(precision)
    mean = covariance @ (DESIGN.T @ VALUES / NOISE**2 + [centre / width**2, 0.0])
    shift = np.abs(mean - BEST)[0] / np.sqrt(covariance[0, 0])
    assert shift > 1.0  # the prior matters
    found = sampled(problem_of(), lambda p: -0.5 * ((p["a"] - centre) / width) ** 2)
    assert_moments(found, mean, covariance)


@pytest.mark.slow
def test_a_constant_prior_is_none(posterior):
    found = sampled(problem_of(), lambda p: 1.0)
    np.testing.assert_array_equal(found.samples, posterior.samples)


@pytest.mark.slow
def test_a_prior_may_forbid_a_part_of_the_domain():
    found = sampled(problem_of(), lambda p: np.where(p["a"] > BEST[0], 0.0, -np.inf))
    assert found.samples[:, 0].min() > BEST[0]
    half_normal = NOISE * np.sqrt(SQUARE[0, 0] * 2 / np.pi)
    error = 4 * NOISE * np.sqrt(SQUARE[0, 0] / found.effective[0])
    assert found.samples[:, 0].mean() - BEST[0] == pytest.approx(half_normal, abs=error)


@pytest.mark.parametrize("nothing", [-np.inf, np.nan])
def test_a_prior_that_gives_no_weight_is_refused(nothing):
    with pytest.raises(
        InputError, match=r"the prior.* gives no weight to the domain near the best"
    ):
        sampled(problem_of(), lambda p: np.where(p["b"] > 4.0, 0.0, nothing))


@pytest.mark.slow
def test_samples_stay_in_the_domain():
    """The best fit lies outside."""
    found = sampled(problem_of(values=VALUES + 5.6))
    assert found.samples[:, 1].max() <= 5.0
    assert found.samples[:, 1].min() >= -5.0
    assert found.interval[1, 1] > 4.95


def test_the_seed_determines_the_samples():
    first, again, other = (sampled(problem_of(), steps=50, seed=s).samples for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)


def test_too_few_steps_are_said():
    found = sampled(problem_of(), steps=20)
    (warning,) = found.warnings
    assert "the chains have not converged (largest R̂ " in warning
    assert "take more steps" in warning


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"confidence": 90}, "between 0 and 1, got 90"), ({"steps": 1}, "at least 8 steps, got 1")],
)
def test_settings_out_of_range_are_refused_before_sampling(settings, message):
    with pytest.raises(InputError, match=message):
        sampled(problem_of(), **settings)


def test_progress_is_reported_to_its_end():
    done = []
    sampled(problem_of(), steps=100, report=done.append)
    assert done == [0.5, 1.0]


def test_the_record_is_json_and_holds_the_marginals(posterior):
    read = json.loads(json.dumps(posterior.record(), allow_nan=False))
    assert read["marginals"]["b"]["mean"] == posterior.samples[:, 1].mean()
    assert read["marginals"]["a"]["interval"] == posterior.interval[0].tolist()
    assert read["r_hat"] == dict(zip("ab", posterior.r_hat, strict=True))
    assert read["samples"] == 750 * 64 == len(posterior.samples)
    assert 0.2 < read["acceptance"] < 0.9


# R̂


def test_r_hat_of_independent_chains_is_near_one():
    chain = np.random.default_rng(0).standard_normal((1000, 8, 3))
    found = split_r_hat(chain)
    assert found.shape == (3,)
    assert (np.abs(found - 1.0) < 0.01).all()


@pytest.mark.parametrize("odd", ["a chain of its own mean", "a common drift"])
def test_r_hat_sees_what_has_not_converged(odd):
    chain = np.random.default_rng(0).standard_normal((1000, 8, 1))
    if odd == "a common drift":
        chain += np.linspace(0.0, 3.0, 1000)[:, None, None]
    else:
        chain += np.linspace(0.0, 3.0, 8)[:, None]
    assert split_r_hat(chain)[0] > 1.1


def test_r_hat_is_gelman_and_rubins():
    """Halves {0, 2} and {4, 6}: W = 2, B = 16, R̂² = (W/2 + B/2) / W."""
    chain = np.array([0.0, 2.0, 4.0, 6.0]).reshape(4, 1, 1)
    assert split_r_hat(chain)[0] == pytest.approx(np.sqrt(4.5))


def test_a_prior_that_leaves_the_domain_is_said():
    found = sampled(problem_of(noise=30.0), lambda p: 2.0 * p["a"], steps=400)
    assert any("the posterior of a is cut at the boundary of [-5, 5]" in w for w in found.warnings)
    assert not any("posterior of b" in w for w in found.warnings)
