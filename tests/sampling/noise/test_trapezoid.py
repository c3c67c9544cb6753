"""The shifted trapezoidal rule: unbiased for any function, without noise for smooth ones."""

import math

import pytest
import torch

from feynkac.errors import InputError
from feynkac.families.models.rainbow import Rainbow
from feynkac.families.models.spread import Spread
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import differential_labels, draw_paths
from feynkac.sampling.noise.noise import Shape
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.noise.trapezoid import FARTHEST, Trapezoid
from feynkac.sampling.schemes.family_steps import FamilySteps


def rule(inputs, paths, generator):
    """Nodes and weights `(N, K)`."""
    z, weights = Trapezoid().draw(Shape(inputs, paths, 1, 1), generator, torch.float64)
    return z[0, ..., 0], weights[..., 0]


def test_nodes_are_equally_spaced_and_shifted(generator):
    z, weights = rule(500, 16, generator)
    h = 2.0 * FARTHEST / 16
    torch.testing.assert_close(z.diff(dim=1), torch.full((500, 15), h).double())
    shift = (z[:, 0] + FARTHEST) / h
    assert 0.0 <= shift.min() < 0.02
    assert 0.98 < shift.max() <= 1.0
    density = torch.distributions.Normal(0.0, 1.0).log_prob(z).exp()
    torch.testing.assert_close(weights, h * density)


@pytest.mark.parametrize(
    ("f", "mean"),
    [
        (torch.ones_like, 1.0),
        (torch.square, 1.0),
        (lambda z: z**4, 3.0),
        (lambda z: (0.4 * z).exp(), math.exp(0.08)),
        (lambda z: (2.5 * z).exp() / math.exp(3.125), 1.0),  # earned far out
        (lambda z: (0.7 * z).cos(), math.exp(-0.245)),
    ],
    ids=["1", "square", "fourth power", "exponential", "steep exponential", "cosine"],
)
def test_few_nodes_integrate_smooth_functions_without_noise(f, mean, generator):
    z, weights = rule(100, 26, generator)
    assert ((weights * f(z)).sum(-1) - mean).abs().max() < 1e-9


@pytest.mark.parametrize("paths", [3, 8])
def test_a_kink_is_integrated_without_bias(paths, generator):
    z, weights = rule(100_000, paths, generator)
    found = (weights * (z - 0.3).clamp_min(0.0)).sum(-1)
    law = torch.distributions.Normal(0.0, 1.0)
    at = torch.tensor(0.3).double()
    mean = law.log_prob(at).exp() - 0.3 * law.cdf(-at)
    assert found.std() > 1e-3
    assert abs(found.mean() - mean) < 4.5 * found.std() / 100_000**0.5


@pytest.mark.parametrize(("draws", "dim"), [(2, 1), (1, 2)])
def test_more_than_one_normal_is_refused(draws, dim, generator):
    with pytest.raises(InputError, match=f"with one normal, got {draws} × {dim}; take Sobol"):
        Trapezoid().draw(Shape(1, 16, draws, dim), generator)


@pytest.mark.parametrize("family", [Rainbow(), Spread()], ids=lambda f: f.name())
def test_conditional_labels_have_next_to_no_noise(family, generator):
    """26 nodes against 128 Sobol' points."""
    scheme = FamilySteps(steps=1)
    inputs = family.domain.sample(32, generator).repeat_interleave(8, 0)

    def variance(noise, paths):
        draw = draw_paths(family, scheme, noise, inputs, paths, make_generator(0, "labels"))
        values, slopes = differential_labels(family, scheme, inputs, draw)
        labels = torch.cat([values, slopes * family.domain.std], -1)
        return labels.unflatten(0, (32, 8)).var(1).mean()

    assert variance(Trapezoid(), 26) < 0.05 * variance(Sobol(), 128)
