"""Best and worst of several assets: QuantLib, paths of MultiAsset, and the labels' noise."""

from dataclasses import dataclass

import numpy as np
import pytest
import QuantLib as ql  # noqa: N813
import torch
from oracles import dated, interior, market, maturity, quantlib_european

from feynkac.errors import InputError
from feynkac.families.capabilities import OwnSteps
from feynkac.families.family import jumps
from feynkac.families.formulas.extremes import extreme
from feynkac.families.models import rainbow
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.families.models.multi_asset import MultiAsset
from feynkac.families.models.rainbow import Rainbow
from feynkac.families.payoff import Payoff
from feynkac.methods.fast.choose_scheme import suitable_scheme
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import differential_labels, draw_paths, payoffs
from feynkac.sampling.noise.noise import Independent
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.path import weak_order
from feynkac.sampling.reference import replicated
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.family_steps import FamilySteps

PAYOFFS = [Payoff(style, on=on) for on in ("max", "min") for style in ("call", "put", "digital")]
QUICK = ("call:max", "put:min", "digital:min")  # the others take the same ways
every_payoff = pytest.mark.parametrize(
    "payoff",
    [p if str(p) in QUICK else pytest.param(p, marks=pytest.mark.slow) for p in PAYOFFS],
    ids=str,
)
main_payoffs = pytest.mark.parametrize("payoff", [PAYOFFS[0], PAYOFFS[4]], ids=str)


def closed_form(family, inputs):
    return family.closed_form(*family.domain.split(inputs))


def stulz(payoff, x, t, p):
    """QuantLib's engine for two assets."""
    common = {"rate": p.rate.item(), "dividend": 0.0}
    assets = zip(x.tolist(), p.sigma.tolist(), strict=True)
    processes = [market({"x": x, "sigma": sigma, **common}) for x, sigma in assets]
    kind = ql.Option.Call if payoff.style == "call" else ql.Option.Put
    basket = {"max": ql.MaxBasketPayoff, "min": ql.MinBasketPayoff}[payoff.on]
    plain = ql.PlainVanillaPayoff(kind, p.strike.item())
    option = ql.BasketOption(basket(plain), maturity({"t": t.item()}))
    option.setPricingEngine(ql.StulzEngine(*processes, p.rho.item()))
    return option.NPV()


@pytest.mark.parametrize("payoff", [p for p in PAYOFFS if p.style != "digital"], ids=str)
def test_two_assets_agree_with_stulz(payoff, generator):
    family = Rainbow(2, payoff)
    inputs = interior(family, 20, generator)
    time = inputs[:, family.domain.slices()["t"]]
    time.copy_((365 * time).round() / 365)
    for row in inputs:
        point = family.domain.split(row)
        expected = stulz(payoff, *point)
        assert family.closed_form(*point).item() == pytest.approx(expected, rel=5e-6, abs=5e-6)


@every_payoff
def test_one_asset_is_priced_by_black(payoff, generator):
    family = Rainbow(1, payoff)
    for at in dated(family, 20, generator):
        strike = at["strike"]
        if payoff.style == "digital":
            kind = ql.CashOrNothingPayoff(ql.Option.Call, strike, 1.0)
        else:
            style = ql.Option.Call if payoff.style == "call" else ql.Option.Put
            kind = ql.PlainVanillaPayoff(style, strike)
        expected = quantlib_european(kind, at | {"dividend": 0.0}).NPV()
        inputs = family.domain.join({n: [v] if n in ("x", "sigma") else v for n, v in at.items()})
        assert closed_form(family, inputs).item() == pytest.approx(expected, abs=2e-6)


@every_payoff
def test_five_assets_agree_with_exact_paths(payoff, generator):
    """Those of MultiAsset, which integrates nothing."""
    inputs = Rainbow(5).domain.sample(6, generator, torch.float64)
    noise = make_generator(0, "rainbow", str(payoff))
    found = replicated(MultiAsset(5, payoff), Exact(), Sobol(), inputs, 4096, noise)
    u = closed_form(Rainbow(5, payoff), inputs)
    assert (found.error < 5e-3 * (1.0 + u)).all()
    assert ((found.value - u).abs() < 4.0 * found.error + 1e-7).all()


@every_payoff
def test_the_quadrature_has_converged(payoff, generator):
    """At the corners of the domain, where volatilities differ most, against 160 nodes."""
    family = Rainbow(5, payoff)
    low, high = (family.domain.join(edge) for edge in corners())
    chosen = torch.randint(0, 2, (200, family.domain.dim), generator=generator)
    x, t, p = family.domain.split(low + (high - low) * chosen)
    forward, v = x * (p.rate * t).exp(), p.sigma * t.sqrt()
    fine = extreme(payoff.style, payoff.on, forward, p.strike, v, p.rho, nodes=160)
    u = (-p.rate * t).exp() * fine
    error = (family.closed_form(x, t, p) - u).abs() / (1.0 + u)
    assert error.max() < 2e-5
    assert error.mean() < 1e-6


def corners():
    five = torch.ones(5)
    low = {"x": 90 * five, "t": 0.02, "sigma": 0.1 * five, "rho": 0.1, "rate": 0.0, "strike": 90.0}
    high = {"x": 110 * five, "t": 1.0, "sigma": 0.4 * five, "rho": 0.9}
    return low, high | {"rate": 0.05, "strike": 110.0}


@main_payoffs
def test_call_minus_put_is_the_mean_less_the_strike(payoff, generator):
    """E I is the call's value with a strike of nearly nothing."""
    x, t, p = Rainbow(4).domain.split(interior(Rainbow(4), 100, generator))
    call, put = (Rainbow(4, Payoff(style, on=payoff.on)) for style in ("call", "put"))
    forward, deviation, least = x * (p.rate * t).exp(), p.sigma * t.sqrt(), torch.full_like(t, 1e-3)
    mean = extreme("call", payoff.on, forward, least, deviation, p.rho, nodes=96) + least
    parity = (-p.rate * t).exp() * (mean - p.strike)
    difference = call.closed_form(x, t, p) - put.closed_form(x, t, p)
    torch.testing.assert_close(difference, parity, rtol=0, atol=1e-3)


def mean_labels_and_truth(payoff, steps, generator):
    """The mean over z₀ by NumPy's Gauss–Hermite rule; all steps have the same share of it."""
    family = Rainbow(5, payoff)
    inputs = family.domain.sample(50, generator, torch.float64)
    nodes, weights = (torch.tensor(rule) for rule in np.polynomial.hermite_e.hermegauss(160))
    z = torch.zeros(steps, 50, 160, 6, dtype=torch.float64)
    z[..., 0] = nodes / steps**0.5
    labels = payoffs(family, FamilySteps(steps=steps), inputs, z)
    return (labels * (weights / weights.sum())[:, None]).sum(1), closed_form(family, inputs)


@every_payoff
@pytest.mark.parametrize("steps", [1, 3])
def test_labels_with_the_closed_form_s_nodes_are_unbiased(payoff, steps, generator, monkeypatch):
    monkeypatch.setattr(rainbow, "LABEL_NODES", rainbow.CLOSED_FORM_NODES)
    mean, truth = mean_labels_and_truth(payoff, steps, generator)
    torch.testing.assert_close(mean, truth, rtol=2e-6, atol=4e-6)


@every_payoff
def test_the_bias_of_fewer_nodes_is_what_is_said(payoff, generator):
    """A thousandth of the error that training reaches in the mean, a tenth at worst."""
    mean, truth = mean_labels_and_truth(payoff, 1, generator)
    bias = (mean - truth).abs() / (1.0 + truth)
    assert bias.mean() < 3e-6
    assert bias.max() < 1e-4


@every_payoff
def test_a_label_is_the_mean_of_payoffs_given_the_common_factor(payoff, generator):
    family = Rainbow(3, payoff)
    x, t, p = family.domain.split(family.domain.sample(8, generator, torch.float64)[:, None])
    z = torch.randn(2, 8, 20_000, 4, generator=generator, dtype=torch.float64)
    z[..., 0] = z[..., :1, 0]
    end = FamilySteps(steps=2).terminal(family, x, t, p, z)
    earned = (-p.rate * t).exp() * family.initial(end, p)
    error = earned.std(1) / 20_000**0.5
    expected = family.expected(x, t, p, z[:, :, :1])[:, 0]
    assert ((earned.mean(1) - expected).abs() <= 4.5 * error + 1e-6).all()


@main_payoffs
def test_derivatives_of_labels_agree_with_finite_differences(payoff, generator):
    family = Rainbow(3, payoff)
    inputs = interior(family, 4, generator).requires_grad_()
    z = torch.randn(2, 4, 4, generator=generator, dtype=torch.float64)
    torch.autograd.gradcheck(
        lambda flat: family.expected(*family.domain.split(flat), z), inputs, atol=1e-5, rtol=1e-5
    )


@main_payoffs
def test_slopes_of_labels_agree_with_the_closed_form(payoff, generator, monkeypatch):
    monkeypatch.setattr(rainbow, "LABEL_NODES", rainbow.CLOSED_FORM_NODES)
    family, scheme = Rainbow(5, payoff), FamilySteps(steps=1)
    inputs = interior(family, 8, generator)
    noise = make_generator(0, "slopes")
    draw = draw_paths(family, scheme, Sobol(), inputs, 4096, noise)
    _, slopes = differential_labels(family, scheme, inputs, draw)
    leaf = inputs.clone().requires_grad_()
    (exact,) = torch.autograd.grad(closed_form(family, leaf).sum(), leaf)
    scale = family.domain.std.double()
    torch.testing.assert_close(slopes * scale, exact * scale, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("payoff", "noise", "by_value", "by_slope"),
    [
        ("call:max", Independent(), 70.0, 80.0),  # 146, 164
        ("put:min", Independent(), 500.0, 300.0),  # 1000, 670
        ("call:max", Sobol(), 8.0, 40.0),  # 20, 80: the tail of z₀ is what is left
        ("put:min", Sobol(), 60.0, 120.0),  # 115, 250
    ],
    ids=str,
)
def test_labels_have_far_less_variance_than_those_of_exact_paths(
    payoff, noise, by_value, by_slope, generator
):
    """Of 32 paths: given z₀ on Sobol' points, against independent paths or Sobol' points."""
    inputs = Rainbow(5).domain.sample(64, generator).repeat_interleave(16, 0)

    def variances(family, scheme, noise):
        draw = draw_paths(family, scheme, noise, inputs, 32, generator)
        values, slopes = differential_labels(family, scheme, inputs, draw)
        both = (values, slopes * family.domain.std)
        return [labels.unflatten(0, (64, 16)).var(1).mean() for labels in both]

    option = Payoff.parse(payoff)
    value, slope = variances(Rainbow(5, option), FamilySteps(steps=1), Sobol())
    plain_value, plain_slope = variances(MultiAsset(5, option), Exact(), noise)
    assert plain_value > by_value * value
    assert plain_slope > by_slope * slope


def test_normals_are_not_turned_where_a_part_is_integrated(generator):
    """Turning would mix z₀ with what is integrated; exact paths of the same family are turned."""
    inputs = Rainbow().domain.sample(8, generator)

    def drawn(scheme, aligned):
        noise = make_generator(0, "turned")
        return draw_paths(Rainbow(), scheme, Sobol(aligned=aligned), inputs, 4, noise).z

    own, exact = FamilySteps(steps=1), Exact()
    assert torch.equal(drawn(own, aligned=True), drawn(own, aligned=False))
    assert not torch.equal(drawn(exact, aligned=True), drawn(exact, aligned=False))


@every_payoff
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_at_time_zero_it_is_the_payoff(payoff, dtype, generator):
    family = Rainbow(4, payoff)
    inputs = family.domain.sample(50, generator, dtype)
    inputs[:, family.domain.slices()["t"]] = 0.0
    inputs.requires_grad_()
    x, t, p = family.domain.split(inputs)
    z = torch.randn(1, 50, 5, generator=generator, dtype=dtype)
    for value in (family.closed_form(x, t, p), family.expected(x, t, p, z)):
        assert torch.equal(value, family.initial(x, p))
        (slopes,) = torch.autograd.grad(value.sum() + 0.0 * inputs.sum(), inputs)
        assert slopes.isfinite().all()


@every_payoff
def test_single_precision_agrees_with_double(payoff, generator):
    family = Rainbow(5, payoff)
    inputs = family.domain.sample(100, generator)
    z = torch.randn(1, 100, 6, generator=generator)
    found, label = closed_form(family, inputs), family.expected(*family.domain.split(inputs), z)
    assert found.dtype == label.dtype == torch.float32
    double = closed_form(family, inputs.double())
    torch.testing.assert_close(found.double(), double, rtol=1e-6, atol=1e-6)
    double = family.expected(*family.domain.split(inputs.double()), z.double())
    torch.testing.assert_close(label.double(), double, rtol=1e-5, atol=2e-4)


def test_one_exact_step_is_taken():
    assert weak_order(Rainbow(), FamilySteps(steps=3)) is None
    assert suitable_scheme(Rainbow()) == FamilySteps(steps=1)


@dataclass(frozen=True)
class Rough(BlackScholes, OwnSteps):
    """Has an exact sampler and steps of its own that are another thing."""

    def step(self, x, h, p, z):
        return x + self.diffusion(x, h.sqrt() * z, p)


def test_steps_that_are_not_the_exact_sampler_s_keep_their_order():
    assert weak_order(Rough(), FamilySteps(steps=3)) == 2
    assert suitable_scheme(Rough()) == FamilySteps(steps=4)


def test_jumps_are_those_of_the_payoff():
    assert jumps(Rainbow(3, Payoff("digital", on="min")))
    assert not jumps(Rainbow())


@pytest.mark.parametrize("on", ["mean", "geometric", "spread"])
def test_another_index_is_refused(on):
    with pytest.raises(
        InputError, match=f"the payoff put:{on}; say put:max or put:min, or take MultiAsset"
    ):
        Rainbow(5, Payoff("put", on=on))
