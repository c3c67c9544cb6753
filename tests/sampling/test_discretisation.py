"""The estimated discretisation error is the true one where that is known."""

from dataclasses import dataclass

import pytest
import torch

from feynkac.families import BasketPut, BlackScholes, Box, Domain, Family, Heston
from feynkac.sampling.discretisation import coarsened, estimate_bias, own_unit, refined
from feynkac.sampling.labels import draw_paths, payoffs
from feynkac.sampling.noise.noise import Antithetic, Independent, of_fewer_steps
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.noise.trapezoid import Trapezoid
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.family_steps import FamilySteps
from feynkac.sampling.schemes.log_ode import LogOde
from feynkac.sampling.schemes.milstein import Milstein
from feynkac.sampling.schemes.ninomiya_victoir import NinomiyaVictoir

SCHEMES = [EulerMaruyama(3), Milstein(3), NinomiyaVictoir(3), LogOde(3)]
each_scheme = pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.kind)


@dataclass(frozen=True)
class Growth(Family):
    """dS = κ S dt + σ S dB, φ(x) = x:  n Euler steps have the mean x (1 + κt/n)ⁿ."""

    @property
    def domain(self):
        return Domain(x=Box(1.0, 2.0), t=Box(0.0, 1.0), kappa=Box(0.3, 0.6), sigma=Box(0.1, 0.4))

    def drift(self, x, p):
        return p.kappa * x

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def initial(self, x, p):
        return x


@pytest.mark.parametrize("noise", [Independent(), Antithetic(), Sobol()], ids=lambda n: n.kind)
def test_eulers_bias_is_found(noise, generator):
    family, steps = Growth(), 8
    inputs = family.domain.sample(20, generator, torch.float64)
    x, t, p = family.domain.split(inputs)
    bias = estimate_bias(family, EulerMaruyama(steps), noise, inputs, 256, generator, replicates=64)

    coarse, fine = (x * (1.0 + p.kappa * t / n) ** n for n in (steps, 2 * steps))
    truth = coarse - x * (p.kappa * t).exp()
    assert ((bias.value - 2.0 * (coarse - fine)).abs() < 4.5 * bias.error).all()
    assert bias.value.mean().item() == pytest.approx(truth.mean().item(), rel=0.1)


def test_an_exact_scheme_has_no_bias(generator):
    family = BlackScholes()
    inputs, before = family.domain.sample(5, generator), generator.get_state()
    bias = estimate_bias(family, Exact(), Sobol(), inputs, 8, generator)
    assert torch.equal(torch.cat(bias), torch.zeros(10, 1).double())
    assert torch.equal(generator.get_state(), before)


def test_25_euler_steps_are_far_off_on_the_basket_and_2_of_the_log_ode_are_not(generator):
    """Means over the inputs: 0.12 ± 0.01 and −0.0001 ± 0.0003 were measured."""
    family = BasketPut()
    inputs = family.domain.sample(32, generator, torch.float64)
    euler, log_ode = (
        estimate_bias(family, scheme, Sobol(), inputs, 256, generator).value.mean().abs()
        for scheme in (EulerMaruyama(25), LogOde(2))
    )
    assert euler > 0.05
    assert log_ode < 0.003


@each_scheme
def test_refining_doubles_the_steps_and_coarsening_undoes_it(scheme, generator):
    fine = refined(scheme)
    assert fine == type(scheme)(6)
    z = torch.randn(fine.draws, 2, 5, 3, generator=generator, dtype=torch.float64)
    coarse = coarsened(z, fine.increments)
    assert len(coarse) == scheme.draws
    pairs = (z[0:6:2] + z[1:6:2]) / 2**0.5
    torch.testing.assert_close(coarse[:3], pairs)
    assert torch.equal(coarse[3:], z[6::2])


@each_scheme
def test_coarse_normals_have_the_law_of_normals(scheme, generator):
    count = 20_000
    z = torch.randn(refined(scheme).draws, count, generator=generator, dtype=torch.float64)
    coarse = coarsened(z, refined(scheme).increments)
    assert (torch.cov(coarse) - torch.eye(len(coarse))).abs().max() < 4.5 * (2 / count) ** 0.5


@each_scheme
def test_coarse_and_fine_paths_stay_together(scheme, generator):
    """What makes the difference cheap to resolve: it varies less than the payoffs do."""
    family = BlackScholes() if scheme.order == 1 else BasketPut()
    fine = refined(scheme)
    inputs = family.domain.sample(16, generator, torch.float64)
    z = draw_paths(family, fine, Independent(), inputs, 500, generator).z
    coarse = coarsened(z, fine.increments)
    one, other = payoffs(family, scheme, inputs, coarse), payoffs(family, fine, inputs, z)
    assert (one - other).var(-2).mean() < 0.2 * one.var(-2).mean()


def test_coarsening_by_four_is_halving_twice(generator):
    z = torch.randn(8, 5, 2, generator=generator)
    torch.testing.assert_close(of_fewer_steps(z, 2), coarsened(coarsened(z, 8), 4))
    assert torch.equal(of_fewer_steps(z, 8), z)


def test_where_one_normal_is_left_more_steps_have_more(generator):
    family = Heston()
    inputs = family.domain.sample(4, generator)
    found = estimate_bias(family, FamilySteps(1), Trapezoid(), inputs, 64, generator)
    assert found.value.isfinite().all()


def test_each_component_of_u_has_its_own_unit():
    values = torch.tensor([[1e4, 1e-4], [3e4, 3e-4]])
    torch.testing.assert_close(own_unit(values), torch.tensor([1.0, 2e-3 / 2**0.5]))
