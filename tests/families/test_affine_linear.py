"""Affine-linear coefficients against Section 2.1 written out with matrices and loops."""

from dataclasses import dataclass

import pytest
import torch

from feynkac.families import AffineLinear, Box, Domain, Params


@dataclass(frozen=True)
class Affine(AffineLinear):
    dim: int

    @property
    def domain(self):
        d = self.dim
        sigma, mu = Box(-1, 1, shape=(d, d, d + 1)), Box(-1, 1, shape=(d, d + 1))
        return Domain(x=Box(-2, 2, shape=(d,)), t=Box(0, 1), sigma=sigma, mu=mu)

    def initial(self, x, p):
        return x.sum(-1, keepdim=True)


def sigma_matrix(x, gamma):
    """[γ₁x | … | γ_d x] + γ_{d+1}, entry by entry; gamma is the tuple of d+1 matrices."""
    d = len(x)
    matrix = [[gamma[d][i][j] for j in range(d)] for i in range(d)]
    for j in range(d):
        for i in range(d):
            for k in range(d):
                matrix[i][j] += gamma[j][i][k] * x[k]
    return matrix


def mu_vector(x, linear, constant):
    """γ₁ x + γ₂, entry by entry."""
    d = len(x)
    return [sum(linear[i][k] * x[k] for k in range(d)) + constant[i] for i in range(d)]


def product(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_coefficients_are_those_of_the_paper(d, generator):
    family = Affine(d)
    inputs = family.domain.sample(20, generator, torch.float64)
    x, _, p = family.domain.split(inputs)
    dw = torch.randn(20, d, generator=generator, dtype=torch.float64)
    drift, diffusion = family.drift(x, p), family.diffusion(x, dw, p)
    for n in range(20):
        matrices = [p.sigma[n, :, :, j].tolist() for j in range(d + 1)]
        sigma = sigma_matrix(x[n].tolist(), matrices)
        mu = mu_vector(x[n].tolist(), p.mu[n, :, :d].tolist(), p.mu[n, :, d].tolist())
        assert drift[n].tolist() == pytest.approx(mu, rel=1e-13, abs=1e-13)
        expected = product(sigma, dw[n].tolist())
        assert diffusion[n].tolist() == pytest.approx(expected, rel=1e-13, abs=1e-13)


def test_parameters_broadcast_over_paths(generator):
    """(N, 1) parameters against (N, K) states give what each path alone gives."""
    family = Affine(3)
    inputs = family.domain.sample(4, generator, torch.float64)
    x, _, p = family.domain.split(inputs.unsqueeze(-2))
    x = x + torch.randn(4, 5, 3, generator=generator, dtype=torch.float64)
    dw = torch.randn(4, 5, 3, generator=generator, dtype=torch.float64)
    drift, diffusion = family.drift(x, p), family.diffusion(x, dw, p)
    for n in range(4):
        for k in range(5):
            alone = Params(sigma=p.sigma[n, 0], mu=p.mu[n, 0])
            torch.testing.assert_close(drift[n, k], family.drift(x[n, k], alone))
            torch.testing.assert_close(diffusion[n, k], family.diffusion(x[n, k], dw[n, k], alone))


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_the_input_dimension_is_that_of_the_paper(d):
    """dim_in(Φ) = d³ + 2d² + 2d + 1 + k, here with k = 0."""
    assert Affine(d).domain.dim == d**3 + 2 * d**2 + 2 * d + 1
