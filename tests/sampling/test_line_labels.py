"""Means over lines: exact where one normal is all, unbiased in any dimension, with slopes."""

from dataclasses import dataclass

import pytest
import torch
from scipy.stats import ncx2

import feynkac as fk
from feynkac.families.models.digital import Digital
from feynkac.methods.fast.choose_noise import choose_noise
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import draw_paths, payoffs
from feynkac.sampling.line_labels import (
    _lines,
    _rule,
    line_labels,
    seen_to_jump,
    slopes_hold,
    suits_lines,
)
from feynkac.sampling.noise.lines import Lines, ParallelLines, Rays
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.path import path_end
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.extrapolated_euler import ExtrapolatedEuler
from feynkac.sampling.schemes.extrapolated_flows import ExtrapolatedFlows
from feynkac.sampling.schemes.geometric import Geometric

REPEATS = 256


@dataclass(frozen=True)
class Ball(fk.Family, fk.Jumps):
    """P(|x + B_t| < r) in some dimensions; an exact Euler step."""

    dim: int = 4

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-1.0, 1.0, shape=(self.dim,)), t=fk.Box(0.2, 1.0), r=fk.Box(0.5, 3.0)
        )

    def drift(self, x, p):
        return 0.0

    def diffusion(self, x, dw, p):
        return dw

    def initial(self, x, p):
        return (x.norm(dim=-1, keepdim=True) < p.r).to(x.dtype)

    def solution(self, inputs):
        x, t, p = self.domain.split(inputs)
        far = x.square().sum(-1, keepdim=True)
        return torch.as_tensor(ncx2.cdf((p.r.square() / t).numpy(), self.dim, (far / t).numpy()))


@dataclass(frozen=True)
class Gap(fk.Family, fk.Rate):
    """Pays x − 90 above 100, which is not declared to jump; a rate of interest."""

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(90.0, 110.0), t=fk.Box(0.2, 1.0), sigma=fk.Box(0.1, 0.3), rate=fk.Box(0, 0.1)
        )

    def drift(self, x, p):
        return p.rate * x

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def initial(self, x, p):
        return torch.where(x > 100.0, x - 90.0, 0.0)

    def solution(self, inputs):
        x, t, p = self.domain.split(inputs)
        d = ((x / 100.0).log() + (p.rate - 0.5 * p.sigma.square()) * t) / (p.sigma * t.sqrt())
        stock = x * torch.special.ndtr(d + p.sigma * t.sqrt())
        return stock - 90.0 * (-p.rate * t).exp() * torch.special.ndtr(d)


@dataclass(frozen=True)
class Strip(Gap, fk.VectorValued):
    """Three digitals at once."""

    outputs = 3

    def initial(self, x, p):
        return (x > torch.tensor([95.0, 100.0, 105.0]).to(x)).to(x.dtype)


@dataclass(frozen=True)
class Basket(fk.Family, fk.Jumps):
    """Pays 1 if the mean of five assets ends above 100."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(80.0, 120.0, shape=(5,)), t=fk.Box(0.1, 2.0))

    def drift(self, x, p):
        return 0.0

    def diffusion(self, x, dw, p):
        return 0.3 * x * dw

    def initial(self, x, p):
        return (x.mean(-1, keepdim=True) > 100.0).to(x.dtype)


def gradient(solution, inputs):
    leaf = inputs.clone().requires_grad_()
    (slopes,) = torch.autograd.grad(solution(leaf).sum(), leaf)
    return slopes


def differences(solution, inputs, step=1e-4):
    """Central ones, in each input."""
    units = step * torch.eye(inputs.shape[-1], dtype=inputs.dtype)
    ends = [(solution(inputs + e) - solution(inputs - e)) / (2 * step) for e in units]
    return torch.cat(ends, dim=-1)


def repeated(family, scheme, noise, inputs, generator, paths=128):
    """Means of many labels, and four standard errors."""
    found = line_labels(
        family, scheme, noise, inputs.repeat_interleave(REPEATS, 0), paths, generator
    )
    for part in found:
        labels = part.unflatten(0, (len(inputs), REPEATS))
        yield labels.mean(1), 4.0 * labels.std(1) / REPEATS**0.5


def test_with_one_normal_a_digital_has_no_noise(generator):
    family = Digital()
    inputs = family.domain.sample(64, generator, torch.float64)
    inputs[:, 1].clamp_min_(0.01)
    values, slopes = line_labels(family, Exact(), ParallelLines(), inputs, 16, generator)

    def solution(rows):
        return family.closed_form(*family.domain.split(rows))

    torch.testing.assert_close(values, solution(inputs), rtol=0, atol=1e-5)
    scale = family.domain.std.double()
    expected = gradient(solution, inputs) * scale
    torch.testing.assert_close(slopes * scale, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("noise", [ParallelLines(), Rays()])
@pytest.mark.parametrize("steps", [1, 3])
def test_a_ball(noise, steps, generator):
    """Lines enter and leave it, or graze it."""
    family = Ball()
    inputs = family.domain.sample(12, generator, torch.float64)
    scheme = EulerMaruyama(steps=steps)
    (value, error), (slope, slope_error) = repeated(family, scheme, noise, inputs, generator)
    assert ((value - family.solution(inputs)).abs() < error + 2e-4).all()
    off = (slope - differences(family.solution, inputs)).abs()
    assert (off < slope_error + 0.02).float().mean() > 0.95
    assert (off.square().mean() / slope.square().mean()) < 0.01


@pytest.mark.parametrize("scheme", [Geometric(), ExtrapolatedEuler(steps=8)])
def test_what_is_paid_may_vary_beside_the_jump(scheme, generator):
    family = Gap()
    inputs = family.domain.sample(8, generator, torch.float64)
    (value, error), (slope, slope_error) = repeated(
        family, scheme, ParallelLines(), inputs, generator
    )
    assert ((value - family.solution(inputs)).abs() < error + 2e-2).all()
    scale = family.domain.std.double()
    off = (slope - gradient(family.solution, inputs)).abs() * scale
    assert (off < slope_error * scale + 5e-2).all()


def test_a_strip_of_digitals(generator):
    family = Strip()
    inputs = family.domain.sample(8, generator, torch.float64)
    mix = torch.tensor([[1.0, -1.0, 2.0]], dtype=torch.float64).expand(8, 3)
    setting = (family, Geometric(), ParallelLines(), inputs, 64, generator)
    values, slopes = line_labels(*setting, mix)

    def solution(rows):
        x, t, p = family.domain.split(rows)
        strikes = torch.tensor([95.0, 100.0, 105.0]).double()
        d = ((x / strikes).log() + (p.rate - 0.5 * p.sigma.square()) * t) / (p.sigma * t.sqrt())
        return (-p.rate * t).exp() * torch.special.ndtr(d)

    torch.testing.assert_close(values, solution(inputs), rtol=0, atol=1e-5)
    expected = gradient(lambda rows: solution(rows) * mix, inputs)
    torch.testing.assert_close(slopes, expected, rtol=1e-3, atol=1e-4)


def test_far_less_noise_than_single_paths(generator):
    family = Basket()
    inputs = family.domain.sample(16, generator).repeat_interleave(16, 0)
    smooth, _ = line_labels(family, Geometric(), ParallelLines(), inputs, 512, generator)
    draw = draw_paths(family, Geometric(), Sobol(), inputs, 512, generator)
    plain = (payoffs(family, Geometric(), inputs, draw.z) * draw.weights).sum(-2)
    noise = [labels.unflatten(0, (16, 16)).var(1).mean() for labels in (smooth, plain)]
    assert noise[0] < 0.1 * noise[1]


# Choice


def test_lines_are_chosen_where_the_payoff_jumps():
    central = Ball(dim=10).on(x=fk.Box(-0.2, 0.2, shape=(10,)))
    assert choose_noise(central, EulerMaruyama(steps=1)) == Rays()
    assert isinstance(choose_noise(Gap(), Geometric()), Lines)  # with one normal either will do
    assert choose_noise(Basket(), Geometric(), paths=128) == ParallelLines()
    assert slopes_hold(Ball(), Rays())
    assert not slopes_hold(Ball(), Sobol())


def test_an_undeclared_jump_is_seen_and_a_kink_is_none():
    @dataclass(frozen=True)
    class Call(Gap):
        def initial(self, x, p):
            return torch.where(x > 100.0, x - 100.0, 0.0)

    assert suits_lines(Call(), Geometric())
    assert seen_to_jump(Gap(), Geometric())
    assert not seen_to_jump(Call(), Geometric())


def test_the_same_seed_gives_the_same_labels():
    family = Ball()
    inputs = family.domain.sample(4, make_generator(0, "inputs"))
    one, other = (
        line_labels(family, EulerMaruyama(steps=2), Rays(), inputs, 64, make_generator(1, "z"))
        for _ in range(2)
    )
    assert torch.equal(one[0], other[0])
    assert torch.equal(one[1], other[1])


def test_lines_for_a_payoff_without_comparisons_are_refused(generator):
    family = fk.BlackScholes()
    inputs = family.domain.sample(4, generator)
    with pytest.raises(fk.InputError, match=r"must jump by comparisons .* use noise=Sobol"):
        line_labels(family, Exact(), ParallelLines(), inputs, 16, generator)


@dataclass(frozen=True)
class Well(Ball):
    """The same in a cubic well, where coarse steps from far points of a line explode."""

    def drift(self, x, p):
        return x - 2.0 * x.square().sum(-1, keepdim=True) * x


@pytest.mark.parametrize(
    "noise",
    [pytest.param(ParallelLines(), marks=pytest.mark.slow), Rays()],
    ids=lambda noise: noise.kind,
)
def test_paths_that_explode_far_out_do_not_spoil_a_label(noise, generator):
    family, scheme = Well(dim=8), ExtrapolatedFlows(steps=4, noise="additive")
    inputs = family.domain.sample(256, generator)
    exploding = _at_nodes_explode(family, scheme, noise, inputs)
    values, _ = line_labels(family, scheme, noise, inputs, 256, generator)
    draw = draw_paths(family, scheme, Sobol(), inputs, 256, generator)
    known = (payoffs(family, scheme, inputs, draw.z) * draw.weights).sum(-2)
    assert exploding
    assert values.isfinite().all()
    assert (values - known).mean().abs() < 0.02


def _at_nodes_explode(family, scheme, noise, inputs):
    """Whether some path on some line has no end that is a number."""
    generator = make_generator(0, "far out")
    shape, line = _lines(family, scheme.halves[0], noise, inputs, 256, generator)
    nodes = _rule(noise, shape, generator, inputs).nodes
    z = line.base.unsqueeze(3) + line.way.unsqueeze(3) * nodes.unsqueeze(-1)
    x, t, p = family.domain.split(inputs.unsqueeze(-2))
    with torch.no_grad():
        end = path_end(family, scheme.halves[0], x, t, p, z.flatten(2, 3))
    return not end.state.isfinite().all()
