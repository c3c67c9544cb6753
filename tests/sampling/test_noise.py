"""Generators are named streams; normals are standard, independent and fresh."""

import pytest
import torch
from scipy import stats

from feynkac.sampling.noise import make_generator, normals


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
