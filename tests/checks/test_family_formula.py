"""Every formula of a family is listed once, with the width of its values."""

import pytest
import torch

from feynkac.checks.family_formula import formulas_of
from feynkac.families.catalogue import BUILT_IN
from feynkac.families.family import noise_dim
from feynkac.families.models.basket_put import BasketPut
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.families.models.heston import Heston
from feynkac.families.models.sabr import Sabr


def test_a_plain_family_has_three():
    assert [f.name for f in formulas_of(BasketPut())] == ["drift", "diffusion", "initial"]


def test_labels_of_a_family_s_own_are_among_them():
    assert "expected" in [f.name for f in formulas_of(Heston())]
    assert "controlled" in [f.name for f in formulas_of(Sabr())]


def test_values_are_those_of_the_methods(generator):
    family = BlackScholes(dim=2)
    point = family.domain.split(family.domain.sample(5, generator))
    dw = torch.randn(5, 2, generator=generator)
    values = {f.name: f.value(point, dw) for f in formulas_of(family)}
    x, t, p = point
    assert torch.equal(values["diffusion"], family.diffusion(x, dw, p))
    assert torch.equal(values["exact"], family.exact(x, t, p, dw))
    assert torch.equal(values["closed_form"], family.closed_form(x, t, p))


@pytest.mark.parametrize("cls", BUILT_IN.values())
def test_widths_are_what_comes_out(cls, generator):
    family = cls()
    point = family.domain.split(family.domain.sample(3, generator, torch.float64))
    dw = torch.randn(3, noise_dim(family), generator=generator, dtype=torch.float64)
    for formula in formulas_of(family):
        width = formula.value(point, dw).shape[-1]
        assert width == (formula.width or width)
