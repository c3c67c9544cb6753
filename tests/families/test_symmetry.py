"""Coordinates that may change places are found by evaluating formulas."""

from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.families.symmetry import exchangeable_variables, is_radial
from feynkac.sampling.weighed import Weighed


@dataclass(frozen=True)
class Basket(fk.Family, fk.Rate, fk.NoiseDimension):
    """One factor for all assets; `broken` says which formula treats one of them apart."""

    broken: str = ""
    noise_dim = 6

    @property
    def domain(self):
        box = fk.Box(80.0, 120.0, shape=(5,))
        if self.broken == "law":
            box = fk.Box([80.0, 80.0, 80.0, 80.0, 90.0], 120.0, shape=(5,))
        return fk.Domain(
            x=box, t=fk.Box(0.1, 1.0), sigma=fk.Box(0.1, 0.4, shape=(5,)), rate=fk.Box(0.0, 0.1)
        )

    def _uneven(self, formula, x):
        return torch.linspace(1.0, 1.2, 5, dtype=x.dtype) if self.broken == formula else 1.0

    def drift(self, x, p):
        return self._uneven("drift", x) * p.rate * x

    def diffusion(self, x, dw, p):
        return self._uneven("diffusion", x) * p.sigma * x * (0.6 * dw[..., :1] + 0.8 * dw[..., 1:])

    def initial(self, x, p):
        return (self._uneven("initial", x) * x).mean(-1, keepdim=True)


def test_assets_with_their_volatilities_change_places():
    assert exchangeable_variables(Basket()) == ("x", "sigma")


@pytest.mark.parametrize("broken", ["law", "drift", "diffusion", "initial"])
def test_one_asset_that_is_apart_is_noticed(broken):
    assert exchangeable_variables(Basket(broken)) == ()


@dataclass(frozen=True)
class Ramp(Basket, fk.Source):
    """A source that knows the first coordinate."""

    def source(self, x, p):
        return x[..., :1]


def test_a_source_counts():
    assert exchangeable_variables(Ramp()) == ()


@dataclass(frozen=True)
class Weighted(Basket):
    """The volatilities belong to the places, not to the assets."""

    def diffusion(self, x, dw, p):
        mean = p.sigma @ torch.linspace(0.1, 0.3, 5, dtype=x.dtype)
        return mean.unsqueeze(-1) * x * dw[..., :5]


def test_a_parameter_may_stay_where_it_is():
    assert exchangeable_variables(Weighted()) == ("x",)


@dataclass(frozen=True)
class Many(fk.Family):
    """Independent noise in many dimensions."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(-1.0, 1.0, shape=(500,)), t=fk.Box(0.0, 1.0))

    def drift(self, x, p):
        return -x

    def diffusion(self, x, dw, p):
        return 0.3 * dw

    def initial(self, x, p):
        return x.square().sum(-1, keepdim=True).sqrt()


def test_many_dimensions_take_little_memory():
    with Weighed() as weighed:
        assert is_radial(Many())
    assert weighed.most < 2**25  # all of σσ* at once took half a gigabyte


@pytest.mark.parametrize("start", ["steep", "power", "parameter"])
def test_what_is_small_beside_other_rows_is_seen(start):
    """A direction that matters in the box, beside values that are huge farther out."""

    @dataclass(frozen=True)
    class Nearly(fk.Family):
        @property
        def domain(self):
            size = 10.0 if start == "power" else 1.0
            x, scale = fk.Box(-size, size, shape=(3,)), fk.LogUniform(1e-3, 1e9)
            return fk.Domain(x=x, t=fk.Box(0.1, 0.5), scale=scale)

        def drift(self, x, p):
            return -x * x.square().sum(-1, keepdim=True)

        def diffusion(self, x, dw, p):
            return 0.2 * dw

        def initial(self, x, p):
            square, first = x.square().sum(-1, keepdim=True), x[..., :1]
            if start == "steep":
                return (square / 2.0).exp() + first
            return (
                square**3 + first.square() if start == "power" else p.scale * square + 0.1 * first
            )

    assert not is_radial(Nearly())
