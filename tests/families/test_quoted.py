"""What families read as forward, strike and discount agrees with their own closed forms."""

from dataclasses import replace

import pytest
import torch

import feynkac as fk
from feynkac.analysis.quoted_errors import quoted
from feynkac.families.catalogue import BUILT_IN
from feynkac.families.quoted import Quote, Quoted, vanilla

PAID = [cls() for cls in (fk.BlackScholesMerton, fk.Bachelier, fk.Cev, fk.Heston)]


@pytest.mark.parametrize("family", PAID, ids=lambda family: family.name())
def test_calls_and_puts_differ_by_a_forward_contract(family, generator):
    at = family.domain.split(family.domain.sample(500, generator, torch.float64))
    call, put = (replace(family, payoff=fk.Payoff(style)) for style in ("call", "put"))
    quote = call.quote(*at)
    contract = quote.discount * (quote.forward - quote.strike)
    gap = call.closed_form(*at) - put.closed_form(*at) - contract
    assert gap.abs().max() < 1e-8
    assert quote.call
    assert not put.quote(*at).call


def test_the_paper_s_put_is_a_put_without_interest(generator):
    family = fk.BlackScholes()
    x, t, p = family.domain.split(family.domain.sample(5, generator, torch.float64))
    assert family.quote(x, t, p) == Quote(x, p.strike, 1.0, call=False)
    assert fk.BlackScholes(dim=2).quote(x, t, p) is None


def test_the_forward_of_sabr_is_the_mean_of_its_paths(generator):
    family = fk.Sabr()
    x, t, p = family.domain.split(family.domain.sample(8, generator, torch.float64)[:, None])
    state = x.expand(8, 2**15, 2)
    for _ in range(4):
        z = torch.randn(8, 2**15, 2, generator=generator, dtype=torch.float64)
        state = family.step(state, t / 4, p, z)
    ends = state[..., 0]
    error = ends.std(-1) / 2**7.5
    quote = family.quote(x, t, p)
    assert ((ends.mean(-1) - quote.forward[:, 0, 0]).abs() <= 4.5 * error + 0.02).all()
    assert (quote.discount == 1).all()


def test_a_digital_has_no_quote():
    one = torch.ones(1)
    assert vanilla(fk.Payoff("digital"), one, one, one) is None
    assert not quoted(fk.Cev(fk.Payoff("digital")))


def test_every_model_of_one_asset_is_quoted():
    named = {name for name, cls in BUILT_IN.items() if issubclass(cls, Quoted)}
    expected = {"black-scholes", "black-scholes-merton", "bachelier", "cev", "heston", "sabr"}
    assert named == expected
