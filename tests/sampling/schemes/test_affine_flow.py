"""Paths of affine families: the matrix exponential, the plain Euler loop, compiled or not."""

import math

import pytest
import torch

from feynkac.compilation import can_compile
from feynkac.families import BasketPut
from feynkac.sampling.labels import differential_labels, draw_paths
from feynkac.sampling.noise.noise import Independent, normals
from feynkac.sampling.schemes import affine_flow
from feynkac.sampling.schemes.affine_flow import compiled_for, exponential
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.log_ode import LogOde

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


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [LogOde(steps=2), EulerMaruyama(steps=7)], ids=lambda s: s.kind)
def test_compiled_values_and_slopes_are_the_eager_ones(scheme, generator, monkeypatch):
    if not can_compile():  # seconds, and not while tests are collected
        pytest.skip("there is no C++ compiler")
    paths, worth = 64, 2**13
    monkeypatch.setattr(affine_flow, "WORTH_COMPILING", worth)
    inputs = BASKET.domain.sample(worth // paths, generator)
    draw = draw_paths(BASKET, scheme, Independent(), inputs, paths, generator)
    assert compiled_for(exponential, draw.z[0].mT) is not exponential
    compiled = differential_labels(BASKET, scheme, inputs, draw)
    monkeypatch.setattr(affine_flow, "WORTH_COMPILING", math.inf)
    eager = differential_labels(BASKET, scheme, inputs, draw)
    for one, other in zip(compiled, eager, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
