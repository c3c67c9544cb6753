"""Spherical-radial cubature is exact for cubic polynomials of the normals, and random otherwise."""

import pytest
import torch
from scipy import stats

from feynkac.families import BasketPut, HeatParaboloid
from feynkac.methods.fast.path_data import PathData
from feynkac.sampling.labels import differential_labels
from feynkac.sampling.noise.noise import Shape
from feynkac.sampling.noise.spherical import SphericalRadial, _haar
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.log_ode import LogOde


def rule(inputs, draws, dim, generator):
    """Points `(N, K, D)` and weights `(N, K)`."""
    z, weights = SphericalRadial().draw(Shape(inputs, 1, draws, dim), generator, torch.float64)
    return z.movedim(0, 2).flatten(2), weights[..., 0]


@pytest.mark.parametrize(("draws", "dim"), [(1, 1), (1, 2), (1, 10), (4, 3)])
def test_moments_up_to_the_third_are_exact(draws, dim, generator):
    z, w = rule(200, draws, dim, generator)
    size = draws * dim
    assert z.shape == (200, 2 * size + 1, size)
    moments = [
        torch.einsum("nk,nki->ni", w, z),
        torch.einsum("nk,nki,nkj->nij", w, z, z) - torch.eye(size),
        torch.einsum("nk,nki,nkj,nkl->nijl", w, z, z, z),
    ]
    for moment in moments:
        assert moment.abs().max() < 1e-12


def test_the_fourth_moment_is_right_on_average(generator):
    z, w = rule(40_000, 1, 3, generator)
    fourth = torch.einsum("nk,nk->n", w, z[..., 0] ** 4)
    assert fourth.std() > 0.1
    assert abs(fourth.mean() - 3.0) < 4.5 * fourth.std() / len(fourth) ** 0.5


def test_arms_are_orthogonal_and_of_the_chi_law(generator):
    dims = 4
    z, _ = rule(3000, 1, dims, generator)
    arms = z[:, 1 : dims + 1]
    square = arms.square().sum(-1)
    product = arms @ arms.mT
    torch.testing.assert_close(product, torch.diag_embed(square), rtol=1e-12, atol=1e-12)
    assert stats.kstest(square[:, 0].numpy(), stats.chi2(dims + 2).cdf).pvalue > 1e-3
    assert not z[:, 0].any()
    assert torch.equal(z[:, 1 : dims + 1], -z[:, dims + 1 :])


def test_every_direction_is_uniform(generator):
    dims = 4
    first = torch.stack([rule(1, 1, dims, generator)[0][0, 1] for _ in range(1500)])
    cosines = first / first.norm(dim=-1, keepdim=True)
    law = stats.beta(0.5, (dims - 1) / 2)
    for column in cosines.T:
        assert stats.kstest(column.square().numpy(), law.cdf).pvalue > 1e-3


@pytest.mark.parametrize("size", [1, 2, 7])
def test_haar_matrices_are_orthogonal(size, generator):
    q = _haar(torch.randn(size, size, generator=generator, dtype=torch.float64))
    torch.testing.assert_close(q @ q.T, torch.eye(size).double(), rtol=0, atol=1e-13)


def test_haar_matrices_have_entries_of_either_sign(generator):
    drawn = [_haar(torch.randn(2, 2, generator=generator)) for _ in range(2000)]
    positive = (torch.stack(drawn) > 0).double().mean(0)
    assert (positive - 0.5).abs().max() < 4.5 * 0.5 / 2000**0.5


@pytest.mark.parametrize("dim", [1, 2, 10])
@pytest.mark.parametrize("scheme", [Exact(), EulerMaruyama(steps=3)], ids=lambda s: s.kind)
def test_labels_of_the_paraboloid_have_no_noise(dim, scheme, generator):
    family = HeatParaboloid(dim)
    inputs = family.domain.sample(20, generator, torch.float64)
    shape = Shape(20, 1, scheme.draws, dim)
    draw = SphericalRadial().draw(shape, generator, torch.float64)
    values, slopes = differential_labels(family, scheme, inputs, draw)
    point = family.domain.split(inputs)
    partials = family.closed_partials(*point)
    expected = torch.cat([partials[name].flatten(1) for name in family.domain.measures], 1)
    torch.testing.assert_close(values, family.closed_form(*point), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(slopes, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.slow
def test_a_pilot_sees_the_variance_between_draws(generator):
    """Within one, rows share a basis, and vary far less."""
    family, noise = BasketPut(), SphericalRadial()
    data = PathData(family, LogOde(2), noise, 4, 64, with_slopes=False)
    inputs = data.inputs(4, generator)
    mix = torch.ones_like(inputs[:, :1])
    between = torch.stack([data.labelled(inputs, mix, generator).values for _ in range(200)])
    batch = data.repeated(4, 200, generator)
    repeated = batch.values.view(4, 200)
    assert torch.equal(batch.inputs[::200].repeat_interleave(200, 0), batch.inputs)
    ratio = repeated.var(1).mean() / between.squeeze(-1).var(0).mean()
    assert 0.5 < ratio < 2.0
