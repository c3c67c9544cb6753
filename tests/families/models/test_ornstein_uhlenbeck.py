"""Mean reversion: moments against quadrature and QuantLib, the call on the mean, its PDE."""

import math

import numpy as np
import pytest
import QuantLib as ql  # noqa: N813
import torch
from oracles import interior, residuals
from scipy.integrate import quad
from scipy.stats import norm

from feynkac.families import Box, Domain
from feynkac.families.models.ornstein_uhlenbeck import OrnsteinUhlenbeck
from feynkac.families.point import Params

FAMILY = OrnsteinUhlenbeck()
every_dim = pytest.mark.parametrize("dim", [1, 2, 5])


def test_the_domain_is_around_zero():
    assert FAMILY.domain == Domain(
        x=Box(-1, 1, shape=(5,)),
        t=Box(0, 1),
        kappa=Box(0.5, 2),
        theta=Box(-0.5, 0.5),
        sigma=Box(0.2, 1),
        strike=Box(-0.5, 0.5),
    )


def moments(x, t, kappa, theta, sigma):
    """Mean and variance of one coordinate, from the integrals that solve its SDE."""
    pulled = quad(lambda s: kappa * theta * math.exp(-kappa * (t - s)), 0.0, t)[0]
    variance = quad(lambda s: sigma**2 * math.exp(-2.0 * kappa * (t - s)), 0.0, t)[0]
    return x * math.exp(-kappa * t) + pulled, variance


def scalars(p):
    return (p.kappa.item(), p.theta.item(), p.sigma.item())


def test_exact_samples_have_the_moments_of_the_sde(generator):
    """Gauss–Hermite over the normal, against quadrature over time and QuantLib's process."""
    nodes, weights = map(torch.tensor, np.polynomial.hermite_e.hermegauss(10))
    family = OrnsteinUhlenbeck(dim=1)
    for row in interior(family, 20, generator):
        x, t, p = family.domain.split(row)
        kappa, theta, sigma = scalars(p)
        ends = family.exact(x, t, p, nodes[:, None]).squeeze(-1)
        mean = (weights @ ends / weights.sum()).item()
        variance = (weights @ (ends - mean).square() / weights.sum()).item()
        expected = moments(x.item(), t.item(), kappa, theta, sigma)
        assert (mean, variance) == pytest.approx(expected, rel=1e-11, abs=1e-13)
        process = ql.OrnsteinUhlenbeckProcess(kappa, sigma, x.item(), theta)
        theirs = process.expectation(0.0, x.item(), t.item()), process.variance(0.0, 0.0, t.item())
        assert (mean, variance) == pytest.approx(theirs, rel=1e-12, abs=1e-14)


@every_dim
def test_the_value_is_the_mean_of_the_payoff(dim, generator):
    """The mean of independent normal coordinates is normal."""
    family = OrnsteinUhlenbeck(dim=dim)
    for row in interior(family, 10, generator):
        x, t, p = family.domain.split(row)
        means, variances = zip(
            *(moments(value, t.item(), *scalars(p)) for value in x.tolist()), strict=True
        )
        deviation = math.sqrt(sum(variances)) / dim
        expected = expected_call(np.mean(means), deviation, p.strike.item())
        found = family.closed_form(x, t, p).item()
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


def expected_call(mean, deviation, strike):
    """∫ max(m − K, 0) dN(m) by adaptive quadrature."""
    top = max(mean, strike) + 12.0 * deviation
    density = norm(mean, deviation).pdf
    return quad(lambda m: (m - strike) * density(m), strike, top, epsabs=1e-14)[0]


@every_dim
def test_the_closed_form_solves_the_pde(dim, generator):
    family = OrnsteinUhlenbeck(dim=dim)
    assert residuals(family, interior(family, 200, generator)).abs().max() <= 1e-12


@pytest.mark.parametrize("coefficient", ["drift", "diffusion"])
def test_the_residual_notices_a_wrong_coefficient(coefficient, generator, monkeypatch):
    right = getattr(OrnsteinUhlenbeck, coefficient)
    monkeypatch.setattr(OrnsteinUhlenbeck, coefficient, lambda self, *a: 1.01 * right(self, *a))
    assert residuals(FAMILY, interior(FAMILY, 50, generator)).abs().max() > 1e-4


def test_coordinates_are_independent_and_alike(generator):
    """The exact sampler moves a coordinate by its own normal only."""
    x, t, p = FAMILY.domain.split(interior(FAMILY, 4, generator))
    z = torch.randn(x.shape, generator=generator, dtype=torch.float64)
    single = [FAMILY.exact(x[:, i : i + 1], t, p, z[:, i : i + 1]) for i in range(5)]
    torch.testing.assert_close(FAMILY.exact(x, t, p, z), torch.cat(single, dim=-1))


def test_after_a_long_time_the_start_is_forgotten():
    """The stationary law is N(θ, σ²/2κ)."""
    p = {"kappa": 2.0, "theta": 0.3, "sigma": 0.8, "strike": 0.3}
    p = Params(**{name: torch.tensor([v], dtype=torch.float64) for name, v in p.items()})
    t = torch.tensor([40.0], dtype=torch.float64)
    z = torch.tensor([-1.0, 0.0, 1.0, 2.0, 0.5], dtype=torch.float64)
    end = FAMILY.exact(torch.linspace(-1.0, 1.0, 5).double(), t, p, z)
    torch.testing.assert_close(end, 0.3 + 0.4 * z, rtol=0, atol=1e-14)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_at_time_zero_nothing_has_happened(dtype, generator):
    inputs = FAMILY.domain.sample(20, generator, dtype)
    where = FAMILY.domain.slices()
    inputs[:, where["t"]] = 0.0
    inputs[10:, where["strike"]] = inputs[10:, where["x"]].mean(-1, keepdim=True)
    inputs.requires_grad_()
    x, t, p = FAMILY.domain.split(inputs)
    found, end = FAMILY.closed_form(x, t, p), FAMILY.exact(x, t, p, torch.ones_like(x))
    assert torch.equal(found, FAMILY.initial(x, p))
    assert torch.equal(end, x)
    for result in (found, end):
        (slope,) = torch.autograd.grad(result.sum(), inputs, create_graph=True)
        (second,) = torch.autograd.grad(slope.sum() + 0.0 * inputs.sum(), inputs)
        assert slope.isfinite().all()
        assert second.isfinite().all()


def test_formulas_broadcast_over_many_paths_of_an_input(generator):
    x, t, p = FAMILY.domain.split(FAMILY.domain.sample(6, generator).unsqueeze(-2))
    z = torch.randn(6, 4, 5, generator=generator)
    end = FAMILY.exact(x, t, p, z)
    assert FAMILY.drift(end, p).shape == FAMILY.diffusion(end, z, p).shape == (6, 4, 5)
    assert FAMILY.closed_form(end, t, p).shape == FAMILY.initial(end, p).shape == (6, 4, 1)
    assert FAMILY.closed_form(end, t, p).dtype == torch.float32
