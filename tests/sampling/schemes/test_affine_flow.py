"""Paths of affine families: the matrix exponential, the Euler loop, and their derivatives."""

import pytest
import torch

from feynkac.families import BasketPut
from feynkac.sampling.noise.noise import normals
from feynkac.sampling.schemes.affine_flow import euler_steps, exponential
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama

BASKET = BasketPut()


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_exponential_is_that_of_the_matrix(dim, generator):
    """Up to the first term left out, ‖V‖⁹/9!."""
    field = 0.1 * torch.randn(4, dim, dim + 1, 6, generator=generator, dtype=torch.float64)
    x = torch.randn(4, dim, 6, generator=generator, dtype=torch.float64)
    square = torch.zeros(4, 6, dim + 1, dim + 1, dtype=torch.float64)
    square[..., :dim, :] = field.movedim(-1, 1)
    point = torch.cat([x, torch.ones(4, 1, 6)], dim=1).movedim(-1, 1).unsqueeze(-1)
    expected = (torch.linalg.matrix_exp(square) @ point).squeeze(-1)[..., :dim].movedim(1, -1)
    torch.testing.assert_close(exponential(field.flatten(1, 2), x), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("steps", [1, 5, 7])
def test_many_paths_an_input_move_as_each_alone(steps, generator):
    """The affine way, and the formula as written, to which repeated inputs lead."""
    inputs = BASKET.domain.sample(3, generator, torch.float64)
    z = normals(steps, (3, 4), 3, generator, torch.float64)
    scheme = EulerMaruyama(steps=steps)
    together = scheme.terminal(BASKET, *BASKET.domain.split(inputs.unsqueeze(-2)), z)
    repeated = inputs.unsqueeze(-2).expand(-1, 4, -1)
    alone = scheme.terminal(BASKET, *BASKET.domain.split(repeated), z)
    torch.testing.assert_close(together, alone, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize(("move", "axes"), [(exponential, ()), (euler_steps, (4,))])
def test_the_derivatives_written_out_are_those_of_the_values(dim, move, axes, generator):
    """By finite differences, in the fields and in x."""
    field = torch.randn(2, dim * (dim + 1), *axes, 3, generator=generator, dtype=torch.float64)
    x = torch.randn(2, dim, 3, generator=generator, dtype=torch.float64)
    torch.autograd.gradcheck(move, (field.requires_grad_(), x.requires_grad_()))


def test_a_second_derivative_is_refused_and_not_zero(generator):
    field = torch.randn(1, 2, 1, generator=generator, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(
        exponential(field, torch.ones(1, 1, 1, dtype=torch.float64)).sum(), field, create_graph=True
    )
    with pytest.raises(RuntimeError, match=r"once_differentiable|does not require grad"):
        torch.autograd.grad(slope.sum(), field)
