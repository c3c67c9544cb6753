"""Reference values agree with closed forms within their standard errors, in bounded memory."""

import subprocess
import sys
from dataclasses import dataclass, field

import pytest
import torch

from feynkac.errors import InputError
from feynkac.families import BasketPut, BlackScholes, Family, HeatGaussian, HeatParaboloid
from feynkac.sampling import reference
from feynkac.sampling.labels import payoffs
from feynkac.sampling.noise.noise import Antithetic, Independent
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.noise.spherical import SphericalRadial
from feynkac.sampling.reference import closed_form_values, monte_carlo, replicated
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.scheme import Scheme

FAMILIES = [BlackScholes(), HeatParaboloid(), HeatGaussian()]
NOISES = [Independent(), Antithetic(), Sobol(), SphericalRadial()]
each_noise = pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.kind)


@dataclass(frozen=True)
class Watched(Scheme):
    """Another scheme, keeping the normals that pass through it."""

    inner: Scheme
    seen: list[torch.Tensor] = field(default_factory=list)

    @property
    def draws(self):
        return self.inner.draws

    def terminal(self, family, x, t, p, z):
        self.seen.append(z)
        return self.inner.terminal(family, x, t, p, z)

    def check(self, family):
        self.inner.check(family)


@pytest.mark.parametrize("family", FAMILIES)
def test_monte_carlo_agrees_with_the_closed_form_at_100_random_points(family, generator):
    inputs = family.domain.sample(100, generator, torch.float64)
    estimate = monte_carlo(family, Exact(), inputs, 2048, generator)
    exact = closed_form_values(family, inputs)
    deviation = ((estimate.value - exact.value) / estimate.error).abs()
    assert deviation.max() < 4.5
    assert (deviation < 2).sum() >= 88


def test_the_standard_error_is_that_of_repeated_estimates(generator):
    family, repeats = BlackScholes(), 2000
    at = family.domain.sample(1, generator, torch.float64).expand(repeats, -1)
    estimate = monte_carlo(family, Exact(), at, 64, generator)
    assert estimate.value.std().item() == pytest.approx(
        estimate.error.mean().item(), rel=4.5 / (2 * repeats) ** 0.5
    )


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000, 2**22])
def test_chunks_merge_to_the_moments_of_all_paths(chunk, monkeypatch, generator):
    monkeypatch.setattr(reference, "NORMALS_AT_ONCE", chunk)
    family, paths = HeatParaboloid(2), 101
    inputs = family.domain.sample(3, generator, torch.float64)
    scheme = Watched(EulerMaruyama(2))
    mean, squares = reference._moments(family, scheme, inputs, paths, generator)

    y = payoffs(family, EulerMaruyama(2), inputs, torch.cat(scheme.seen, dim=2))
    assert y.shape == (3, paths, 1)
    torch.testing.assert_close(mean, y.mean(-2), rtol=1e-12, atol=0)
    torch.testing.assert_close(squares, y.var(-2) * (paths - 1), rtol=1e-12, atol=0)


def test_merging_is_stable_when_the_mean_dwarfs_the_spread(monkeypatch, generator):
    """Σy² − (Σy)²/m would lose every digit here."""
    monkeypatch.setattr(reference, "NORMALS_AT_ONCE", 10)
    family = BlackScholes()
    at = {"x": 9.5, "t": 1e-14, "sigma": 0.1, "strike": 11.0}
    inputs = family.domain.join(at)[None]
    estimate = monte_carlo(family, Exact(), inputs, 1000, generator)
    assert estimate.error.item() == pytest.approx(9.5 * 0.1 * 1e-7 / 1000**0.5, rel=0.1)


@pytest.mark.parametrize(("points", "paths"), [(5, 10), (5, 500), (1, 5000)])
@pytest.mark.parametrize("chunk", [100, 1000])
def test_the_normals_alive_never_exceed_a_chunk(points, paths, chunk, monkeypatch, generator):
    monkeypatch.setattr(reference, "NORMALS_AT_ONCE", chunk)
    family, scheme = BasketPut(), Watched(EulerMaruyama(5))
    inputs = family.domain.sample(points, generator)
    monte_carlo(family, scheme, inputs, paths, generator)
    sizes = [z.numel() for z in scheme.seen]
    assert max(sizes) <= chunk
    assert sum(sizes) == points * paths * 5 * 3


@pytest.mark.parametrize("family", [BlackScholes(), BasketPut()])
def test_the_result_does_not_depend_on_the_chunk_size(family, monkeypatch, generator):
    scheme = EulerMaruyama(4)
    inputs = family.domain.sample(50, generator, torch.float64)
    whole = monte_carlo(family, scheme, inputs, 1000, generator)
    monkeypatch.setattr(reference, "NORMALS_AT_ONCE", 999)
    chunked = monte_carlo(family, scheme, inputs, 1000, generator)
    noise = (whole.error.square() + chunked.error.square()).sqrt()
    assert ((whole.value - chunked.value).abs() < 4.5 * noise).all()
    torch.testing.assert_close(whole.error, chunked.error, rtol=0.3, atol=0)


@pytest.mark.slow
def test_a_million_basket_paths_fit_in_a_gigabyte():
    program = """
import resource, torch
from feynkac.families import BasketPut
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.reference import monte_carlo
torch.set_num_threads(1)
generator = torch.Generator().manual_seed(0)
inputs = BasketPut().domain.sample(1, generator)
monte_carlo(BasketPut(), EulerMaruyama(25), inputs, 2**20, generator)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    kilobytes = int(subprocess.check_output([sys.executable, "-c", program], text=True))
    assert kilobytes < 2**20


def test_the_estimate_is_reproducible_from_the_seed():
    inputs = BlackScholes().domain.sample(5, torch.Generator().manual_seed(0))
    first, second = (
        monte_carlo(BlackScholes(), Exact(), inputs, 100, torch.Generator().manual_seed(1))
        for _ in range(2)
    )
    assert torch.equal(first.value, second.value)
    assert torch.equal(first.error, second.error)


def test_progress_rises_to_one(monkeypatch, generator):
    monkeypatch.setattr(reference, "NORMALS_AT_ONCE", 300)
    fractions = []
    inputs = BlackScholes().domain.sample(10, generator)
    monte_carlo(BlackScholes(), Exact(), inputs, 100, generator, fractions.append)
    assert fractions == [0.3, 0.6, 0.9, 1.0]


def test_an_unfit_scheme_is_refused_before_anything_is_drawn(generator):
    inputs = BasketPut().domain.sample(1, generator)
    before = generator.get_state()
    with pytest.raises(InputError, match="BasketPut has no exact sampler"):
        monte_carlo(BasketPut(), Exact(), inputs, 10, generator)
    assert torch.equal(generator.get_state(), before)


@pytest.mark.parametrize("family", FAMILIES)
def test_closed_forms_are_evaluated_in_float64_without_error(family, generator):
    inputs = family.domain.sample(10, generator)
    estimate = closed_form_values(family, inputs)
    exact = family.closed_form(*family.domain.split(inputs.double()))
    assert estimate.value.dtype == torch.float64
    assert torch.equal(estimate.value, exact)
    assert not estimate.error.any()


def test_a_family_without_closed_form_has_no_such_values(generator):
    assert closed_form_values(BasketPut(), BasketPut().domain.sample(1, generator)) is None


# Replicates


@pytest.mark.parametrize(
    ("family", "noise"),
    [  # at a kink cubature is unbiased too, but its few replicates are far from normal
        *((BlackScholes(), noise) for noise in NOISES[:3]),
        *((HeatGaussian(4), noise) for noise in NOISES),
    ],
    ids=lambda value: value.name() if isinstance(value, Family) else value.kind,
)
def test_replicates_agree_with_the_closed_form(family, noise, generator):
    inputs = family.domain.sample(100, generator, torch.float64)
    estimate = replicated(family, Exact(), noise, inputs, 64, generator, replicates=64)
    exact = closed_form_values(family, inputs).value
    deviation = ((estimate.value - exact) / estimate.error).abs()
    assert deviation.max() < 4.5
    assert (deviation < 2).sum() >= 88


@each_noise
def test_the_error_of_replicates_is_that_of_repeated_estimates(noise, generator):
    family, repeats = BlackScholes(), 2000
    at = family.domain.sample(1, generator, torch.float64).expand(repeats, -1)
    estimate = replicated(family, Exact(), noise, at, 8, generator, replicates=16)
    spread = estimate.value.std().item()
    rms = estimate.error.square().mean().sqrt().item()
    assert spread == pytest.approx(rms, rel=0.1)


def test_blocks_of_inputs_are_replicated_alike(monkeypatch, generator):
    monkeypatch.setattr(reference, "NORMALS_AT_ONCE", 300)
    family, fractions = BlackScholes(), []
    inputs = family.domain.sample(10, generator)
    shape = (family, Exact(), Sobol(), inputs, 100, generator)
    estimate = replicated(*shape, replicates=4, report=fractions.append)
    assert fractions == [0.3, 0.6, 0.9, 1.0]
    assert estimate.value.shape == estimate.error.shape == (10, 1)
    assert estimate.value.dtype == torch.float64


def test_one_replicate_has_no_error(generator):
    inputs = BlackScholes().domain.sample(1, generator)
    with pytest.raises(InputError, match="at least 2 replicates, got 1"):
        replicated(BlackScholes(), Exact(), Sobol(), inputs, 8, generator, replicates=1)


def test_an_unfit_scheme_is_refused_before_replicates_are_drawn(generator):
    inputs, before = BasketPut().domain.sample(1, torch.Generator()), generator.get_state()
    with pytest.raises(InputError, match="BasketPut has no exact sampler"):
        replicated(BasketPut(), Exact(), Sobol(), inputs, 8, generator)
    assert torch.equal(generator.get_state(), before)
