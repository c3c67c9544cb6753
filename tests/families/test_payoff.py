"""Payoffs: what is bought of which number."""

import pytest
import torch

from feynkac.errors import InputError
from feynkac.families.payoff import INDICES, STYLES, Payoff

ASSETS, STRIKE = torch.tensor([[80.0, 125.0], [90.0, 95.0]]), torch.tensor([[100.0], [100.0]])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("call:mean", [2.5, 0.0]),
        ("put:mean", [0.0, 7.5]),
        ("digital:mean", [1.0, 0.0]),
        ("call:max", [25.0, 0.0]),
        ("put:min", [20.0, 10.0]),
        ("put:geometric", [0.0, 100.0 - (90.0 * 95.0) ** 0.5]),
        ("put:spread", [145.0, 105.0]),
    ],
)
def test_values(text, expected):
    found = Payoff.parse(text)(ASSETS, STRIKE)
    assert found.shape == (2, 1)
    assert found.squeeze(-1).tolist() == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("on", [index for index in INDICES if index != "spread"])
@pytest.mark.parametrize("style", STYLES)
def test_of_one_asset_every_index_is_the_asset(style, on):
    one = ASSETS[:, :1].double()
    same = Payoff(style)(one, STRIKE.double())
    torch.testing.assert_close(Payoff(style, on)(one, STRIKE.double()), same)


@pytest.mark.parametrize("on", INDICES)
@pytest.mark.parametrize("style", STYLES)
def test_it_is_what_its_text_says(style, on):
    payoff = Payoff(style, on)
    assert Payoff.parse(str(payoff)) == payoff
    assert payoff.jumps == (style == "digital")


@pytest.mark.parametrize("text", ["", "straddle", "call:median", "call:mean:max"])
def test_an_unknown_one_is_refused(text):
    with pytest.raises(InputError, match="a payoff has no"):
        Payoff.parse(text)
