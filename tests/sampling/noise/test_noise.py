"""Generators are named streams; every noise is normal, unbiased and less noisy as measured."""

import pytest
import torch
from scipy import stats

from feynkac.families import BasketPut, BlackScholes, HeatGaussian, HeatParaboloid
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import differential_labels, draw_paths
from feynkac.sampling.noise.noise import Antithetic, Independent, Shape, normals
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.noise.spherical import SphericalRadial
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.log_ode import LogOde

NOISES = [Independent(), Antithetic(), Sobol(), SphericalRadial()]
each_noise = pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.kind)
each_equally_weighted = pytest.mark.parametrize("noise", NOISES[:3], ids=lambda noise: noise.kind)


def first_number(*stream):
    return torch.rand((), generator=make_generator(*stream), dtype=torch.float64).item()


def test_the_same_stream_gives_the_same_numbers():
    assert first_number(7, "evaluation", 3) == first_number(7, "evaluation", 3)


@pytest.mark.parametrize(
    "other", [(1, "a", 1), (0, "b", 1), (0, "a", 2), (0, "a"), (0, "a1"), (0, "a", "1"), ("0a", 1)]
)
def test_another_seed_or_name_gives_other_numbers(other):
    assert first_number(*other) != first_number(0, "a", 1)


def test_streams_of_neighbouring_seeds_are_uniform():
    draws = [first_number(seed, "weights") for seed in range(500)]
    assert stats.kstest(draws, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("lead", [(), (5,), (5, 2)])
def test_normals_have_the_asked_shape_and_dtype(generator, lead, dtype):
    z = normals(3, lead, 4, generator, dtype)
    assert (z.shape, z.dtype) == ((3, *lead, 4), dtype)


def test_normals_are_standard_normal(generator):
    z = normals(4, (1000,), 5, generator, torch.float64)
    assert stats.kstest(z.flatten().numpy(), "norm").pvalue > 1e-3


def test_normals_are_uncorrelated_between_draws_and_coordinates(generator):
    count = 20_000
    z = normals(3, (count,), 2, generator, torch.float64).permute(0, 2, 1).reshape(6, count)
    correlation = torch.corrcoef(z) - torch.eye(6)
    assert correlation.abs().max() < 4.5 / count**0.5


def test_every_call_is_fresh(generator):
    assert not torch.equal(normals(1, (8,), 2, generator), normals(1, (8,), 2, generator))


# Noises


@each_noise
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("draws", [1, 3])
def test_a_draw_has_the_asked_shape_and_weights_that_sum_to_one(noise, draws, dtype, generator):
    z, weights = noise.draw(Shape(5, 8, draws, 2), generator, dtype)
    paths = 2 * 2 * draws + 1 if isinstance(noise, SphericalRadial) else 8
    assert (z.shape, z.dtype) == ((draws, 5, paths, 2), dtype)
    assert (weights.shape, weights.dtype) == ((5, paths, 1), dtype)
    torch.testing.assert_close(weights.sum(1), torch.ones(5, 1, dtype=dtype))


@each_noise
def test_a_draw_is_determined_by_its_generator_and_fresh_the_next_time(noise):
    shape = Shape(3, 4, 2, 2)
    one, two = (torch.Generator().manual_seed(5) for _ in range(2))
    first = noise.draw(shape, one)
    assert all(torch.equal(a, b) for a, b in zip(first, noise.draw(shape, two), strict=True))
    assert not torch.equal(first.z, noise.draw(shape, one).z)


@each_equally_weighted
@pytest.mark.parametrize("draws", [1, 3])
def test_each_path_is_standard_normal(noise, draws, generator):
    inputs = 3000
    z, weights = noise.draw(Shape(inputs, 8, draws, 2), generator, torch.float64)
    assert torch.equal(weights, torch.full_like(weights, 1 / 8))
    for path in (0, 3, 7):
        columns = z[:, :, path].movedim(1, 0).flatten(1).T
        for column in columns:
            assert stats.kstest(column.numpy(), "norm").pvalue > 1e-4
        correlation = torch.corrcoef(columns) - torch.eye(len(columns))
        assert correlation.abs().max() < 4.5 / inputs**0.5


@each_noise
def test_inputs_have_independent_paths(noise, generator):
    z = noise.draw(Shape(4000, 8, 1, 2), generator, torch.float64).z[0, :, -1]
    correlation = torch.corrcoef(torch.cat([z[:-1], z[1:]], 1).T)[:2, 2:]
    assert correlation.abs().max() < 4.5 / len(z) ** 0.5


def test_antithetic_paths_come_in_pairs(generator):
    z, _ = Antithetic().draw(Shape(3, 7, 2, 2), generator)
    assert z.shape[2] == 8
    assert torch.equal(z[:, :, :4], -z[:, :, 4:])


@each_noise
@pytest.mark.parametrize("family", [BlackScholes(), HeatParaboloid(3)], ids=lambda f: f.name())
def test_labels_and_slopes_are_unbiased(noise, family, generator):
    count, domain = 20_000, family.domain
    at = domain.sample(1, generator, torch.float64)
    draw = noise.draw(Shape(count, 8, 1, domain.state_dim), generator, torch.float64)
    found = torch.cat(differential_labels(family, Exact(), at.expand(count, -1), draw), 1)
    point = domain.split(at)
    partials = family.closed_partials(*point)
    u = [family.closed_form(*point), *(partials[name].flatten(1) for name in domain.measures)]
    rounding = 1e-12  # cubature has no other error on the paraboloid
    error = (found.mean(0) - torch.cat(u, 1)).abs()
    assert (error < 4.5 * found.std(0) / count**0.5 + rounding).all()


def label_variances(family, scheme, noise, paths, inputs=16, repeats=64):
    """Mean variance of values and of slopes per normalised input, and the paths they took."""
    generator, domain = torch.Generator().manual_seed(1), family.domain
    at = domain.sample(inputs, generator, torch.float64).repeat_interleave(repeats, 0)
    draw = draw_paths(family, scheme, noise, at, paths, generator)
    value, slope = differential_labels(family, scheme, at, draw)
    labels = (value, slope * domain.std)
    return [y.unflatten(0, (inputs, repeats)).var(1).mean() for y in labels], draw.z.shape[2]


BLACK_SCHOLES = (BlackScholes(), Exact())
PARABOLOID = (HeatParaboloid(3), Exact())
GAUSSIAN = (HeatGaussian(5), Exact())
BASKET = (BasketPut(), EulerMaruyama(steps=5))
LOG_ODE = (BasketPut(), LogOde(steps=2))


@pytest.mark.parametrize(
    ("problem", "noise", "value", "slope"),
    [  # the comments are what was measured with 64 paths (cubature: with its own number)
        (BLACK_SCHOLES, Antithetic(), 4, 2),  # 8.7, 4.0
        (BLACK_SCHOLES, Sobol(), 500, 30),  # 2500, 160
        (BLACK_SCHOLES, SphericalRadial(), 8, 1.5),  # 38, 3.0
        (PARABOLOID, Antithetic(), 1.4, 1),  # 1.9, 1.2
        (PARABOLOID, Sobol(), 12, 8),  # 46, 29
        (PARABOLOID, SphericalRadial(), 1e20, 1e20),  # exact
        (GAUSSIAN, Antithetic(), 0.8, 1.3),  # 1.3, 2.0
        (GAUSSIAN, Sobol(), 8, 14),  # 23, 43
        (GAUSSIAN, SphericalRadial(), 100, 60),  # 420, 240
        (BASKET, Antithetic(), 0.7, 0.6),  # 1.1, 0.9
        (BASKET, Sobol(), 0.9, 0.6),  # 1.7, 1.1
        (BASKET, SphericalRadial(), 2, 1.2),  # 4.1, 2.1
        (LOG_ODE, Antithetic(), 8, 0.8),  # 23, 1.5
        (LOG_ODE, Sobol(aligned=False), 25, 1.5),  # 75, 3.7
        (LOG_ODE, Sobol(), 100, 3),  # 340, 7.9
        (LOG_ODE, SphericalRadial(), 3, 0.2),  # 8.7, 0.5
    ],
    ids=lambda case: case[0].name() if isinstance(case, tuple) else getattr(case, "kind", ""),
)
def test_variance_against_as_many_independent_paths(problem, noise, value, slope):
    variances, paths = label_variances(*problem, noise, 64)
    independent, _ = label_variances(*problem, Independent(), paths)
    value_factor, slope_factor = (b / a for a, b in zip(variances, independent, strict=True))
    assert value_factor > value
    assert slope_factor > slope
