"""How many samples an excess risk takes: interpolation, bounds, and seeds as the unit."""

import math

import pytest

from feynkac.reproduction.empirical_risk import Clipped, Fit
from feynkac.reproduction.sample_complexity import (
    Need,
    Slope,
    exponent,
    growth,
    need,
    needs,
    over_seeds,
    parameters,
    typical,
)

SIZES = (256, 1024, 4096, 16384)


def made(dim: int, size: int, excess: float, seed: int = 0, constant: float = 1.0) -> Fit:
    """A training with this outcome."""
    return Fit(dim, size, seed, excess, constant, risk=1.0, truth=1.0, largest=2.5)


def test_a_power_law_is_interpolated_exactly():
    fits = [made(1, s, 8 / s) for s in SIZES]
    for size in (300, 1024, 9000):
        assert need(fits, 8 / size).size == pytest.approx(size)


def test_what_was_not_tried_is_a_bound():
    fits = [made(1, s, 8 / s) for s in SIZES]
    assert str(need(fits, 1.0)) == "≤ 256"
    assert str(need(fits, 1e-9)) == "> 16,400"


def test_a_risk_that_rises_again_counts_from_its_last_fall():
    fits = [made(1, s, e) for s, e in zip(SIZES, (0.1, 0.5, 0.2, 0.05), strict=True)]
    found = need(fits, 0.1)
    assert found.size == pytest.approx(4096 * 4 ** (math.log(2) / math.log(4)))


def test_the_error_of_an_exponent_is_the_spread_of_the_seeds():
    """Each seed is a perfect power law; least squares over all points would see no seeds."""
    fits = [made(1, s, s**-a, seed) for seed, a in enumerate((0.8, 1.2)) for s in SIZES]
    found = exponent(fits)
    assert found.value == pytest.approx(-1.0)
    assert found.error == pytest.approx(0.2)
    assert exponent(fits[:4]).error is None
    assert str(exponent(fits[:4])) == "-0.80"


def test_sizes_below_the_number_of_parameters_are_left_out():
    flat = [made(10, s, 0.5 if s < parameters(10) else 8 / s) for s in SIZES]
    assert exponent(flat).value == pytest.approx(-1.0)
    assert exponent([made(20, 256, 0.1), made(20, 1024, 0.1)]) is None


def test_parameters_are_those_of_the_network():
    import torch

    one = torch.ones(1, 1, 1)
    for dim in (1, 7):
        network = Clipped(dim + 2, one, one)
        assert sum(p.numel() for p in network.parameters()) == parameters(dim)


def test_the_growth_is_fitted_for_each_seed():
    fits = [made(d, s, d**a / s, k) for k, a in enumerate((2, 3)) for d in (1, 2, 3) for s in SIZES]
    slope, dims = growth(fits, 3.5e-3)
    assert dims == [1, 2, 3]
    assert slope.value == pytest.approx(2.5)
    assert slope.error == pytest.approx(0.5)


def test_dimensions_that_are_trivial_or_not_reached_are_left_out():
    fits = [made(d, s, d / s, constant=d * 1e-3) for d in (1, 4, 8, 100) for s in SIZES]
    slope, dims = growth(fits, 1e-3)
    assert dims == [4, 8]
    assert slope.value == pytest.approx(1.0)
    assert growth(fits[:4], 1e-3) == (None, [])


def test_a_bound_of_one_seed_is_a_bound_of_all():
    assert typical({0: Need(100.0), 1: Need(400.0)}).size == pytest.approx(200.0)
    assert str(typical({0: Need(100.0), 1: Need(512, ">")})) == "> 512"


def test_needs_are_by_dimension_and_seed():
    fits = [made(d, s, 8 / s, seed) for d in (1, 2) for seed in (0, 3) for s in SIZES]
    assert {dim: list(by_seed) for dim, by_seed in needs(fits, 0.01).items()} == {
        1: [0, 3],
        2: [0, 3],
    }


def test_significant_digits():
    assert str(Slope(1.234, 0.0456)) == "1.23 ± 0.046"
    assert over_seeds([2.0]) == Slope(2.0, None)
