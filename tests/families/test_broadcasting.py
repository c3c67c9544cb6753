"""Formulas return what broadcasts to their shapes, for everyone who calls them."""

from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.families.broadcasting import fill
from feynkac.sampling.labels import payoffs


@dataclass(frozen=True)
class Written(fk.Family, fk.Discount, fk.Source):
    """With all shapes spelled out."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(-1.0, 1.0, shape=(3,)), t=fk.Box(0.1, 1.0), rate=fk.Box(0.0, 0.1))

    def drift(self, x, p):
        return p.rate.expand_as(x)

    def diffusion(self, x, dw, p):
        return 0.3 * dw

    def discount(self, x, p):
        return p.rate.expand_as(x[..., :1])

    def source(self, x, p):
        return torch.full_like(x[..., :1], 0.5)

    def initial(self, x, p):
        return torch.ones_like(x[..., :1])


@dataclass(frozen=True)
class Short(Written):
    """The same, as one would write it."""

    def drift(self, x, p):
        return p.rate

    def diffusion(self, x, dw, p):
        return 0.3 * dw

    def discount(self, x, p):
        return p.rate

    def source(self, x, p):
        return 0.5

    def initial(self, x, p):
        return 1


class Mixin:
    def initial(self, x, p):
        return 2.0


@dataclass(frozen=True)
class Mixed(Mixin, Short):
    pass


SCHEMES = [
    fk.EulerMaruyama(steps=4),
    fk.ExtrapolatedEuler(steps=4),
    fk.Milstein(steps=4),
    fk.NinomiyaVictoir(steps=4),
]


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_a_short_formula_is_as_good_as_a_long_one(scheme, generator):
    inputs = Written().domain.sample(7, generator)
    z = torch.randn(scheme.draws, 7, 5, 3, generator=generator)
    long, short = (payoffs(family, scheme, inputs, z) for family in (Written(), Short()))
    assert short.shape == (7, 5, 1)
    torch.testing.assert_close(short, long)


def test_formulas_of_other_base_classes_are_filled_too():
    assert Mixed().initial(torch.zeros(4, 3), None).tolist() == [[2.0]] * 4


def test_it_is_checked_and_solved():
    assert fk.check(Short()).failed == {}
    steps = fk.EulerMaruyama(steps=4)  # the check has chosen a scheme
    solution = fk.solve(Short(), scheme=steps, steps=2, batch_size=64, evaluations=1)
    assert solution(x=[0.0, 0.0, 0.0], t=0.5, rate=0.05).isfinite()


@pytest.mark.parametrize(
    ("value", "width", "shape"),
    [
        (torch.ones(()), 1, (4, 5, 1)),
        (torch.ones(4, 1, 1), 1, (4, 5, 1)),
        (torch.ones(3), 3, (4, 5, 3)),
        (torch.ones(4, 5), 1, (4, 5)),  # keepdim was forgotten
        (torch.ones(4, 5, 2), 3, (4, 5, 2)),  # does not fit
        (torch.ones(2, 4, 5, 3), 3, (2, 4, 5, 3)),  # more than there is
    ],
)
def test_only_what_fits_is_filled(value, width, shape):
    assert fill(value, torch.zeros(4, 5, 3), width).shape == shape
