"""Correlated increments: their covariance is what was asked for, and gradients are finite."""

import numpy as np
import pytest
import torch

from feynkac.families.formulas.correlation import cholesky_mix, halves, one_factor, pair

RHOS = [-1.0, -0.9, -0.3, 0.0, 0.5, 1.0]


def covariance(mix, count):
    """Of `mix` applied to independent standard normals: the images of the unit vectors."""
    columns = torch.stack([mix(unit) for unit in torch.eye(count, dtype=torch.float64)])
    return columns.T @ columns


def number(value):
    return torch.tensor([value], dtype=torch.float64)


@pytest.mark.parametrize("rho", RHOS)
def test_a_pair_has_its_correlation(rho):
    found = covariance(lambda dw: pair(dw, number(rho)), 2)
    torch.testing.assert_close(found, torch.tensor([[1.0, rho], [rho, 1.0]]).double())


@pytest.mark.parametrize("rho", [0.0, 0.2, 0.9])
@pytest.mark.parametrize("dim", [1, 2, 7])
def test_one_factor_correlates_any_two_alike(rho, dim):
    found = covariance(lambda dw: one_factor(dw, number(rho)), dim + 1)
    expected = (1.0 - rho) * np.eye(dim) + rho
    np.testing.assert_allclose(found, expected, atol=1e-15)


def test_any_correlation_matrix():
    corr = torch.tensor([[1.0, 0.3, -0.5], [0.3, 1.0, 0.2], [-0.5, 0.2, 1.0]]).double()
    torch.testing.assert_close(covariance(lambda dw: cholesky_mix(dw, corr), 3), corr)


def test_the_matrix_may_differ_from_row_to_row(generator):
    rho = torch.tensor([0.1, 0.8], dtype=torch.float64)
    eye = torch.eye(2, dtype=torch.float64)
    corr = eye + rho[:, None, None] * (1.0 - eye)
    dw = torch.randn(2, 5, 2, generator=generator, dtype=torch.float64)
    mixed = cholesky_mix(dw, corr[:, None])
    torch.testing.assert_close(mixed, pair(dw, rho[:, None, None]))


@pytest.mark.parametrize(("mix", "width"), [(pair, 2), (one_factor, 2), (one_factor, 5)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_parameters_broadcast_over_paths(mix, width, dtype, generator):
    dw = torch.randn(3, 4, width, generator=generator, dtype=dtype)
    rho = torch.rand(3, 1, 1, generator=generator, dtype=dtype)
    mixed = mix(dw, rho)
    assert mixed.dtype == dtype
    assert mixed.shape[:-1] == (3, 4)
    torch.testing.assert_close(mixed[2, 1], mix(dw[2, 1], rho[2, 0]))
    assert mix(dw[:1, :1], rho).shape == (3, 1, mixed.shape[-1])


@pytest.mark.parametrize(("mix", "edge"), [(pair, 1.0), (pair, -1.0), (one_factor, 0.0)])
def test_gradients_are_finite_at_the_edges(mix, edge):
    rho = number(edge).requires_grad_()
    (slope,) = torch.autograd.grad(mix(torch.ones(3, 2).double(), rho).sum(), rho)
    assert slope.isfinite().all()


def test_forward_mode_agrees_with_a_difference(generator):
    dw = torch.randn(4, 3, generator=generator, dtype=torch.float64)
    _, slope = torch.func.jvp(lambda rho: one_factor(dw, rho), (number(0.4),), (number(1.0),))
    difference = (one_factor(dw, number(0.4 + 1e-6)) - one_factor(dw, number(0.4 - 1e-6))) / 2e-6
    torch.testing.assert_close(slope, difference, rtol=1e-8, atol=1e-9)


def test_halves_keep_their_axis():
    first, second = halves(torch.arange(6.0).reshape(3, 2))
    assert first.tolist() == [[0.0], [2.0], [4.0]]
    assert second.tolist() == [[1.0], [3.0], [5.0]]
