"""Stretched Sobol' points: unbiased far out, the same in blocks, dense where it counts."""

import math
from itertools import product

import pytest
import torch
from scipy.stats import norm

from feynkac.sampling.noise.noise import Shape
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.noise.stretched import Stretched, points

SHAPE = Shape(inputs=64, paths=256, draws=1, dim=2)


def mean(noise, f, generator, shape=SHAPE):
    """Means of f over independent draws, and their standard error."""
    draw = noise.draw(shape, generator, torch.float64)
    found = (f(draw.z[0]) * draw.weights.squeeze(-1)).sum(-1)
    return found.mean().item(), found.std().item() / math.sqrt(shape.inputs)


@pytest.mark.parametrize("far", [0.0, 12.0])
def test_moments_of_both_coordinates_are_right(far, generator):
    for i, (power, expected) in product((0, 1), ((0, 1.0), (1, 0.0), (2, 1.0), (4, 3.0))):
        value, error = mean(Stretched(far=far), lambda z: z[..., i] ** power, generator)  # noqa: B023
        assert abs(value - expected) < 4.5 * error + 1e-9


@pytest.mark.parametrize("deviations", [4.0, 6.0, 7.0])
def test_what_lies_far_out_is_seen(deviations, generator):
    value, error = mean(Stretched(), lambda z: (z[..., 0] > deviations).double(), generator)
    truth = norm.sf(deviations)
    assert 0.0 < error < 0.2 * truth
    assert abs(value - truth) < 4.5 * error


def test_plain_points_see_nothing_there(generator):
    for noise in (Sobol(), Stretched(far=0.0)):
        assert mean(noise, lambda z: (z[..., 0] > 6.0).double(), generator)[0] == 0.0


def test_a_kink_has_far_less_noise(generator):
    def call(z):
        return (z[..., 0].exp() - 1.0).clamp_min(0.0)

    near, far = (mean(n, call, generator)[1] for n in (Stretched(far=0.0), Stretched()))
    assert far < 0.1 * near


def test_blocks_are_the_whole_draw():
    """The same points with the same weights, in another order."""

    def rows(draws):
        flat = [torch.cat([d.z.movedim(2, 0).flatten(1), d.weights[0]], dim=-1) for d in draws]
        found = torch.cat(flat)
        return found[found[:, 0].argsort()]

    shape = Shape(inputs=1, paths=256, draws=3, dim=2)
    whole = Stretched().draw(shape, torch.Generator().manual_seed(0))
    blocks = list(Stretched().blocks(shape, 32, torch.Generator().manual_seed(0)))
    assert len(blocks) == 8
    assert whole.z.shape == (3, 1, 256, 2)
    torch.testing.assert_close(rows([whole]), rows(blocks))


def test_the_points_are_those_of_sobol():
    engine = torch.quasirandom.SobolEngine(3)
    expected = (engine.draw(32, dtype=torch.float64) * 2**30).sort(0).values
    from feynkac.sampling.noise.stretched import _directions

    found = points(_directions(3)[:5]).double().sort(0).values
    assert torch.equal(found, expected)
