"""Heston's closed form where tails are fat: in the library's box, at its corners and beyond."""

import math

import pytest
import QuantLib as ql  # noqa: N813
import torch
from oracles import DAYS, TODAY, interior, maturity, residuals

from feynkac.checks.checkup import check
from feynkac.families.corners import corners
from feynkac.families.formulas import lewis
from feynkac.families.models.heston import Heston, log_characteristic
from feynkac.families.payoff import Payoff
from feynkac.families.point import Params
from feynkac.library.entries import find_entries

MARKET = find_entries(["heston"])[0].family
DOMAIN = MARKET.domain
NAMES = ["S", "v", *list(DOMAIN.measures)[1:]]
STYLES = ("call", "put", "digital")
FAMILIES = {style: Heston(Payoff(style)) for style in STYLES}
every_style = pytest.mark.parametrize("style", STYLES)

# S, v, t, kappa, theta, nu, rho, rate, strike: call, put and digital with 30 digits by mpmath, with
# 24 nodes of Gauss on each of a hundred pieces of the line of Lewis, or of one turned by 0.2
FAT_TAILS = """
    2.44  0.002568 2.726  0.1122 0.04517  3.059 -0.3339 -0.0002621 1
    1.732 0.05089  2.632  0.1874 0.04063  3.774 -0.95    0.0249    1
    1.412 0.003137 4.63   0.2012 0.006022 3.78  -0.9118 -0.002442  1
    2.288 0.006104 3.842  0.2966 0.01013  3.723  0.01372 -0.008703 1
    2.415 0.1019   0.8726 0.1041 0.578    3.888 -0.95   -0.0008103 1
"""
THIRTY_DIGITS = """
    1.441250962517764   0.001965702422686067  0.997562906482735
    0.8035616379888035  0.008126218537692817  0.9240191412949308
    0.40195552774695237 0.0013261473437876465 1.0088655848514567
    1.2559754304783926  0.001977653491612865  1.030788129307953
    1.42894531943484    0.014652637246188954  0.978287762522177
"""


def table(text):
    rows = [[float(v) for v in line.split()] for line in text.strip().splitlines()]
    return torch.tensor(rows, dtype=torch.float64)


def column(name):
    return slice(NAMES.index(name), NAMES.index(name) + 1)


def values(style, inputs):
    return FAMILIES[style].closed_form(*DOMAIN.split(inputs))


def hard_inputs(generator):
    """Of the box: random inputs and corners; the same at the money, after a day, with ρ = ±0.95."""
    inside = DOMAIN.sample(300, generator, torch.float64)
    inside = torch.cat([inside, corners(DOMAIN, generator, dtype=torch.float64)])
    changes = [("S", 1.0), ("t", 1 / 365), ("rho", -0.95), ("rho", 0.95)]
    copies = [inside.clone() for _ in changes]
    for copy, (name, number) in zip(copies, changes, strict=True):
        copy[:, column(name)] = number
    return torch.cat([inside, *copies])


@every_style
def test_values_agree_with_thirty_digits(style):
    expected = table(THIRTY_DIGITS)[:, STYLES.index(style), None]
    torch.testing.assert_close(values(style, table(FAT_TAILS)), expected, rtol=0, atol=1e-12)


@every_style
def test_four_times_the_nodes_give_the_same(style, generator, monkeypatch):
    inputs = hard_inputs(generator)
    found = values(style, inputs)
    monkeypatch.setattr(lewis, "FOURIER_NODES", 384)
    atol = 1e-9 if style == "digital" else 1e-13
    torch.testing.assert_close(found, values(style, inputs), rtol=0, atol=atol)


@every_style
def test_a_straight_line_gives_the_same(style, generator, monkeypatch):
    """The tilt saves nodes: without it long tails, which oscillate, need far more."""
    inputs = DOMAIN.sample(100, generator, torch.float64)
    inputs = inputs[inputs[:, NAMES.index("nu")] < 0.5]
    found = values(style, inputs)
    monkeypatch.setattr(lewis, "FOURIER_NODES", 4096)
    monkeypatch.setattr(lewis, "TILT", 0.0)
    torch.testing.assert_close(found, values(style, inputs), rtol=0, atol=1e-9)


def test_calls_and_puts_agree_with_parity_and_bounds(generator):
    inputs = hard_inputs(generator)
    x, t, p = DOMAIN.split(inputs)
    call, put, digital = (values(style, inputs) for style in STYLES)
    gain, discount = x[:, :1] - p.strike * (-p.rate * t).exp(), (-p.rate * t).exp()
    torch.testing.assert_close(call - put, gain, rtol=0, atol=1e-14)
    assert (call - gain.clamp_min(0.0)).min() > -1e-13
    assert (call < x[:, :1]).all()
    assert digital.min() > -1e-9
    assert (digital / discount).max() < 1.0 + 1e-9


def quantlib(row):
    """A call by QuantLib's adaptive integration."""
    at = dict(zip(NAMES, row, strict=True))
    ql.Settings.instance().evaluationDate = TODAY
    rate, dividend = (
        ql.YieldTermStructureHandle(ql.FlatForward(TODAY, r, DAYS)) for r in (at["rate"], 0.0)
    )
    spot = ql.QuoteHandle(ql.SimpleQuote(at["S"]))
    numbers = (at[name] for name in ("v", "kappa", "theta", "nu", "rho"))
    model = ql.HestonModel(ql.HestonProcess(rate, dividend, spot, *numbers))
    option = ql.VanillaOption(ql.PlainVanillaPayoff(ql.Option.Call, at["strike"]), maturity(at))
    option.setPricingEngine(ql.AnalyticHestonEngine(model, 1e-12, 1_000_000))
    return option.NPV()


def test_calls_agree_with_quantlib(generator):
    """QuantLib itself is off by up to 1e-7 at one input of a thousand."""
    inputs = DOMAIN.sample(200, generator, torch.float64)
    inputs[:, column("t")] = (365 * inputs[:, column("t")]).round() / 365
    expected = torch.tensor([[quantlib(row)] for row in inputs.tolist()], dtype=torch.float64)
    error = (values("call", inputs) - expected).abs()
    assert error.max() < 1e-6
    assert error.quantile(0.98) < 1e-9


def test_slopes_are_those_of_many_nodes(generator, monkeypatch):
    inputs = hard_inputs(generator)[::4].clone().requires_grad_()
    (found,) = torch.autograd.grad(values("call", inputs).sum(), inputs)
    monkeypatch.setattr(lewis, "FOURIER_NODES", 384)
    (expected,) = torch.autograd.grad(values("call", inputs).sum(), inputs)
    assert found.isfinite().all()
    torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-8)


def test_it_solves_the_pde(generator):
    assert residuals(MARKET, interior(MARKET, 20, generator)).abs().max() <= 1e-8


@pytest.mark.parametrize("small", ["nu", "kappa"])
def test_nothing_cancels_as_a_parameter_vanishes(small):
    """ln f at 1e-7 of a parameter is that at 1e-4 to first order."""
    at = {"kappa": 2.0, "theta": 0.05, "nu": 0.3, "rho": -0.5}
    z = torch.tensor([3.0 - 0.5j, 40.0 + 5.0j], dtype=torch.complex128)
    v, t = torch.tensor([0.04, 0.7], dtype=torch.float64)

    def log_f(size):
        numbers = at | {small: size}
        p = Params(**{name: torch.tensor(n, dtype=torch.float64) for name, n in numbers.items()})
        return log_characteristic(z, v, t, p)

    line = 2.0 * log_f(1e-4) - log_f(2e-4)
    torch.testing.assert_close(log_f(1e-8), line, rtol=1e-5, atol=0)
    assert math.isfinite(log_f(1e-8).abs().sum().item())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["heston", "sabr"])
def test_labels_are_finite_at_the_corners_of_the_librarys_box(name):
    """ν = 4, κ = 0.1: ln S has had exponents of 115, beyond float32."""
    family = find_entries([name])[0].family
    assert check(family).findings["corners"].verdict == "ok"
