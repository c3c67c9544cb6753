"""Sweeps stay within the bound whatever dim, noise and paths are; chunks change rounding only."""

from dataclasses import dataclass, replace

import pytest
import torch

import feynkac as fk
from feynkac.methods.fast.path_data import PathData
from feynkac.sampling import labels as labels_module
from feynkac.sampling.chunks import BOUND, COPIES, Chunk, Weight, cut, path_numbers
from feynkac.sampling.labels import differential_labels, draw_paths, draws, labels, mean_labels
from feynkac.sampling.weighed import Weighed

SLACK = 1.1  # the weight of a sweep is extrapolated from one input with a few paths


@dataclass(frozen=True)
class Skewed(fk.Family, fk.Rate, fk.NoiseDimension):
    """A basket of correlated assets, as a user writes it."""

    dim: int = 20
    scenarios: tuple[float, ...] | list[float] = (1.0,)

    @property
    def noise_dim(self):
        return self.dim + 1

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(80.0, 120.0, shape=(self.dim,)),
            t=fk.Box(0.1, 2.0),
            sigma=fk.Box(0.1, 0.4),
            rho=fk.Box(0.1, 0.8),
            rate=fk.Box(0.0, 0.05),
        )

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        noise = p.rho.sqrt() * dw[..., :1] + (1.0 - p.rho).sqrt() * dw[..., 1:]
        return p.sigma * (0.5 * x + 50.0) * noise

    def initial(self, x, p):
        return (x.mean(-1, keepdim=True) - 100.0).clamp_min(0.0)


@dataclass(frozen=True)
class Ball(fk.Family, fk.Source, fk.Absorbing, fk.AdditiveNoise):
    """Walls need `torch.func`, whose tensors hooks of autograd cannot see."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(-0.4, 0.4, shape=(3,)), t=fk.Box(0.1, 1.0), r=fk.Box(1.0, 1.5))

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return dw

    def initial(self, x, p):
        return x.square().sum(-1, keepdim=True)

    def source(self, x, p):
        return torch.ones_like(x[..., :1])

    def distance(self, x, p):
        return p.r - x.norm(dim=-1, keepdim=True)


EULER = fk.ExtrapolatedEuler(steps=16)
CASES = [
    (Skewed(), EULER),
    (Skewed(scenarios=[1.0]), EULER),  # a list: no key of a dictionary
    (Ball(), fk.NinomiyaVictoir(steps=4, noise="additive")),
    (fk.BasketPut(), fk.LogOde(steps=2)),
    (fk.Heston(), fk.FamilySteps(steps=4)),
]


def drawn(family, scheme, count, paths, dtype=torch.float32, noise=None):
    generator = torch.Generator().manual_seed(0)
    inputs = family.domain.sample(count, generator, dtype)
    return inputs, draw_paths(family, scheme, noise or fk.Sobol(), inputs, paths, generator)


def weight_of(family, scheme, inputs, draw, slopes=True):
    same = labels_module._Same(family)
    return labels_module._weight(same, scheme, draw.z.shape[-1], inputs.dtype, "cpu", slopes)


@pytest.mark.parametrize(("family", "scheme"), CASES)
@pytest.mark.parametrize("slopes", [True, False])
def test_two_tiny_sweeps_tell_the_bytes_of_a_large_one(family, scheme, slopes):
    inputs, draw = drawn(family, scheme, 32, 64, torch.float64)
    weight = weight_of(family, scheme, inputs, draw, slopes)
    with Weighed() as weighed:
        (differential_labels if slopes else mean_labels)(family, scheme, inputs, draw)
    expected = 32 * (weight.per_input + 64 * weight.per_path)
    assert expected / SLACK < weighed.most < SLACK * expected


def test_a_sweep_of_many_inputs_stays_within_the_bound():
    family, count, paths = Skewed(), 800, 64
    inputs, draw = drawn(family, EULER, count, paths)
    weight = weight_of(family, EULER, inputs, draw)
    assert count * (weight.per_input + paths * weight.per_path) > 1.9 * BOUND
    with Weighed() as weighed:
        differential_labels(family, EULER, inputs, draw)
    beyond = weighed.most - draw.z.nbytes  # which are there before
    assert 0.4 * BOUND < beyond < SLACK * BOUND


def test_a_single_input_of_many_paths_stays_within_the_bound():
    family = Skewed(dim=400)
    inputs, draw = drawn(family, EULER, 1, 2048, noise=fk.Independent())
    with Weighed() as weighed:
        differential_labels(family, EULER, inputs, draw)
    assert weighed.most - draw.z.nbytes < SLACK * BOUND
    assert weight_of(family, EULER, inputs, draw).per_path * 2048 > 1.5 * BOUND


@pytest.mark.slow
@pytest.mark.parametrize(("family", "scheme"), CASES)
@pytest.mark.parametrize("chunk", [Chunk(3, 16), Chunk(1, 5)])
def test_chunks_change_rounding_only(family, scheme, chunk, monkeypatch):
    inputs, draw = drawn(family, scheme, 8, 16, torch.float64)
    mix = torch.linspace(0.5, 2.0, 8, dtype=torch.float64)[:, None]
    whole = differential_labels(family, scheme, inputs, draw, mix)
    means = mean_labels(family, scheme, inputs, draw)
    monkeypatch.setattr(labels_module, "_chunk", lambda *_: chunk)
    parts = differential_labels(family, scheme, inputs, draw, mix)
    torch.testing.assert_close(parts, whole, rtol=1e-11, atol=1e-11)
    torch.testing.assert_close(mean_labels(family, scheme, inputs, draw), means)
    torch.testing.assert_close(means, whole[0])


def test_what_fits_is_not_cut(monkeypatch):
    """To the bit: the sweep is one, and the normals are those of one draw."""
    family, scheme, cuts = Skewed(), EULER, []
    inputs, draw = drawn(family, scheme, 64, 32)
    sweep = labels_module._sweep
    monkeypatch.setattr(labels_module, "_sweep", lambda *a: cuts.append(len(a[2])) or sweep(*a))
    differential_labels(family, scheme, inputs, draw)
    assert [n for n in cuts if n > 1] == [64]  # others only weigh
    again = torch.Generator().manual_seed(0)
    family.domain.sample(64, again)
    ((rows, same),) = draws(family, scheme, fk.Sobol(), inputs, 32, again)
    assert rows == slice(0, 64)
    assert torch.equal(same.z, draw.z)


@pytest.mark.parametrize(
    "noise", [fk.Independent(), fk.Antithetic(), fk.Sobol(), fk.SphericalRadial()]
)
def test_normals_are_drawn_within_the_bound(noise, generator):
    family = fk.HeatGaussian(dim=60)
    inputs = family.domain.sample(64, generator)
    draw_paths(family, fk.Exact(), noise, inputs, 64, generator)
    with Weighed() as weighed:
        draw = draw_paths(family, fk.Exact(), noise, inputs, 64, generator)
    assert weighed.most <= COPIES * draw.z.nbytes


@pytest.mark.parametrize("noise", [fk.Sobol(), fk.SphericalRadial()])
def test_many_normals_are_drawn_for_some_inputs_after_the_other(noise, generator):
    family = fk.HeatGaussian(dim=400)
    inputs = family.domain.sample(128, generator)
    sizes, seen = [], []
    for rows, draw in draws(family, fk.Exact(), noise, inputs, 512, generator):
        sizes.append(draw.z.nbytes)
        seen.extend(range(128)[rows])
    assert seen == list(range(128))
    assert len(sizes) > 1
    assert max(sizes) <= BOUND / COPIES


def test_labels_from_several_draws_are_unbiased(generator, monkeypatch):
    family = fk.BlackScholes()
    monkeypatch.setattr(labels_module, "rows_drawn", lambda *_: 1000)
    at = family.domain.sample(1, generator)
    u = family.closed_form(*family.domain.split(at)).item()
    data = PathData(family, fk.Exact(), fk.Independent(), 4500, 4)
    for with_slopes in (True, False):
        some = replace(data, with_slopes=with_slopes)
        y = some.labelled(at.expand(4500, -1), torch.ones(4500, 1), generator).values
        assert y.unique().numel() > 1000  # no draw serves twice
        assert abs(y.mean().item() - u) < 4.5 * y.std().item() / 4500**0.5
    y = labels(family, fk.Exact(), at.expand(4500, -1), generator)
    assert y.shape == (4500, 1)
    assert abs(y.mean().item() - u) < 4.5 * y.std().item() / 4500**0.5


def test_a_state_longer_than_its_noise_counts():
    assert path_numbers(Skewed(), fk.EulerMaruyama(steps=2)) == 42

    @dataclass(frozen=True)
    class Long(Skewed):
        @property
        def noise_dim(self):
            return 1

    assert path_numbers(Long(), fk.EulerMaruyama(steps=2)) == 20


@pytest.mark.parametrize(("per_input", "per_path"), [(0, 0), (1, 0), (2000, 1), (0, 2000)])
def test_at_least_one_path_of_one_input_is_treated(per_input, per_path):
    inputs, paths = Weight(per_input, per_path).chunk(paths=7, bound=1000)
    assert inputs >= 1
    assert 1 <= paths <= 7


@pytest.mark.parametrize(("count", "size"), [(0, 3), (1, 3), (3, 3), (7, 3)])
def test_slices_cover_everything_once(count, size):
    assert [i for part in cut(count, size) for i in range(count)[part]] == list(range(count))
