"""Which families have a head, and what it says about them."""

from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.methods.fast.choose_head import choose_head
from feynkac.methods.fast.choose_symmetries import choose_symmetries
from feynkac.networks.head import Bachelier, Black, Priced
from feynkac.networks.network import Network

QUOTED = {
    "black-scholes-merton": (fk.BlackScholesMerton(), Black, {"sigma": 1.0}),
    "put": (fk.BlackScholesMerton(fk.Payoff("put")), Black, {"sigma": 1.0}),
    "bachelier": (fk.Bachelier(), Bachelier, {"sigma": 1.0}),
    "cev": (fk.Cev(), Black, {"sigma": 1.0, "x": -0.35}),
    "heston": (fk.Heston(), Black, {"x[1]": 0.5}),
    "sabr": (fk.Sabr(), Black, {"x[1]": 1.0, "x[0]": -0.35}),
}


@pytest.mark.parametrize("name", QUOTED)
def test_quoted_families_have_one(name):
    family, kind, powers = QUOTED[name]
    head = choose_head(family, choose_symmetries(family))
    assert type(head) is kind
    assert dict(head.powers) == pytest.approx(powers, abs=0.03)
    inputs = family.domain.sample(50, torch.Generator().manual_seed(0), torch.float64)
    quote = family.quote(*family.domain.split(inputs))
    forward, strike, discount = Priced(head, family.domain).quote(inputs)
    for found, expected in (
        (forward, quote.forward),
        (strike, quote.strike),
        (discount, quote.discount),
    ):
        torch.testing.assert_close(found, expected * torch.ones_like(found))
    assert head.call == quote.call


@pytest.mark.parametrize(
    "family",
    [
        fk.Digital(),
        fk.Heston(fk.Payoff("digital")),
        fk.Channel(),
        fk.MultiAsset(dim=2),
        fk.BlackScholes(),  # the paper's put is learned as the paper does
    ],
    ids=lambda family: family.name(),
)
def test_others_have_none(family):
    assert choose_head(family) is None


@pytest.mark.parametrize("name", ["black-scholes-merton", "bachelier"])
def test_the_formulas_own_model_is_its_closed_form(name):
    family = QUOTED[name][0]
    head = Priced(choose_head(family), family.domain)
    inputs = family.domain.sample(100, torch.Generator().manual_seed(0), torch.float64)
    found = head(inputs, torch.zeros(100, 1).double())
    expected = family.closed_form(*family.domain.split(inputs))
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


@dataclass(frozen=True)
class Seasonal(fk.BlackScholesMerton):
    """A forward that no rate explains."""

    def quote(self, x, t, p):
        return fk.Quote(x * t.cos().exp(), p.strike)


@dataclass(frozen=True)
class TwoStrikes(fk.BlackScholesMerton):
    """A strike that is no input."""

    def quote(self, x, t, p):
        return fk.Quote(x, 2.0 * p.strike)


@pytest.mark.parametrize("family", [Seasonal(), TwoStrikes()], ids=lambda family: family.name())
def test_what_cannot_be_written_down_has_none(family):
    assert choose_head(family) is None


def test_a_price_that_may_be_negative_is_bacheliers():
    family = fk.BlackScholesMerton().on(x=fk.Box(-10.0, 10.0))
    assert type(choose_head(family)) is not Black


def test_fast_chooses_it_and_can_be_told_not_to():
    family = fk.BlackScholesMerton()
    assert isinstance(fk.Fast().resolve(family).architecture.head, Black)
    assert fk.Fast(head=False).resolve(family).architecture.head is None
    assert fk.Fast(optimiser=fk.AdamW()).resolve(family).architecture.head is None
    network = Network(fk.Fast().resolve(family).architecture, family.domain)
    assert isinstance(network.head, Priced)
