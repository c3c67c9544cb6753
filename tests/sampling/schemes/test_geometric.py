"""Exact steps of geometric Brownian motions, found by evaluating the coefficients."""

from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.sampling.labels import payoffs
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.geometric import Geometric, is_geometric


@dataclass(frozen=True)
class Pair(fk.Family, fk.NoiseDimension):
    """Two assets, three Brownian motions, as a user writes them."""

    power: float = 1.0
    noise_dim = 3

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(0.5, 2.0, shape=(2,)), t=fk.Box(0.1, 1.0), rate=fk.Box(0.0, 0.1))

    def drift(self, x, p):
        return p.rate * x

    def diffusion(self, x, dw, p):
        return x**self.power * (0.2 * dw[..., :1] + 0.3 * dw[..., 1:])

    def initial(self, x, p):
        return x[..., :1] * x[..., 1:]


def test_black_scholes_is_sampled_as_by_its_own_formula():
    family = fk.BlackScholes()
    generator = torch.Generator().manual_seed(0)
    inputs = family.domain.sample(8, generator, torch.float64)
    z = torch.randn(1, 8, 16, 1, generator=generator, dtype=torch.float64)
    ours, own = (payoffs(family, scheme, inputs, z) for scheme in (Geometric(), Exact()))
    assert torch.allclose(ours, own, rtol=1e-12, atol=1e-12)


def test_the_product_of_two_assets_has_its_known_mean():
    family = Pair()
    generator = torch.Generator().manual_seed(0)
    inputs = family.domain.sample(4, generator, torch.float64)
    z = torch.randn(2, 4, 2**16, 3, generator=generator, dtype=torch.float64)
    found = payoffs(family, Geometric(steps=2), inputs, z)
    x, t, p = family.domain.split(inputs)
    known = x[:, :1] * x[:, 1:] * ((2 * p.rate + 0.2**2) * t).exp()  # covariance of the factor
    error = found.std(1) / found.shape[1] ** 0.5
    assert ((found.mean(1) - known).abs() < 5 * error).all()


def test_others_are_refused_with_a_sentence():
    assert is_geometric(Pair())
    assert not is_geometric(Pair(power=0.9))
    with pytest.raises(fk.InputError, match="proportional to x > 0"):
        Geometric().check(Pair(power=0.9))
