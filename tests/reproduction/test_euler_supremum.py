"""The largest weak error: the right errors, no random input beyond it, the norm by sampling."""

import numpy as np
import pytest
import torch

from feynkac.families.models.basket_put import BasketPut
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.reproduction.euler_supremum import (
    line_of_basket,
    line_of_black_scholes,
    mean_square,
    search,
)
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.reference import replicated
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.log_ode import LogOde

pytestmark = pytest.mark.slow

PUT, BASKET = line_of_black_scholes(BlackScholes()), line_of_basket(BasketPut())


def random_errors(line, steps, count, seed=0):
    """|ū^M − ū| at random inputs of the line."""
    low, high = np.array([*line.bounds.values()]).T
    points = low + np.random.default_rng(seed).random((count, len(low))) * (high - low)
    mu = points[:, 2] if len(low) == 5 else np.zeros(count)
    return np.array(
        [
            line.errors(steps, p[0], p[1], m, p[None, -2:])[0]
            for p, m in zip(points, mu, strict=True)
        ]
    )


def test_the_basket_of_equal_coefficients_is_the_line(generator):
    """Simulated with the family's own drift and diffusion in three dimensions."""
    family, steps = BASKET.family, 4
    at = {"x": [9.5] * 3, "t": 0.5, "sigma": torch.full((3, 3, 4), 0.3), "strike": 11.0}
    point = family.domain.join(at | {"mu": torch.full((3, 4), 0.3)}).double().reshape(1, -1)
    scheme = EulerMaruyama(steps=steps)
    simulated = replicated(family, scheme, Sobol(), point, 2**13, generator, 8)
    truth = replicated(family, LogOde(steps=8), Sobol(), point, 2**12, generator, 4)
    (found,) = BASKET.errors(steps, 0.5, 0.3, 0.3, np.array([[9.5, 11.0]]))
    error = simulated.error.item() + truth.error.item()
    assert found == pytest.approx((simulated.value - truth.value).item(), abs=5 * error)
    assert found > 100 * error


@pytest.mark.parametrize(
    ("line", "steps"), [(PUT, 2), pytest.param(PUT, 64, marks=pytest.mark.slow), (BASKET, 64)]
)
def test_no_random_input_is_worse(line, steps):
    found = search(line, steps)
    assert np.abs(random_errors(line, steps, 20)).max() <= abs(found["error"])
    for name, (low, high) in line.bounds.items():
        assert low <= found["at"][name] <= high


def test_the_worst_input_of_black_scholes_is_a_corner():
    assert search(PUT, 64)["at"] == {"t": 1.0, "sigma": 0.6, "x": 10.0, "strike": 10.0}


def test_the_climb_reaches_beyond_the_grid():
    """With one step the worst volatility of the basket is inside its interval."""
    found = search(BASKET, 1)
    assert 0.5 < found["at"]["sigma"] < 0.6
    assert abs(found["error"]) > 3.5


def test_the_norm_is_that_of_random_inputs():
    squares = random_errors(PUT, 4, 100) ** 2
    assert mean_square(PUT, 4) == pytest.approx(squares.mean(), abs=4 * squares.std() / 10)
