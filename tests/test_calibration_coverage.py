"""Intervals of a coarse network cover the truth, because its own error is part of them."""

import numpy as np
import pytest
import torch

import feynkac as fk
from feynkac.analysis.observations import Problem

PUT = fk.BlackScholes()
NOISE = 1e-3  # small against the network's error, which is 0.06
QUOTES = 4
SETS = 30


@pytest.fixture(scope="module")
def coarse() -> fk.Solution:
    return fk.solve(PUT, method="paper", steps=100, batch_size=256, evaluations=1, seed=0)


def price(**at) -> np.ndarray:
    return PUT.closed_form(*PUT.domain.split(PUT.domain.join(at))).squeeze(-1).numpy()


def data_set(seed: int) -> tuple[float, np.ndarray, dict]:
    """A volatility, noisy quotes of puts at it, and all else about them."""
    rng = np.random.default_rng(seed)
    sigma, t, strike = (
        rng.uniform(0.15, 0.55),
        rng.uniform(0.1, 1, QUOTES),
        rng.uniform(10, 12, QUOTES),
    )
    known = {"x": rng.uniform(9.1, 9.9), "t": t, "strike": strike}
    return sigma, price(sigma=sigma, **known) + NOISE * rng.standard_normal(QUOTES), known


def coverage(solution: fk.Solution, factor: float | None = None) -> float:
    """Of 90 % intervals, by default as they are; else with a part of the network's error."""
    hits = 0
    for seed in range(SETS):
        sigma, values, known = data_set(seed)
        model = None if factor is None else factor * solution.model_error(values)
        problem: Problem = solution.observe(["sigma"], values, noise=NOISE, model=model, **known)
        ((low, high),) = solution.calibrate(problem).interval
        hits += low <= sigma <= high
    return hits / SETS


def test_the_error_of_a_value_is_relative_to_its_size(coarse):
    """In the units of u, whatever the network was shifted by: the paper's is not."""
    relative = coarse.manifest.history[-1]["l2"]
    np.testing.assert_allclose(coarse.model_error([0.0, -1.0, 4.0]), relative * np.array([1, 2, 5]))
    inputs = PUT.domain.sample(2000, torch.Generator().manual_seed(0))
    truth = PUT.closed_form(*PUT.domain.split(inputs)).squeeze(-1).numpy()
    error = coarse.quickly(inputs).squeeze(-1).numpy() - truth
    said = coarse.model_error(truth)
    assert np.sqrt(np.mean((error / said) ** 2)) == pytest.approx(1.0, abs=0.1)


@pytest.mark.slow
def test_intervals_of_a_coarse_network_cover_the_truth(coarse):
    assert coverage(coarse) >= 0.8


@pytest.mark.slow
def test_with_a_fifth_of_its_error_they_would_not(coarse):
    assert coverage(coarse, 0.2) < 0.65


def test_an_observation_takes_the_error_of_its_solution(coarse):
    _, values, known = data_set(0)
    problem = coarse.observe(["sigma"], values, noise=NOISE, **known)
    np.testing.assert_array_equal(problem.model, coarse.model_error(values))
    np.testing.assert_allclose(problem.scale, np.sqrt(NOISE**2 + QUOTES * problem.model**2))
