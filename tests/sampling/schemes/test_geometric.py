"""Exact steps of geometric Brownian motions, found by evaluating the coefficients."""

from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.sampling.labels import payoffs
from feynkac.sampling.schemes import geometric
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


@dataclass(frozen=True)
class Assets(fk.Family, fk.NoiseDimension):
    """Each with a noise of its own, `common` ones and, if not alone, all those of the others."""

    dim: int = 6
    common: int = 1
    alone: bool = True

    @property
    def noise_dim(self):
        return self.common + self.dim

    @property
    def domain(self):
        box = fk.Box(0.1, 0.4, shape=(self.dim,))
        return fk.Domain(x=fk.Box(0.5, 2.0, shape=(self.dim,)), t=fk.Box(0.1, 1.0), sigma=box)

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        common, own = dw[..., : self.common], dw[..., self.common :]
        rest = 0.0 if self.alone else own.flip(-1).cumsum(-1)
        weights = torch.arange(1.0, 1.0 + self.common, dtype=x.dtype)
        return p.sigma * x * ((weights * common).sum(-1, keepdim=True) + own + rest)

    def initial(self, x, p):
        return x.sum(-1, keepdim=True)


@pytest.mark.parametrize(
    ("family", "groups"),
    [(Assets(), 2), (Assets(common=3), 4), (Assets(common=0), 1), (Assets(alone=False), 7)],
)
@pytest.mark.parametrize("entries", [2**22, 1])
def test_columns_go_together_where_they_share_no_entry(family, groups, entries, monkeypatch):
    monkeypatch.setattr(geometric, "ENTRIES_AT_ONCE", entries)
    assert len(geometric.column_groups(family)) == groups
    generator = torch.Generator().manual_seed(0)
    x, _, p = family.domain.split(family.domain.sample(5, generator, torch.float64))
    units = torch.eye(family.noise_dim, dtype=torch.float64)
    known = sum((family.diffusion(x, unit.expand(5, -1), p) / x).square() for unit in units)
    torch.testing.assert_close(geometric.relative_variance(family, x, p), known)


def test_columns_of_a_family_that_is_no_key_stay_single():
    family = Assets(dim=2, alone=[True])
    assert len(geometric.column_groups(family)) == 3
