"""Certificates in a plane: unbiased, with honest bars, and only where directions are alike."""

import math
from dataclasses import dataclass

import pytest
import torch
from scipy.stats import chi

import feynkac as fk
from feynkac.analysis.candidates import candidates
from feynkac.analysis.certificates import certify
from feynkac.analysis.planar import Planar, _chi, turns_with_noise
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.stretched import Stretched
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.gaussian import Gaussian


@dataclass(frozen=True)
class Pulled(fk.Family):
    """Ornstein–Uhlenbeck in five dimensions; whether X ends near 0."""

    cube: bool = False
    drifts: bool = False

    @property
    def domain(self):
        x, t = fk.Box(-1, 1, shape=(5,)), fk.Box(0.1, 1)
        return fk.Domain(x=x, t=t, kappa=fk.Box(0.5, 2))

    def drift(self, x, p):
        return -p.kappa * x + (0.1 if self.drifts else 0.0)

    def diffusion(self, x, dw, p):
        return 0.5 * dw

    def initial(self, x, p):
        if self.cube:
            return (-x.abs().amax(-1, keepdim=True)).exp()
        return (-x.square().sum(-1, keepdim=True)).exp()


@pytest.mark.parametrize("degrees", [1, 2, 149])
def test_lengths_have_the_law_of_chi(degrees):
    z = torch.linspace(-8.0, 8.0, 65, dtype=torch.float64)
    tail = torch.special.ndtr(-z.abs()).numpy()
    low, high = chi.ppf(tail, degrees), chi.isf(tail, degrees)
    expected = torch.where(z < 0.0, torch.as_tensor(low), torch.as_tensor(high))
    torch.testing.assert_close(_chi(z, degrees), expected, rtol=1e-9, atol=0.0)


@pytest.mark.parametrize("dim", [3, 150])
def test_replicates_in_a_plane_are_unbiased(dim, generator):
    family = fk.HeatGaussian(dim=dim)
    inputs = family.domain.sample(4, generator, torch.float64)
    truth = family.closed_form(*family.domain.split(inputs)).squeeze(-1)
    found = Planar(family, Exact(), Stretched()).replicates(inputs, 256, 64, generator).value
    error = found.std(0) / math.sqrt(len(found))
    assert bool(((found.mean(0) - truth).abs() < 5.0 * error).all())
    assert bool((error < 1e-5).all())


def test_a_law_found_by_evaluation_is_turned_too(generator):
    """E exp(−|X|²) of a normal vector, in closed form."""
    family = Pulled()
    inputs = family.domain.sample(4, generator, torch.float64)
    (rule,) = candidates(family, Gaussian(), Stretched(), None, 4, 0)[0]
    assert isinstance(rule, Planar)
    found = rule.replicates(inputs, 256, 64, generator).value
    x, t, p = family.domain.split(inputs)
    mean, variance = (-p.kappa * t).exp() * x, -(-2.0 * p.kappa * t).expm1() / (8.0 * p.kappa)
    wide = 1.0 + 2.0 * variance
    truth = (wide**-2.5 * (-mean.square().sum(-1, keepdim=True) / wide).exp()).squeeze(-1)
    error = found.std(0) / math.sqrt(len(found))
    assert bool(((found.mean(0) - truth).abs() < 5.0 * error).all())


@pytest.mark.parametrize("family", [Pulled(cube=True), Pulled(drifts=True), fk.HeatGaussian(dim=2)])
def test_where_directions_differ_or_are_few_all_normals_are_drawn(family):
    scheme = Exact() if isinstance(family, fk.HeatGaussian) else Gaussian()
    assert not turns_with_noise(family, scheme)


def test_intervals_in_150_dimensions_cover(generator):
    """Of 40 at 95 % more than 9 miss with a chance below 1e-4."""
    family, missed = fk.HeatGaussian(), 0
    inputs = family.domain.sample(40, generator, torch.float64)
    truth = family.closed_form(*family.domain.split(inputs))
    effort = fk.Effort(seconds=0.05, aim=1e-6)
    for i, (each, value) in enumerate(zip(inputs.split(1), truth.split(1), strict=True)):
        found = certify(
            lambda _inputs, value=value: value,
            family,
            Exact(),
            Stretched(),
            None,
            each,
            make_generator(i, "certificate"),
            effort=effort,
        )
        missed += int(((value.squeeze(-1) - found.value).abs() > found.half_width).item())
    assert missed <= 9
