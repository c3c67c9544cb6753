"""Spread options: QuantLib, Margrabe's formula, the equation, and labels given one price."""

import math

import pytest
import QuantLib as ql  # noqa: N813
import torch
from oracles import interior, market, maturity, residuals
from scipy import integrate
from scipy.stats import norm

from feynkac.checks.checkup import require_sound
from feynkac.errors import InputError
from feynkac.families.family import jumps
from feynkac.families.models.multi_asset import MultiAsset
from feynkac.families.models.spread import Spread
from feynkac.families.payoff import Payoff
from feynkac.methods.fast.choose_scheme import suitable_scheme
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import payoffs
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.path import weak_order
from feynkac.sampling.reference import monte_carlo, replicated
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.family_steps import FamilySteps

PAYOFFS = [Payoff(style, on="spread") for style in ("call", "put", "digital")]
every_payoff = pytest.mark.parametrize("payoff", PAYOFFS, ids=str)
NEAR = {"x": [95.0, 105.0], "t": 0.6, "sigma": [0.2, 0.35], "rho": 0.4, "rate": 0.03}
FAR = {"x": [110.0, 90.0], "t": 1.0, "sigma": [0.1, 0.4], "rho": 0.9, "rate": 0.05}
SHORT = {"x": [101.0, 97.0], "t": 0.1, "sigma": [0.4, 0.1], "rho": 0.1, "rate": 0.0}


def closed_form(family, at):
    return family.closed_form(*family.domain.split(family.domain.join(at))).item()


def choi(style, at):
    """QuantLib's quadrature for differences of lognormal numbers."""
    rho = ql.Matrix(2, 2, at["rho"])
    rho[0][0] = rho[1][1] = 1.0
    common = {"rate": at["rate"], "dividend": 0.0}
    assets = zip(at["x"], at["sigma"], strict=True)
    processes = [market({"x": x, "sigma": sigma, **common}) for x, sigma in assets]
    kind = ql.Option.Call if style == "call" else ql.Option.Put
    payoff = ql.SpreadBasketPayoff(ql.PlainVanillaPayoff(kind, at["strike"]))
    option = ql.BasketOption(payoff, maturity(at))
    option.setPricingEngine(ql.ChoiBasketEngine(processes, rho, 30.0))
    return option.NPV()


@every_payoff
def test_it_is_well_formed(payoff):
    family = Spread(payoff)
    require_sound(family)
    assert jumps(family) == (payoff.style == "digital")
    assert family.domain == MultiAsset(2, payoff).domain


@pytest.mark.parametrize("style", ["call", "put"])
@pytest.mark.parametrize("strike", [1.0, 4.0, 20.0])
@pytest.mark.parametrize("at", [NEAR, FAR, SHORT], ids=["near", "far", "short"])
def test_it_agrees_with_quantlib(style, strike, at):
    at = at | {"strike": strike, "t": round(365 * at["t"]) / 365}
    expected = choi(style, at)
    assert closed_form(Spread(Payoff(style, "spread")), at) == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("at", [NEAR, FAR, SHORT], ids=["near", "far", "short"])
def test_an_exchange_is_margrabes(at):
    (a, b), (x, y) = at["sigma"], at["x"]
    v = math.sqrt((a * a + b * b - 2.0 * at["rho"] * a * b) * at["t"])
    d = math.log(x / y) / v + v / 2
    expected = x * norm.cdf(d) - y * norm.cdf(d - v)
    assert closed_form(Spread(), at | {"strike": 0.0}) == pytest.approx(expected, abs=1e-9)


def test_a_digital_spread_is_the_chance_to_end_above_the_strike():
    """SciPy's integral of the chance that S₁ > S₂ + K, given S₂."""
    (x, y), (a, b), t = NEAR["x"], NEAR["sigma"], NEAR["t"]

    def integrand(z):
        strike = 4.0 + y * math.exp((0.03 - b * b / 2) * t + b * math.sqrt(t) * z)
        mean = math.log(x) + (0.03 - a * a / 2) * t + 0.4 * a * math.sqrt(t) * z
        above = norm.sf(math.log(strike), mean, a * math.sqrt((1.0 - 0.4**2) * t))
        return norm.pdf(z) * above

    chance = integrate.quad(integrand, -10.0, 10.0, epsabs=1e-12)[0]
    found = closed_form(Spread(PAYOFFS[2]), NEAR | {"strike": 4.0})
    assert found == pytest.approx(math.exp(-0.03 * t) * chance, abs=1e-10)


@every_payoff
def test_the_closed_form_solves_the_equation(payoff, generator):
    family = Spread(payoff)
    assert residuals(family, interior(family, 40, generator)).abs().max() < 1e-8


@every_payoff
def test_exact_paths_agree_with_the_closed_form(payoff, generator):
    family = Spread(payoff)
    inputs = interior(family, 32, generator)
    found = monte_carlo(family, Exact(), inputs, 40_000, generator)
    expected = family.closed_form(*family.domain.split(inputs))
    assert ((found.value - expected).abs() < 4.5 * found.error + 1e-6).all()


def test_exact_paths_have_the_law_of_multi_asset():
    """Another mix of normals for the same correlation."""
    inputs = Spread().domain.join(NEAR | {"strike": 4.0}).unsqueeze(0)
    ends = []
    for family in (Spread(), MultiAsset(2, PAYOFFS[0])):
        noise = make_generator(0, family.name())
        ends.append(replicated(family, Exact(), Sobol(), inputs, 4096, noise))
    difference = (ends[0].value - ends[1].value).abs()
    assert difference < 4.5 * (ends[0].error + ends[1].error)


@every_payoff
@pytest.mark.parametrize("steps", [1, 3])
def test_labels_are_means_over_the_other_normal(payoff, steps, generator):
    family = Spread(payoff)
    inputs = interior(family, 8, generator)
    z = torch.randn(steps, 8, 40_000, 2, generator=generator, dtype=torch.float64)
    z[..., 0] = z[..., :1, 0]
    x, t, p = family.domain.split(inputs[:, None])
    end = FamilySteps(steps=steps).terminal(family, x, t, p, z)
    earned = (-p.rate * t).exp() * family.initial(end, p)
    label = payoffs(family, FamilySteps(steps=steps), inputs, z[:, :, :1, :1])[:, 0]
    error = earned.std(1) / 40_000**0.5
    assert ((earned.mean(1) - label).abs() < 4.5 * error + 1e-6).all()


def test_derivatives_of_labels_agree_with_finite_differences(generator):
    family = Spread()
    inputs = interior(family, 4, generator).requires_grad_()
    z = torch.randn(1, 4, 1, generator=generator, dtype=torch.float64)
    assert torch.autograd.gradcheck(
        lambda flat: family.expected(*family.domain.split(flat), z), inputs, atol=1e-5, rtol=1e-5
    )


@every_payoff
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_at_time_zero_it_is_the_payoff(payoff, dtype, generator):
    family = Spread(payoff)
    inputs = family.domain.sample(50, generator, dtype)
    inputs[:, family.domain.slices()["t"]] = 0.0
    inputs.requires_grad_()
    x, t, p = family.domain.split(inputs)
    z = torch.randn(1, 50, 1, generator=generator, dtype=dtype)
    assert torch.equal(family.closed_form(x, t, p), family.initial(x, p))
    label = family.expected(x, t, p, z)
    torch.testing.assert_close(label, family.initial(x, p), rtol=1e-5, atol=1e-5)
    (slopes,) = torch.autograd.grad(label.sum() + 0.0 * inputs.sum(), inputs)
    assert slopes.isfinite().all()


def test_one_exact_step_is_taken():
    assert weak_order(Spread(), FamilySteps(steps=3)) is None
    assert suitable_scheme(Spread()) == FamilySteps(steps=1)


def test_another_payoff_is_refused():
    with pytest.raises(InputError, match="got the payoff put:max; say put:spread, or take MultiA"):
        Spread(Payoff("put", on="max"))
