"""Prices behind a head: the formulas of QuantLib and SciPy, derivatives of all orders, limits."""

import math

import pytest
import QuantLib
import torch
from scipy.stats import norm
from torch.autograd import gradcheck, gradgradcheck

import feynkac as fk
from feynkac.networks.architecture import initialise
from feynkac.networks.head import Bachelier, Black, Priced
from feynkac.networks.network import Network
from feynkac.networks.smooth import Smooth
from feynkac.parts import read_part, record_part

GROWTH, RATES = (("rate", 1.0), ("dividend", -1.0)), (("rate", 1.0),)
MARKET = fk.BlackScholesMerton().on(t=fk.Box(0.0, 2.0))
NAMES = MARKET.domain.entries


def make_head(kind=Black, call=True, **more):
    given = {"growth": GROWTH, "rates": RATES, "powers": (("sigma", 1.0),), **more}
    return kind(asset="x", strike="strike", call=call, **given)


def priced(kind=Black, call=True, **more):
    return Priced(make_head(kind, call, **more), MARKET.domain)


def sample(count=64, seed=0, dtype=torch.float64):
    return MARKET.domain.sample(count, torch.Generator().manual_seed(seed), dtype)


def number(inputs, name):
    return inputs[:, NAMES.index(name)].tolist()


@pytest.mark.parametrize("call", [True, False])
def test_black_is_quantlibs(call):
    inputs = sample()
    f = 0.1 * torch.randn(len(inputs), 1, generator=torch.Generator().manual_seed(1)).double()
    found = priced(call=call)(inputs, f)
    kind = QuantLib.Option.Call if call else QuantLib.Option.Put
    columns = (number(inputs, n) for n in ("x", "t", "sigma", "rate", "dividend", "strike"))
    for u, g, (x, t, sigma, r, q, K) in zip(found, f, zip(*columns, strict=True), strict=True):
        forward, deviation = x * math.exp((r - q) * t), sigma * math.exp(g.item()) * t**0.5
        expected = QuantLib.blackFormula(kind, K, forward, deviation, math.exp(-r * t))
        assert u.item() == pytest.approx(expected, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("call", [True, False])
def test_bachelier_is_that_of_the_normal_law(call):
    inputs = sample()
    found = priced(Bachelier, call, factor=100.0)(inputs, torch.zeros(len(inputs), 1).double())
    columns = (number(inputs, n) for n in ("x", "t", "sigma", "rate", "dividend", "strike"))
    for u, (x, t, sigma, r, q, K) in zip(found, zip(*columns, strict=True), strict=True):
        gain, w = x * math.exp((r - q) * t) - K, 100.0 * sigma * t**0.5
        d, sign = gain / w, 1 if call else -1
        expected = math.exp(-r * t) * (sign * gain * norm.cdf(sign * d) + w * norm.pdf(d))
        assert u.item() == pytest.approx(expected, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        *((Black, True), (Bachelier, False)),
        *(pytest.param(*c, marks=pytest.mark.slow) for c in ((Black, False), (Bachelier, True))),
    ],
)
def test_first_and_second_derivatives(kind, call):
    head = priced(kind, call, factor=1.0 if kind is Black else 100.0)
    inputs = sample(6).clamp_min(0.05).requires_grad_()
    f = torch.linspace(-0.5, 0.5, 6, dtype=torch.float64).unsqueeze(-1).requires_grad_()
    with torch.random.fork_rng():  # which both draw from
        assert gradcheck(head, (inputs, f))
        assert gradgradcheck(head, (inputs, f), atol=1e-4)


def test_float32_is_float64_rounded():
    inputs = sample()
    f = torch.zeros(len(inputs), 1)
    expected = priced()(inputs.float().double(), f.double())
    torch.testing.assert_close(priced()(inputs.float(), f).double(), expected, rtol=1e-6, atol=0)


@pytest.mark.parametrize("kind", [Black, Bachelier])
@pytest.mark.parametrize("t", [0.0, 1e-30, 1e-12, 1e-6])
@pytest.mark.parametrize("x", [50.0, 99.999, 100.0, 100.001, 200.0])
def test_close_to_maturity_all_derivatives_are_finite_and_u_is_the_payoff(kind, t, x):
    values = {"x": x, "t": t, "sigma": 0.2, "rate": 0.0, "dividend": 0.0, "strike": 100.0}
    inputs = torch.tensor([[values[n] for n in NAMES]], dtype=torch.float64, requires_grad=True)
    f = torch.zeros(1, 1, dtype=torch.float64, requires_grad=True)
    u = priced(kind)(inputs, f)
    assert u.item() == pytest.approx(max(x - 100.0, 0.0), abs=20.0 * t**0.5 + 1e-7)
    first = torch.autograd.grad(u.sum(), (inputs, f), create_graph=True)
    second = torch.autograd.grad(sum(g.sum() for g in first), (inputs, f))
    assert all(v.isfinite().all() for v in (*first, *second))


def test_parity_and_bounds_hold_for_any_f():
    inputs = sample(500)
    f = 3.0 * torch.randn(500, 1, generator=torch.Generator().manual_seed(1)).double()
    call, put = priced()(inputs, f), priced(call=False)(inputs, f)
    forward, strike, discount = priced().quote(inputs)
    torch.testing.assert_close(call - put, discount * (forward - strike), rtol=0, atol=1e-11)
    assert (call >= discount * (forward - strike).clamp_min(0.0) - 1e-11).all()
    assert (call <= discount * forward).all()


def test_the_weight_turns_prices_into_volatilities_and_stays_bounded():
    head, inputs = priced(), sample(200)
    f, moved = torch.zeros(200, 1).double(), torch.full((200, 1), 1e-6).double()
    by_w = head.jet(inputs, f).first / head.guess(inputs)
    error = (head(inputs, moved) - head(inputs, f)) * head.weight(inputs, by_w)
    sigma = inputs[:, NAMES.index("sigma"), None]
    assert (error <= 1.001e-6 * sigma).all()
    assert error.median() == pytest.approx(1e-6 * sigma.median().item(), rel=0.3)
    forward, strike, discount = head.quote(inputs)
    most = 100.0 / (discount * (forward * strike).sqrt())
    torch.testing.assert_close(head.weight(inputs, torch.zeros_like(f)), most)


def test_the_jet_is_autograds():
    head, inputs = priced(), sample(8).requires_grad_()
    f = torch.linspace(-0.3, 0.3, 8, dtype=torch.float64).unsqueeze(-1).requires_grad_()
    jet, u = head.jet(inputs, f), head(inputs, f)
    gradient, first = torch.autograd.grad(u.sum(), (inputs, f), create_graph=True)
    mixed, second = torch.autograd.grad(first.sum(), (inputs, f))
    for found, expected in zip(jet, (u, first, second, gradient, mixed), strict=True):
        torch.testing.assert_close(found, expected.detach())
        assert not found.requires_grad


def test_a_manifest_holds_it():
    settings = Smooth(width=4, head=make_head(call=False))
    record = record_part(settings)
    assert record["head"]["kind"] == "black"
    assert read_part(fk.Architecture, record) == settings
    assert "head" not in record_part(Smooth(width=4))


def make_network(head, units=()):
    network = Network(Smooth(width=5, depth=2, head=head, units=units), MARKET.domain)
    initialise(network, torch.Generator().manual_seed(0))
    network.shift.fill_(0.1)
    network.scale.fill_(0.3)
    return network.double()


def test_a_network_gives_the_volatility():
    network, inputs = make_network(make_head()), sample(7).view(7, 1, -1).expand(7, 2, -1)
    u = network(inputs)
    assert u.shape == (7, 2, 1)
    flat = inputs[:, 0]
    expected = network.head(flat, 0.1 + 0.3 * network.core(network.normalise(flat)))
    torch.testing.assert_close(u[:, 1], expected)


def test_forward_mode_and_vmap_work():
    network, inputs = make_network(make_head()), sample(5)
    change = torch.ones_like(inputs)
    slope = torch.func.jvp(network, (inputs,), (change,))[1]
    gradients = torch.func.vmap(torch.func.grad(lambda v: network(v[None]).sum()))(inputs)
    torch.testing.assert_close(slope.squeeze(-1), gradients.sum(-1))


def test_several_outputs_have_no_head():
    with pytest.raises(fk.InputError, match="a head is for one output, and u has 2"):
        Network(Smooth(width=4, head=make_head()), MARKET.domain, outputs=2)
