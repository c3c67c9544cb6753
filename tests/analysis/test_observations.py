"""Residuals and Jacobians of a calibration problem, and what cannot be one."""

import numpy as np
import pytest
import torch

from feynkac.analysis import observations
from feynkac.analysis.observations import make_problem
from feynkac.errors import InputError
from feynkac.families import BlackScholes, Box, Domain

FAMILY = BlackScholes()
PUT = FAMILY.domain
VECTORS = Domain(
    x=Box(0.0, 1.0, shape=(2,)), t=Box(0.0, 1.0), a=Box(-1.0, 3.0, shape=(2, 3)), k=Box(0.0, 5.0)
)
T = np.linspace(0.2, 1.0, 6)
STRIKE = np.linspace(10.0, 12.0, 6)
VALUES = np.linspace(0.5, 2.5, 6)
NOISE = np.linspace(0.01, 0.06, 6)
KNOWN = {"x": 9.5, "t": T, "strike": STRIKE}


def put(inputs):
    return FAMILY.closed_form(*PUT.split(inputs))


def polynomial(inputs):
    """u = t Σ aᵢⱼ² + k x₁ + x₂."""
    x, t, p = VECTORS.split(inputs)
    return t * p.a.square().sum((-2, -1))[..., None] + p.k * x[..., :1] + x[..., 1:]


def put_problem(free=("sigma",), noise=None, model=0.0):
    known = {"x": 9.5, "t": T, "sigma": 0.3, "strike": STRIKE}
    known = {name: value for name, value in known.items() if name not in free}
    return make_problem(put, PUT, free, known, VALUES, noise, model)


def vector_problem(free=("a", "k")):
    known = {"x": [0.2, 0.7], "t": np.linspace(0.1, 1.0, 9), "a": 1.0, "k": 2.0}
    known = {name: value for name, value in known.items() if name not in free}
    return make_problem(polynomial, VECTORS, free, known, np.ones(9), 0.1)


def central_differences(problem, theta, step=1e-5):
    rows = np.eye(len(theta)) * step
    return ((problem.residuals(theta + rows) - problem.residuals(theta - rows)) / (2 * step)).T


def test_a_residual_is_the_difference_in_units_of_its_noise():
    inputs = PUT.join(KNOWN | {"sigma": 0.35})
    expected = (put(inputs).squeeze(-1).numpy() - VALUES) / NOISE
    found = put_problem(noise=NOISE).residuals(np.array([0.5]))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_without_noise_a_residual_is_the_difference_itself():
    known, unknown = put_problem(noise=NOISE), put_problem()
    theta = np.array([0.5])
    np.testing.assert_allclose(unknown.residuals(theta), known.residuals(theta) * NOISE)


@pytest.mark.parametrize(
    "problem",
    [
        put_problem(["sigma"], NOISE),
        put_problem(["sigma", "strike"]),
        put_problem(["strike", "x", "sigma", "t"], NOISE, model=0.02),
        vector_problem(["a", "k"]),
        vector_problem(["k", "x", "a"]),
    ],
    ids=lambda problem: ",".join(problem.free),
)
def test_the_jacobian_equals_finite_differences(problem):
    theta = np.linspace(0.3, 0.7, len(problem.labels))
    found = problem.jacobian(theta)
    assert found.shape == (len(problem.values), len(theta))
    expected = central_differences(problem, theta)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


def test_the_unit_cube_is_the_domain():
    problem = vector_problem(["k", "a"])
    ends = [problem.physical(np.full(7, corner)) for corner in (0.0, 1.0)]
    np.testing.assert_array_equal(ends, [[0.0] + [-1.0] * 6, [5.0] + [3.0] * 6])


def test_only_the_free_variables_are_replaced():
    theta = np.arange(7) / 8
    x, t, p = VECTORS.split(vector_problem(["k", "a"]).at(theta))
    torch.testing.assert_close(x, torch.tensor([[0.2, 0.7]] * 9, dtype=torch.float64))
    np.testing.assert_allclose(t[:, 0], np.linspace(0.1, 1.0, 9))
    np.testing.assert_array_equal(p.k, np.zeros((9, 1)))
    entries = (-1.0 + 4.0 * theta[1:]).reshape(2, 3)
    np.testing.assert_allclose(p.a, np.broadcast_to(entries, (9, 2, 3)))


def test_entries_of_vectors_and_matrices_have_names():
    assert put_problem(["strike", "sigma"]).labels == ["strike", "sigma"]
    assert vector_problem(["x", "k"]).labels == ["x[0]", "x[1]", "k"]
    assert vector_problem(["a"]).labels == [f"a[{i}, {j}]" for i in range(2) for j in range(3)]


def test_many_parameters_at_once_are_those_one_by_one():
    problem = put_problem(["sigma", "strike"], NOISE)
    theta = np.random.default_rng(0).random((5, 3, 2))
    found = problem.residuals(theta)
    assert found.shape == (5, 3, 6)
    alone = [problem.residuals(row) for row in theta.reshape(-1, 2)]
    np.testing.assert_allclose(found.reshape(-1, 6), alone, rtol=1e-12)


def test_the_model_error_enters_the_scale():
    """As if all six were wrong in the same way."""
    model = 0.04 / np.sqrt(6.0)
    exact, honest = put_problem(noise=0.03), put_problem(noise=0.03, model=model)
    np.testing.assert_allclose(honest.scale, 0.05)
    theta = np.array([0.2])
    np.testing.assert_allclose(honest.residuals(theta), exact.residuals(theta) * 0.6)
    np.testing.assert_allclose(honest.jacobian(theta), exact.jacobian(theta) * 0.6)


def test_the_model_error_may_differ_between_observations():
    model = np.linspace(0.0, 0.05, 6)
    problem = put_problem(noise=0.03, model=model)
    np.testing.assert_allclose(problem.scale, np.sqrt(0.03**2 + 6 * model**2))


def test_some_observations_are_as_they_were():
    problem, theta = put_problem(noise=NOISE), np.array([[0.4]])
    assert problem.thinned(6).values.tolist() == VALUES.tolist()
    few = problem.thinned(4)
    np.testing.assert_array_equal(few.residuals(theta), problem.residuals(theta)[:, ::2])
    assert put_problem().thinned(2).noise is None


def test_blocks_change_nothing(monkeypatch):
    problem, theta = (
        put_problem(["sigma", "strike"], NOISE),
        np.random.default_rng(0).random((5, 2)),
    )
    whole = problem.residuals(theta), problem.misfit(theta), problem.jacobian(theta[0])
    np.testing.assert_allclose(whole[1], (whole[0] ** 2).sum(-1), rtol=1e-12)
    for rows in (1, 4, 6, 17):
        monkeypatch.setattr(observations, "ROWS", rows)
        found = problem.residuals(theta), problem.misfit(theta), problem.jacobian(theta[0])
        for part, expected in zip(found, whole, strict=True):
            np.testing.assert_allclose(part, expected, rtol=1e-12)


def test_what_is_known_may_be_one_number_for_all_observations():
    problem = make_problem(put, PUT, ["sigma"], {"x": 9.5, "t": 0.5, "strike": 11.0}, VALUES)
    assert problem.inputs.shape == (6, 4)
    assert (problem.inputs == problem.inputs[0]).all()


def test_a_single_value_is_an_observation():
    problem = make_problem(put, PUT, ["sigma"], {"x": 9.5, "t": 0.5, "strike": 11.0}, 1.9)
    assert problem.values.tolist() == [1.9]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"free": []}, "name the variables to find, each once"),
        ({"free": ["sigma", "sigma"]}, "name the variables to find, each once"),
        ({"free": ["vol"]}, "no variable 'vol'; there are: x, t, sigma, strike"),
        ({"free": ["sigma", "x"]}, "x cannot be both given and free"),
        ({"known": {"x": 9.5, "t": T}}, "missing: strike"),
        ({"known": KNOWN | {"rho": 1.0}}, "unknown: rho"),
        ({"known": KNOWN | {"x": 8.5}}, r"x = 8.5 lies outside \[9, 10\]"),
        ({"known": KNOWN | {"t": np.where(T > 0.9, np.nan, T)}}, "t = nan is not a finite number"),
        ({"values": VALUES[:5]}, r"5 values, but the inputs have shape \(6,\)"),
        ({"known": KNOWN | {"x": np.full((2, 6), 9.5)}}, r"6 values, but .* shape \(2, 6\)"),
        ({"values": VALUES[:, None]}, r"values must be a list of numbers, got shape \(6, 1\)"),
        ({"values": ["dear"] * 6}, "values must be a list of numbers, got .'dear'"),
        ({"values": [1, 2, np.nan, 4, np.inf, 6]}, "values has no finite number in row 3, 5"),
        ({"noise": [0.1, np.nan] * 3}, "noise has no finite number in row 2, 4, 6"),
        ({"noise": 0.0}, "noise must be positive"),
        ({"noise": -NOISE}, "noise must be positive"),
        ({"noise": NOISE[:2]}, "6 values, but 2 numbers for their noise"),
        (
            {"free": ["sigma", "strike"], "known": {"x": 9.5, "t": 0.5}, "values": [1.0]},
            "1 observations cannot determine 2 numbers; give more, or free fewer",
        ),
    ],
)
def test_what_is_no_problem_is_refused(change, message):
    usual = {"free": ["sigma"], "known": KNOWN, "values": VALUES, "noise": NOISE}
    with pytest.raises(InputError, match=message):
        make_problem(put, PUT, **usual | change)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_slopes_are_known_in_every_mode(mode):
    theta = np.array([0.4])
    value, slopes = put_problem().linearised(theta)
    with mode():
        problem = put_problem()
        again = problem.linearised(theta)
        assert problem.jacobian(theta) == pytest.approx(slopes)
    assert again[0] == pytest.approx(value)
    assert again[1] == pytest.approx(slopes)
