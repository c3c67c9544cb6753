"""The paraboloid: the paper's formula entry by entry, and as a Feynman–Kac expectation."""

import itertools

import numpy as np
import pytest
import torch

from feynkac.families import Box, Domain, HeatParaboloid


def test_the_domain_is_that_of_the_paper():
    family = HeatParaboloid()
    assert family.domain == Domain(
        x=Box(0.5, 1.5, shape=(10,)), t=Box(0, 1), sigma=Box(0, 1, shape=(10, 10))
    )
    assert family.domain.dim == 111


@pytest.mark.parametrize("d", [1, 2, 3, 10])
def test_the_value_is_the_paper_s_formula(d, generator):
    """‖x‖² + t Tr(γγ*), with the matrix product written out."""
    family = HeatParaboloid(dim=d)
    x, t, p = family.domain.split(family.domain.sample(5, generator, torch.float64))
    for n, value in enumerate(family.closed_form(x, t, p).squeeze(-1).tolist()):
        square = p.sigma[n] @ p.sigma[n].T
        trace = sum(square[i, i].item() for i in range(d))
        expected = sum(v * v for v in x[n].tolist()) + t[n].item() * trace
        assert value == pytest.approx(expected, rel=1e-13)


def test_the_value_is_the_expectation_of_the_initial_condition(generator):
    """E φ(S_t) by Gauss–Hermite quadrature, exact for polynomials of this degree."""
    family = HeatParaboloid(dim=2)
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)
    z = torch.tensor(list(itertools.product(nodes, repeat=2)), dtype=torch.float64)
    w = torch.tensor([a * b for a, b in itertools.product(weights, repeat=2)], dtype=torch.float64)
    inputs = family.domain.sample(10, generator, torch.float64)
    x, t, p = family.domain.split(inputs.unsqueeze(-2))
    payoffs = family.initial(family.exact(x, t, p, z), p).squeeze(-1)
    expectation = (payoffs * w).sum(-1, keepdim=True) / w.sum()
    torch.testing.assert_close(family.closed_form(*family.domain.split(inputs)), expectation)


def test_the_diffusion_is_a_matrix_times_a_vector(generator):
    family = HeatParaboloid(dim=3)
    x, _, p = family.domain.split(family.domain.sample(4, generator))
    dw = torch.randn(4, 3, generator=generator)
    for n in range(4):
        torch.testing.assert_close(family.diffusion(x, dw, p)[n], p.sigma[n] @ dw[n])
