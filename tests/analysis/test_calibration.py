"""Calibration against SciPy's own fit of a formula written here, and what it says of bad data."""

import json
import re
from functools import partial

import numpy as np
import pytest
from scipy import optimize, stats

from feynkac.analysis.calibration import calibrate
from feynkac.analysis.observations import make_problem
from feynkac.errors import InputError
from feynkac.families import BlackScholes, Box, Domain

FAMILY = BlackScholes()
DOMAIN = FAMILY.domain
QUOTES = 50
NOISE = 0.02
SIGMA, X = 0.35, 9.6
draw = np.random.default_rng(4)
T = draw.uniform(0.1, 1.0, QUOTES)
STRIKE = draw.uniform(10.0, 12.0, QUOTES)


def put(inputs):
    return FAMILY.closed_form(*DOMAIN.split(inputs))


def price(x, t, sigma, strike):
    """The put, as textbooks have it."""
    v = sigma * np.sqrt(t)
    d = np.log(x / strike) / v + v / 2
    return strike * stats.norm.cdf(v - d) - x * stats.norm.cdf(-d)


def quotes(seed, sigma=SIGMA, noise=NOISE):
    errors = noise * np.random.default_rng(seed).standard_normal(QUOTES)
    return price(X, T, sigma, STRIKE) + errors


def problem_of(values, free=("sigma", "x"), noise=NOISE, **known):
    given = {"x": X, "t": T, "sigma": SIGMA, "strike": STRIKE} | known
    given = {name: value for name, value in given.items() if name not in free}
    return make_problem(put, DOMAIN, free, given, values, noise)


def said(found, words):
    return [text for text in found.warnings if words in text]


@pytest.mark.parametrize("noise", [NOISE, np.linspace(0.01, 0.05, QUOTES), None], ids=type)
def test_estimate_and_covariance_are_those_of_scipys_own_fit(noise):
    values = quotes(seed=1)
    found = calibrate(problem_of(values, noise=noise))
    estimate, covariance = optimize.curve_fit(
        lambda at, sigma, x: price(x, at[0], sigma, at[1]),
        (T, STRIKE),
        values,
        p0=(0.3, 9.5),
        sigma=None if noise is None else np.broadcast_to(noise, QUOTES),
        absolute_sigma=noise is not None,
        bounds=([0.1, 9.0], [0.6, 10.0]),
        jac="3-point",
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
    )
    assert found.labels == ["sigma", "x"]
    assert found.warnings == []
    np.testing.assert_allclose(found.estimate, estimate, rtol=1e-7)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-5)
    np.testing.assert_allclose(found.std, np.sqrt(np.diag(covariance)), rtol=1e-5)


def test_residuals_are_in_the_units_of_the_values():
    values = quotes(seed=1)
    found = calibrate(problem_of(values))
    sigma, x = found.estimate
    residuals = price(x, T, sigma, STRIKE) - values
    np.testing.assert_allclose(found.residuals, residuals, atol=1e-12)
    assert found.rms == pytest.approx(np.sqrt(np.mean(residuals**2)))
    assert found.chi_square == pytest.approx(np.sum(residuals**2) / NOISE**2)


@pytest.mark.parametrize(
    ("noise", "law"), [(NOISE, stats.norm), (None, partial(stats.t, df=QUOTES - 2))]
)
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_intervals_are_those_of_the_normal_or_students_law(noise, law, confidence):
    found = calibrate(problem_of(quotes(seed=1), noise=noise), confidence=confidence)
    for estimate, std, interval in zip(found.estimate, found.std, found.interval, strict=True):
        expected = law(loc=estimate, scale=std).interval(confidence)
        np.testing.assert_allclose(interval, expected, rtol=1e-10)


@pytest.mark.parametrize(("sigma", "strike"), [(0.15, 10.2), (0.35, 11.0), (0.58, 11.9)])
@pytest.mark.parametrize("units", [1.0, 1e-5])
def test_parameters_are_recovered_from_exact_values_in_any_units(sigma, strike, units):
    x = np.linspace(9.0, 10.0, QUOTES)
    known = {"x": x, "t": T}
    values = units * price(x, T, sigma, strike)
    problem = make_problem(lambda v: units * put(v), DOMAIN, ["sigma", "strike"], known, values)
    found = calibrate(problem)
    np.testing.assert_allclose(found.estimate, [sigma, strike], rtol=1e-8)
    assert found.warnings == []


def test_each_entry_of_a_vector_is_recovered():
    domain = Domain(x=Box(0.0, 1.0), t=Box(0.0, 1.0), a=Box(0.0, 1.0, shape=(2,)))

    def u(inputs):
        x, t, p = domain.split(inputs)
        return x * p.a[..., :1] + t * p.a[..., 1:] ** 2

    known = {"x": draw.random(QUOTES), "t": T}
    truth = [0.2, 0.7]
    values = u(domain.join(known | {"a": truth})).squeeze(-1)
    found = calibrate(make_problem(u, domain, ["a"], known, values))
    assert found.labels == ["a[0]", "a[1]"]
    np.testing.assert_allclose(found.estimate, truth, rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [NOISE, None], ids=["known noise", "unknown noise"])
def test_90_percent_intervals_cover_the_truth_in_80_to_97_of_100_data_sets(noise):
    found = [calibrate(problem_of(quotes(seed), noise=noise)) for seed in range(100)]
    intervals = np.array([c.interval for c in found])
    covered = (intervals[..., 0] < [SIGMA, X]) & (intervals[..., 1] > [SIGMA, X])
    assert all(80 <= count <= 97 for count in covered.sum(0)), covered.sum(0)


@pytest.mark.slow
def test_the_papers_descent_agrees_with_least_squares():
    problem = problem_of(quotes(seed=1))
    best, descended = calibrate(problem), calibrate(problem, method="sgd")
    assert (np.abs(descended.estimate - best.estimate) < 1e-6 * best.std).all()
    np.testing.assert_allclose(descended.std, best.std, rtol=1e-6)
    assert descended.evaluations == 128 + 4 * 500


def test_without_known_noise_the_models_variance_is_added_to_that_of_the_residuals():
    """One error for all observations: its variance is Σ model², and does not average out."""
    values, free = quotes(seed=3), ("sigma", "x")
    known = {"t": T, "strike": STRIKE}
    plain = calibrate(make_problem(put, DOMAIN, free, known, values))
    model = np.full(QUOTES, 0.01)
    wide = calibrate(make_problem(put, DOMAIN, free, known, values, model=model))
    np.testing.assert_allclose(wide.estimate, plain.estimate, rtol=1e-6)
    own = np.sum(plain.residuals**2) / (QUOTES - len(free))
    expected = plain.covariance * (own + QUOTES * 0.01**2) / own
    np.testing.assert_allclose(wide.covariance, expected, rtol=1e-4)


def test_model_error_widens_the_intervals():
    values = quotes(seed=1)
    exact = problem_of(values, noise=0.03)
    known = {"t": T, "strike": STRIKE}
    model = 0.04 / np.sqrt(len(values))
    honest = make_problem(put, DOMAIN, ["sigma", "x"], known, values, 0.03, model=model)
    np.testing.assert_allclose(calibrate(honest).std, calibrate(exact).std * 5 / 3, rtol=1e-6)


def test_the_same_seed_gives_the_same_result():
    problem = problem_of(quotes(seed=1))
    first, again = (calibrate(problem, seed=3).record() for _ in range(2))
    assert first == again


def test_evaluations_count_the_starts_and_each_descent():
    assert 128 + 4 < calibrate(problem_of(quotes(seed=1))).evaluations < 128 + 4 * 50


# What the data do not tell


@pytest.mark.parametrize("noise", [NOISE, None], ids=["known noise", "unknown noise"])
@pytest.mark.parametrize("exact", [False, True])
def test_a_direction_that_data_cannot_tell_is_said(noise, exact):
    """A price depends on σ√t only."""
    values = price(X, 0.5, SIGMA, STRIKE) + (0.0 if exact else quotes(1) - quotes(1, noise=0.0))
    found = calibrate(problem_of(values, free=["sigma", "t"], noise=noise))
    (warning,) = found.warnings
    assert "do not identify the combination" in warning
    terms = r"[+-]0\.\d\d (t|sigma)"  # the larger first, which depends on where the descent ends
    assert re.search(rf" {terms} {terms} \(in units of the domain's", warning)
    assert np.isinf(found.std).all()
    np.testing.assert_array_equal(found.interval, [[0.1, 0.6], [0.0, 1.0]])
    sigma, t = found.estimate
    assert sigma * np.sqrt(t) == pytest.approx(SIGMA * np.sqrt(0.5), abs=0.01)


def test_a_parameter_without_influence_is_said_and_the_others_are_found():
    domain = Domain(x=Box(0.0, 1.0), t=Box(0.0, 1.0), a=Box(0.0, 2.0), b=Box(0.0, 2.0))
    known = {"x": np.linspace(0.0, 1.0, 9), "t": 0.5}
    problem = make_problem(
        lambda v: v[..., :1] * v[..., 2:3], domain, ["a", "b"], known, known["x"], noise=0.1
    )
    found = calibrate(problem)
    (warning,) = found.warnings
    assert re.search(r"do not identify the combination [+-]1\.00 b ", warning)
    assert found.estimate[0] == pytest.approx(1.0)
    assert found.std[0] == pytest.approx(0.1 / np.sqrt(np.sum(known["x"] ** 2)))
    assert np.isinf(found.std[1])


def test_noise_as_wide_as_the_domain_hides_everything():
    found = calibrate(problem_of(quotes(seed=1), free=["sigma"], noise=50.0))
    assert "do not identify the combination" in found.warnings[0]
    assert np.isfinite(found.std).all()


def test_one_quote_has_a_volatility_of_unknown_error():
    value = price(X, 0.5, SIGMA, 11.0)
    found = calibrate(problem_of(value, free=["sigma"], noise=None, t=0.5, strike=11.0))
    assert found.estimate[0] == pytest.approx(SIGMA, rel=1e-8)
    (warning,) = found.warnings
    assert "there are as many unknowns as observations" in warning
    assert np.isinf(found.std[0])
    np.testing.assert_array_equal(found.interval, [[0.1, 0.6]])


def test_one_quote_of_known_noise_has_a_volatility_with_its_error():
    value, vega = price(X, 0.5, SIGMA, 11.0), price(X, 0.5, SIGMA + 1e-5, 11.0)
    vega = (vega - price(X, 0.5, SIGMA - 1e-5, 11.0)) / 2e-5
    found = calibrate(problem_of(value, free=["sigma"], noise=0.01, t=0.5, strike=11.0))
    assert found.warnings == []
    assert found.std[0] == pytest.approx(0.01 / vega, rel=1e-6)


@pytest.mark.parametrize(
    ("method", "truth", "edge"),
    [
        ("least-squares", 0.08, 0.1),
        ("least-squares", 0.75, 0.6),
        pytest.param("sgd", 0.75, 0.6, marks=pytest.mark.slow),
    ],
)
def test_an_estimate_on_the_boundary_is_said(method, truth, edge):
    problem = problem_of(quotes(seed=1, sigma=truth), free=["sigma"])
    found = calibrate(problem, method=method)
    assert found.estimate[0] == pytest.approx(edge, abs=5e-4)
    assert said(found, "lies on the boundary of [0.1, 0.6]; the best fit may be outside")
    low, high = found.interval[0]
    assert 0.1 <= low <= high <= 0.6


def test_data_that_nothing_explains_are_said_if_the_noise_is_known():
    values = quotes(seed=1) + 0.1 * (-1.0) ** np.arange(QUOTES)
    found = calibrate(problem_of(values))
    assert said(found, "no parameters explain these data: χ² = ")
    estimated = calibrate(problem_of(values, noise=None))  # says how large the noise must be
    np.testing.assert_allclose(found.std, estimated.std, rtol=1e-3)
    assert said(found, "with 48 degrees of freedom; the noise is larger than given")


def test_data_that_nothing_explains_are_said_if_the_noise_is_unknown():
    values = quotes(seed=1) + 0.5 * (-1.0) ** np.arange(QUOTES)
    found = calibrate(problem_of(values, noise=None))
    assert said(found, "large residuals: 0.")
    assert found.chi_square is None


def test_good_data_get_no_warning():
    assert sum(bool(calibrate(problem_of(quotes(seed))).warnings) for seed in range(100, 120)) == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "newton"}, "unknown method 'newton'; expected one of: least-squares, sgd"),
        ({"confidence": 90}, "confidence must lie between 0 and 1, got 90"),
        ({"confidence": 1.0}, r"confidence must lie between 0 and 1, got 1\.0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        calibrate(problem_of(quotes(seed=1)), **settings)


# As plain data


def test_the_record_is_json():
    found = calibrate(problem_of(quotes(seed=1)))
    read = json.loads(json.dumps(found.record(), allow_nan=False))
    assert read["estimate"]["sigma"]["value"] == found.estimate[0]
    assert read["estimate"]["x"]["interval"] == found.interval[1].tolist()
    assert read["residuals"] == found.residuals.tolist()
    assert (read["confidence"], read["residual_rms"]) == (0.9, found.rms)


def test_an_infinite_error_is_null():
    found = calibrate(problem_of(quotes(seed=1), free=["sigma", "t"], noise=None))
    read = json.loads(json.dumps(found.record(), allow_nan=False))
    assert read["estimate"]["sigma"]["std"] is None
    assert read["estimate"]["t"]["interval"] == [0.0, 1.0]
    assert read["chi_square"] is None
