"""Turned normals: the same law and the same means, far less variance."""

from dataclasses import dataclass

import pytest
import torch

from feynkac.families import BasketPut, BlackScholes, HeatGaussian
from feynkac.sampling.labels import differential_labels, draw_paths
from feynkac.sampling.noise.alignment import align, direction
from feynkac.sampling.noise.noise import Draw, Independent, Shape
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.reference import replicated
from feynkac.sampling.schemes.log_ode import LogOde

BASKET, SCHEME = BasketPut(), LogOde(steps=2)


@dataclass(frozen=True)
class Flat(BasketPut):
    """Nothing is paid, whatever happens."""

    def initial(self, x, p):
        return torch.zeros_like(p.strike) * x.sum(-1, keepdim=True)


@dataclass(frozen=True)
class Detached(BasketPut):
    """A payoff that no path enters."""

    def initial(self, x, p):
        return torch.ones_like(x[..., :1])


def unit_draw(inputs, dim):
    """e_1 … e_d as the paths of every input."""
    paths = torch.eye(dim, dtype=torch.float64).expand(1, inputs, dim, dim)
    return Draw(paths, paths.new_full((), 1.0 / dim).expand(inputs, dim, 1))


@pytest.mark.parametrize("family", [BASKET, BasketPut(2), HeatGaussian(5)], ids=lambda f: f.name())
def test_the_turn_is_orthogonal_and_takes_the_first_axis_to_the_direction(family, generator):
    dim = family.domain.state_dim
    inputs = family.domain.sample(50, generator, torch.float64)
    v, turned = direction(family, inputs), align(family, inputs, unit_draw(50, dim)).z[0]
    torch.testing.assert_close(v.norm(dim=-1), torch.ones(50).double())
    torch.testing.assert_close(turned[:, 0], v)
    torch.testing.assert_close(turned @ turned.mT, torch.eye(dim).double().expand(50, dim, dim))


def test_the_direction_of_a_linear_payoff_is_its_gradient_through_sigma(generator):
    """Deep in the money the put is linear: v ∝ −σ(x)ᵀ 1."""
    inputs = BASKET.domain.sample(20, generator, torch.float64)
    slices = BASKET.domain.slices()
    inputs[:, slices["t"]], inputs[:, slices["strike"]] = 0.01, 1e6
    x, _, p = BASKET.domain.split(inputs)
    columns = [BASKET.diffusion(x, e.expand_as(x), p).sum(-1) for e in torch.eye(3).double()]
    expected = -torch.nn.functional.normalize(torch.stack(columns, -1), dim=-1)
    torch.testing.assert_close(direction(BASKET, inputs), expected)


def test_the_law_of_the_normals_does_not_change(generator):
    count = 50_000
    inputs = BASKET.domain.sample(1, generator, torch.float64)
    draw = Independent().draw(Shape(1, count, 2, 3), generator, torch.float64)
    turned = align(BASKET, inputs, draw)
    z = turned.z[:, 0].movedim(1, 0).flatten(1)
    assert not torch.equal(turned.z, draw.z)
    assert torch.equal(turned.weights, draw.weights)
    assert z.mean(0).abs().max() < 4.5 / count**0.5
    assert (torch.cov(z.T) - torch.eye(6)).abs().max() < 4.5 * (2 / count) ** 0.5


@pytest.mark.parametrize("family", [Flat(), Detached()], ids=lambda f: f.name())
def test_a_flat_payoff_has_no_direction_but_a_finite_draw(family, generator):
    inputs = family.domain.sample(8, generator)
    draw = Sobol().draw(Shape(8, 16, 4, 3), generator)
    turned = align(family, inputs, draw)
    assert not direction(family, inputs).any()
    torch.testing.assert_close(turned.z.norm(dim=-1), draw.z.norm(dim=-1))


def test_at_time_zero_a_draw_is_finite(generator):
    inputs = BASKET.domain.sample(8, generator)
    inputs[:, BASKET.domain.slices()["t"]] = 0.0
    draw = Sobol().draw(Shape(8, 16, 4, 3), generator)
    assert align(BASKET, inputs, draw).z.isfinite().all()


def test_in_one_dimension_there_is_nothing_to_turn(generator):
    family = BlackScholes()
    draw = Sobol().draw(Shape(8, 16, 1, 1), generator)
    assert align(family, family.domain.sample(8, generator), draw) is draw


def test_only_a_noise_that_asks_for_it_is_turned(generator):
    inputs, states = BASKET.domain.sample(4, generator), generator.get_state()
    for noise, same in ((Independent(), True), (Sobol(aligned=False), True), (Sobol(), False)):
        drawn = draw_paths(BASKET, SCHEME, noise, inputs, 8, generator.set_state(states))
        plain = noise.draw(Shape(4, 8, 4, 3, 2), generator.set_state(states))
        assert torch.equal(drawn.z, plain.z) is same


@pytest.mark.slow
def test_estimates_stay_unbiased(generator):
    inputs = BASKET.domain.sample(40, generator, torch.float64)
    aligned, plain = (
        replicated(BASKET, SCHEME, Sobol(aligned=on), inputs, 64, generator, replicates=200)
        for on in (True, False)
    )
    noise = (aligned.error.square() + plain.error.square()).sqrt()
    assert ((aligned.value - plain.value).abs() < 4.5 * noise).all()


def variances(noise, paths=64, inputs=64, repeats=64):
    """Of the value at each input, and of its slopes in normalised inputs."""
    generator, domain = torch.Generator().manual_seed(1), BASKET.domain
    at = domain.sample(inputs, generator, torch.float64).repeat_interleave(repeats, 0)
    draw = draw_paths(BASKET, SCHEME, noise, at, paths, generator)
    value, slope = differential_labels(BASKET, SCHEME, at, draw)
    labels = (value, slope * domain.std)
    return [y.unflatten(0, (inputs, repeats)).var(1).mean(-1) for y in labels]


@pytest.mark.slow
def test_variance_on_the_basket():
    """Of 64 paths; the comments are what was measured."""
    independent, plain, aligned = (
        variances(noise) for noise in (Independent(), Sobol(aligned=False), Sobol())
    )
    value, slope = ((i.mean() / a.mean()).item() for i, a in zip(independent, aligned, strict=True))
    assert value > 50  # 400
    assert slope > 3  # 9
    assert plain[0].mean() / aligned[0].mean() > 2  # 5
    assert (plain[0] / aligned[0]).median() > 4  # 9
