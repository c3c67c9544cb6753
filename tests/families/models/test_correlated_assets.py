"""Correlated assets: law of the exact sampler, coefficients, discount, edges."""

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal, norm

from feynkac.checks.checkup import require_sound
from feynkac.families import Box
from feynkac.families.models.geometric_basket import GeometricBasket
from feynkac.families.models.multi_asset import MultiAsset
from feynkac.families.payoff import INDICES, Payoff

FAMILIES = [MultiAsset(), GeometricBasket(dim=3), MultiAsset(2, Payoff("put", on="spread"))]
every_family = pytest.mark.parametrize("family", FAMILIES, ids=repr)


def correlation(rho, dim):
    return (1.0 - rho) * np.eye(dim) + rho


@every_family
def test_it_is_well_formed(family):
    require_sound(family)
    assert family.noise_dim == family.dim + 1


def test_the_strike_of_a_spread_is_a_difference():
    assert MultiAsset(2, Payoff("call", on="spread")).domain.measures["strike"] == Box(0, 20)
    for on in INDICES.keys() - {"spread"}:
        assert MultiAsset(2, Payoff("call", on=on)).domain.measures["strike"] == Box(90, 110)


@every_family
def test_the_diffusion_has_the_covariance_of_correlated_assets(family, generator):
    x, _, p = family.domain.split(family.domain.sample(1, generator, torch.float64)[0])
    columns = [family.diffusion(x, e, p) for e in torch.eye(family.noise_dim, dtype=torch.float64)]
    found = sum(c[:, None] * c[None, :] for c in columns)
    scale = (p.sigma * x).numpy()
    expected = scale[:, None] * correlation(p.rho.item(), family.dim) * scale[None, :]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_exact_samples_are_lognormal_each(generator):
    """Quantiles of each asset, its own noise and the common one in the same proportion."""
    family = MultiAsset(dim=3)
    x, t, p = family.domain.split(family.domain.sample(1, generator, torch.float64)[0])
    levels = np.linspace(0.01, 0.99, 15)
    share = torch.cat([p.rho, (1.0 - p.rho).expand(3)]).sqrt()
    for asset in range(3):
        direction = torch.zeros(4, dtype=torch.float64)
        direction[[0, asset + 1]] = share[[0, asset + 1]]
        z = torch.tensor(norm.ppf(levels))[:, None] * direction
        s, v, r = x[asset].item(), (p.sigma[asset] * t.sqrt()).item(), p.rate.item()
        expected = s * np.exp(r * t.item() - v**2 / 2 + v * norm.ppf(levels))
        np.testing.assert_allclose(family.exact(x, t, p, z)[:, asset], expected, rtol=1e-12)


def test_two_assets_end_low_together_as_often_as_they_should(generator):
    """P(S₁ < a, S₂ < b) against SciPy's bivariate normal distribution."""
    family = MultiAsset(dim=2)
    paths = 2**17
    for inputs in family.domain.sample(4, generator, torch.float64):
        x, t, p = family.domain.split(inputs)
        z = torch.randn(paths, 3, generator=generator, dtype=torch.float64)
        low = (family.exact(x, t, p, z) < 95.0).all(-1).double()
        v = p.sigma * t.sqrt()
        limits = ((95.0 / x).log() - (p.rate - p.sigma**2 / 2) * t) / v
        expected = multivariate_normal(cov=correlation(p.rho.item(), 2)).cdf(limits.numpy())
        assert abs(low.mean().item() - expected) < 4.0 * low.std().item() / paths**0.5


@every_family
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_derivatives_are_finite_at_time_zero(family, dtype, generator):
    inputs = family.domain.sample(6, generator, dtype)
    inputs[:, family.domain.slices()["t"]] = 0.0
    inputs.requires_grad_()
    x, t, p = family.domain.split(inputs)
    z = torch.randn(6, family.noise_dim, generator=generator, dtype=dtype)
    end = family.exact(x, t, p, z)
    assert torch.equal(end, x)
    (slopes,) = torch.autograd.grad(family.initial(end, p).sum(), inputs)
    assert slopes.isfinite().all()


@every_family
def test_the_discount_is_the_rate(family, generator):
    x, _, p = family.domain.split(family.domain.sample(5, generator).unsqueeze(-2))
    many = x.expand(5, 4, family.dim)
    assert torch.equal(family.discount(many, p), p.rate.expand(5, 4, 1))


def test_a_price_below_zero_does_not_break_the_geometric_mean():
    """As a step of Euler may bring about."""
    family = GeometricBasket(dim=2)
    x = torch.tensor([[-5.0, 200.0], [400.0, 100.0]], requires_grad=True)
    _, _, p = family.domain.split(family.domain.mean.float())
    value = family.initial(x, p)
    (slopes,) = torch.autograd.grad(value.sum(), x)
    torch.testing.assert_close(value, torch.tensor([[0.0], [100.0]]))
    assert slopes.isfinite().all()
