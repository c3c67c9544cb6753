"""Sobol' points fill the cube evenly, each input on its own; the slowest modes come first."""

import pytest
import torch

from feynkac.sampling.noise.noise import Shape
from feynkac.sampling.noise.sobol import BITS, MOST_DIMS, Sobol, _cosines


def uniforms(z):
    return torch.special.ndtr(z)


@pytest.mark.parametrize(
    ("asked", "given"), [(1, 2), (2, 2), (3, 4), (4, 4), (33, 64), (64, 64), (65, 128)]
)
def test_paths_are_rounded_up_to_twice_a_power_of_two(asked, given, generator):
    assert Sobol().draw(Shape(3, asked, 1, 2), generator).z.shape == (1, 3, given, 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_each_coordinate_has_one_point_in_every_interval(dtype, generator):
    half = 64
    z, _ = Sobol().draw(Shape(20, 2 * half, 1, 5), generator, dtype)
    interval = (uniforms(z[0, :, :half].double()) * half).long()
    expected = torch.arange(half)[None, :, None].expand_as(interval)
    assert torch.equal(interval.sort(1).values, expected)


def test_points_are_in_the_middle_of_their_cells(generator):
    """So that none is 0 or 1, whose normals are infinite, and their mean has no bias."""
    z, _ = Sobol().draw(Shape(50, 64, 1, 3), generator, torch.float64)
    cells = uniforms(z) * 2**BITS
    torch.testing.assert_close(
        cells - cells.floor(), torch.full_like(cells, 0.5), rtol=0, atol=1e-6
    )


def test_the_second_half_mirrors_the_first(generator):
    z, _ = Sobol().draw(Shape(4, 32, 3, 2), generator)
    assert torch.equal(z[:, :, :16], -z[:, :, 16:])


def test_every_input_has_its_own_shift(generator):
    z, _ = Sobol().draw(Shape(50, 8, 1, 2), generator)
    assert len(z[0, :, 0].unique(dim=0)) == 50


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_normals_are_finite_even_in_the_tails(dtype, generator):
    z, _ = Sobol().draw(Shape(4, 2**19, 1, 1), generator, dtype)
    assert z.isfinite().all()
    assert 4.5 < z.max() < 5.5


@pytest.mark.parametrize("count", [1, 2, 5, 25])
def test_the_cosine_modes_are_orthonormal(count):
    basis = _cosines(count)
    eye = torch.eye(count, dtype=torch.float64)
    torch.testing.assert_close(basis.T @ basis, eye, rtol=0, atol=1e-13)
    torch.testing.assert_close(basis @ basis.T, eye, rtol=0, atol=1e-13)


def test_modes_run_from_the_slowest_to_the_fastest():
    signs = _cosines(12).sign()
    changes = (signs[1:] != signs[:-1]).sum(0)
    assert torch.equal(changes, torch.arange(12))


def test_the_first_two_modes_of_a_path_form_a_net(generator):
    half = 16
    z, _ = Sobol().draw(Shape(20, 2 * half, 8, 1), generator, torch.float64)
    modes = torch.einsum("sm,snk->nkm", _cosines(8)[:, :2], z[:, :, :half, 0])
    squares = (uniforms(modes) * 4).long()
    cells = (4 * squares[..., 0] + squares[..., 1]).sort(1).values
    assert torch.equal(cells, torch.arange(half).expand_as(cells))


def test_beyond_the_dimensions_of_sobol_points_normals_are_independent(generator):
    z, _ = Sobol().draw(Shape(2, 64, 1, MOST_DIMS + 1000), generator)
    rest = z[..., MOST_DIMS:]
    assert rest.isfinite().all()
    assert rest[:, :, :32].std().item() == pytest.approx(1.0, abs=4.5 / (2 * 64000) ** 0.5)
    assert torch.equal(z[:, :, :32], -z[:, :, 32:])
