"""Legendre polynomials: orthonormal, projections of polynomials, least squares as NumPy's."""

import numpy as np
import torch

from feynkac.reproduction.legendre import basis, indices, project, regress


def grid(dim, nodes=8):
    """A tensor Gauss–Legendre rule for the uniform distribution on [−1, 1]^dim."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    points = np.stack(np.meshgrid(*[x] * dim), axis=-1).reshape(-1, dim)
    weights = np.prod(np.meshgrid(*[w / 2] * dim), axis=0).ravel()
    return torch.tensor(points), torch.tensor(weights)


def test_the_basis_is_orthonormal():
    points, weights = grid(3)
    columns = basis(points, indices(3, 4))
    gram = columns.mT @ (weights.unsqueeze(-1) * columns)
    torch.testing.assert_close(gram, torch.eye(35, dtype=torch.float64), atol=1e-12, rtol=0)


def test_a_polynomial_is_its_own_projection(generator):
    powers = indices(2, 3)
    wanted = torch.randn(len(powers), 1, generator=generator, dtype=torch.float64)
    nodes = 2 * torch.quasirandom.SobolEngine(2, scramble=True, seed=1).draw(2**14).double() - 1
    found = project(lambda w: basis(w, powers) @ wanted, powers, nodes)
    torch.testing.assert_close(found, wanted[:, 0], atol=2e-3, rtol=0)


def test_the_regression_is_numpys(generator):
    powers = indices(2, 2)
    w = 2 * torch.rand(200, 2, generator=generator, dtype=torch.float64) - 1
    values = torch.randn(200, 1, generator=generator, dtype=torch.float64)
    features = basis(w, powers)
    for size, found in zip((50, 200), regress(features, values, (50, 200)), strict=True):
        exact = np.linalg.lstsq(features[:size].numpy(), values[:size, 0].numpy(), rcond=None)[0]
        np.testing.assert_allclose(found, exact, atol=1e-10)
