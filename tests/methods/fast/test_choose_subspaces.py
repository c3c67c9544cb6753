"""A few directions of a long variable: found where they are enough, and only there."""

from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.clock import Allowance
from feynkac.methods.fast.choose_subspaces import choose_subspaces
from feynkac.methods.fast.choose_symmetries import choose_symmetries
from feynkac.networks.network import Network
from feynkac.networks.smooth import Smooth
from feynkac.sampling.schemes.geometric import Geometric

DIM = 12


@dataclass(frozen=True)
class Assets(fk.Family, fk.Rate):
    """Independent lognormal assets; pays on a weighted sum, on the best, or on all apart."""

    pays: str

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(98.0, 102.0, shape=(DIM,)),
            t=fk.Box(0.1, 1.0),
            strike=fk.Box(80.0, 120.0),
            rate=fk.Box(0.0, 0.1),
        )

    def drift(self, x, p):
        return p.rate * x

    def diffusion(self, x, dw, p):
        return 0.2 * x * dw

    def initial(self, x, p):
        weights = torch.linspace(0.5, 1.5, DIM, dtype=x.dtype)
        if self.pays == "sum":
            return ((weights * x).mean(-1, keepdim=True) - p.strike).clamp_min(0.0)
        if self.pays == "best":
            return (x.amax(-1, keepdim=True) - p.strike).clamp_min(0.0)
        return (weights * (x - 100.0).square()).sum(-1, keepdim=True)


def chosen(pays):
    family = Assets(pays)
    return choose_subspaces(family, Geometric(), Allowance(), choose_symmetries(family))


@pytest.mark.slow
def test_a_basket_is_seen_through_its_sum():
    seen = chosen("sum")
    (space,) = seen.subspaces
    assert seen.ordered == ()
    assert len(space.directions) <= 2
    weights = torch.linspace(0.5, 1.5, DIM)
    main = torch.tensor(space.directions[0])
    assert torch.cosine_similarity(main, weights, dim=0).abs() > 0.999


@pytest.mark.slow
def test_the_best_of_many_is_seen_in_order():
    seen = chosen("best")
    assert seen.ordered == ("x",)
    assert seen.size(Assets("best").domain) <= 8


def test_what_varies_in_all_directions_is_seen_as_it_is():
    assert chosen("each").subspaces == ()


@dataclass(frozen=True)
class Rounded(Assets):
    """A jump that no comparison tells."""

    def initial(self, x, p):
        return (x.mean(-1, keepdim=True) / 10.0).floor()


def test_where_slopes_miss_a_jump_all_entries_are_seen():
    chosen = fk.solve(Rounded("sum"), steps=1).manifest.run.method
    assert not chosen.slopes
    assert chosen.architecture.subspaces == ()


@pytest.mark.slow
def test_settings_with_subspaces_survive_writing():
    seen = chosen("sum")
    solution = fk.solve(Assets("sum"), steps=2, seed=1)
    network = solution.manifest.run.method.architecture
    assert network.subspaces == seen.subspaces
    other = Network(Smooth(**vars(network)), Assets("sum").domain)
    assert torch.equal(other.combine, solution.network.combine)
