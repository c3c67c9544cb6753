"""Heston: value against QuantLib, the PDE, and a step whose law is compared with the exact one."""

import math

import numpy as np
import pytest
import QuantLib as ql  # noqa: N813
import torch
from oracles import DAYS, TODAY, interior, maturity, residuals
from scipy.integrate import solve_ivp

from feynkac.checks.checkup import require_sound
from feynkac.families.measures.box import Box
from feynkac.families.models.heston import Heston, log_characteristic
from feynkac.families.payoff import Payoff
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import differential_labels, draw_paths, payoffs
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.reference import replicated
from feynkac.sampling.schemes.family_steps import FamilySteps

CALL, PUT, DIGITAL = (Heston(Payoff(style)) for style in ("call", "put", "digital"))
DOMAIN = CALL.domain
NAMES = ["S", "v", *list(DOMAIN.measures)[1:]]
HARD = {"v": 0.02, "kappa": 1.0, "theta": 0.04, "nu": 0.4, "rho": -0.9, "rate": 0.03}
EASY = {"v": 0.08, "kappa": 2.0, "theta": 0.05, "nu": 0.2, "rho": -0.4, "rate": 0.0}
STIFF = {"v": 0.05, "kappa": 4.0, "theta": 0.1, "nu": 0.1, "rho": -0.9, "rate": 0.05}
every_style = pytest.mark.parametrize("family", [CALL, PUT, DIGITAL], ids=str)
every_case = pytest.mark.parametrize("case", [EASY, HARD, STIFF], ids=["easy", "hard", "stiff"])


def points(count, generator):
    """Random inputs by name whose t is a whole number of days, at least four."""
    rows = DOMAIN.sample(count, generator, torch.float64).tolist()
    named = [dict(zip(NAMES, row, strict=True)) for row in rows]
    return [at | {"t": max(4, round(365 * at["t"])) / 365} for at in named]


def value(family, S, v, **rest):
    inputs = DOMAIN.join({"x": [S, v], **rest}, extrapolate=True)
    return family.closed_form(*DOMAIN.split(inputs)).item()


def engine(at):
    """QuantLib's semi-analytic engine, with an adaptive integration."""
    ql.Settings.instance().evaluationDate = TODAY
    rate, dividend = (
        ql.YieldTermStructureHandle(ql.FlatForward(TODAY, r, DAYS)) for r in (at["rate"], 0.0)
    )
    spot = ql.QuoteHandle(ql.SimpleQuote(at["S"]))
    numbers = (at[name] for name in ("v", "kappa", "theta", "nu", "rho"))
    model = ql.HestonModel(ql.HestonProcess(rate, dividend, spot, *numbers))
    return ql.AnalyticHestonEngine(model, 1e-11, 100_000)


def quantlib(kind, at):
    option = ql.VanillaOption(ql.PlainVanillaPayoff(kind, at["strike"]), maturity(at))
    option.setPricingEngine(engine(at))
    return option.NPV()


def parameters(case):
    """`Params` of one row, in float64."""
    numbers = {n: float(case.get(n, 100.0)) for n in NAMES if n not in ("S", "v", "t")}
    return DOMAIN.split(DOMAIN.join({"x": [100.0, case["v"]], "t": 0.0, **numbers})).p


@every_style
def test_it_is_well_formed(family):
    require_sound(family)


def test_the_splitting_is_defined_all_over_the_domain():
    """ν² ≤ 4κθ, in the worst corner with equality."""
    low, high = (
        {n: getattr(b, side)[0] for n, b in DOMAIN.measures.items()} for side in ("low", "high")
    )
    assert high["nu"] ** 2 <= 4.0 * low["kappa"] * low["theta"] * (1.0 + 1e-12)


@pytest.mark.parametrize(
    ("family", "kind"), [(CALL, ql.Option.Call), (PUT, ql.Option.Put)], ids=str
)
def test_values_agree_with_quantlib(family, kind, generator):
    for at in points(60, generator):
        assert value(family, **at) == pytest.approx(quantlib(kind, at), abs=1e-7)


def test_a_digital_option_is_the_slope_of_quantlibs_call(generator):
    """−∂C/∂K by central differences of fourth order."""
    for at in points(20, generator):
        gaps = {
            e: quantlib(ql.Option.Call, at | {"strike": at["strike"] + 0.02 * e})
            for e in (-2, -1, 1, 2)
        }
        slope = (8.0 * (gaps[1] - gaps[-1]) - (gaps[2] - gaps[-2])) / (12.0 * 0.02)
        assert value(DIGITAL, **at) == pytest.approx(-slope, abs=1e-7)


@pytest.mark.parametrize("t", [0.01, 0.003, 1e-3, 1e-5, 1e-8])
def test_small_times_agree_with_parity_and_bounds(t, generator):
    """Between the discounted gain and the price, and call − put exact; no oscillation."""
    inputs = DOMAIN.sample(500, generator, torch.float64)
    inputs[:, DOMAIN.slices()["t"]] = t
    x, _, p = DOMAIN.split(inputs)
    call, put, digital = (f.closed_form(*DOMAIN.split(inputs)) for f in (CALL, PUT, DIGITAL))
    gain = x[:, :1] - p.strike * (-p.rate * t).exp()
    torch.testing.assert_close(call - put, gain, rtol=0, atol=1e-10)
    excess = call - gain.clamp_min(0.0)
    assert excess.min() > -1e-9
    assert excess.max() < 0.5 * x.max() * (0.15 * t) ** 0.5
    far = gain.abs() > 100.0 * 10.0 * (0.15 * t) ** 0.5
    torch.testing.assert_close(digital[far], (gain[far] > 0).double(), rtol=0, atol=1e-3)


def test_the_characteristic_function_is_quantlibs():
    for case in (EASY, HARD, STIFF):
        at = case | {"S": 100.0}
        p, v = parameters(case), torch.tensor([case["v"]], dtype=torch.float64)
        for t in (0.05, 1.0):
            for u in (0.5 - 0.5j, 10.0 - 0.5j, 80.0 - 0.5j):
                z, time = torch.tensor([u]), torch.tensor([t], dtype=torch.float64)
                expected = engine(at).lnChF(u, t)
                found = log_characteristic(z.to(torch.complex128), v, time, p).item()
                assert found == pytest.approx(expected, rel=1e-10)


@every_style
def test_the_closed_form_solves_the_pde(family, generator):
    assert residuals(family, interior(family, 30, generator)).abs().max() <= 1e-8


@pytest.mark.parametrize("coefficient", ["drift", "diffusion", "discount"])
def test_the_residual_notices_a_wrong_coefficient(coefficient, generator, monkeypatch):
    right = getattr(Heston, coefficient)
    monkeypatch.setattr(Heston, coefficient, lambda self, *a: 1.01 * right(self, *a))
    assert residuals(CALL, interior(CALL, 30, generator)).abs().max() > 1e-4


@every_style
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_at_time_zero_it_is_the_payoff_with_finite_derivatives(family, dtype, generator):
    inputs = DOMAIN.sample(10, generator, dtype)
    inputs[:, DOMAIN.slices()["t"]] = 0.0
    inputs[5:, DOMAIN.slices()["strike"]] = inputs[5:, :1]
    inputs.requires_grad_()
    x, t, p = DOMAIN.split(inputs)
    u = family.closed_form(x, t, p)
    assert torch.equal(u, family.initial(x, p))
    end = family.step(x, t, p, torch.ones_like(x))
    torch.testing.assert_close(end, x)
    for result in (u, end):
        (first,) = torch.autograd.grad(result.sum() + 0.0 * inputs.sum(), inputs, create_graph=True)
        (second,) = torch.autograd.grad(first.sum() + 0.0 * inputs.sum(), inputs)
        assert first.isfinite().all()
        assert second.isfinite().all()


@every_style
def test_single_precision_agrees_with_double(family, generator):
    inputs = DOMAIN.sample(100, generator)
    found = family.closed_form(*DOMAIN.split(inputs))
    double = family.closed_form(*DOMAIN.split(inputs.double()))
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), double, rtol=1e-6, atol=1e-7)


def test_steps_in_single_precision_agree_with_double(generator):
    x, t, p = DOMAIN.split(DOMAIN.sample(500, generator))
    z = torch.randn(500, 2, generator=generator)
    double = type(p)(**{name: getattr(p, name).double() for name in p})
    for steps in (1, 32):
        found = CALL.step(x, t / steps, p, z).double()
        expected = CALL.step(x.double(), t.double() / steps, double, z.double())
        torch.testing.assert_close(found, expected, rtol=5e-6, atol=1e-8)


def test_the_variance_may_be_zero():
    x = torch.tensor([[100.0, 0.0], [100.0, -0.01]], requires_grad=True)
    p = parameters(EASY)
    p = type(p)(**{name: getattr(p, name).float() for name in p})
    noise = CALL.diffusion(x, torch.ones(2, 2), p)
    end = CALL.step(x, torch.tensor([0.1]), p, -torch.ones(2, 2))
    (slopes,) = torch.autograd.grad((noise.sum() + end.sum()), x)
    assert noise.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert (end[:, 1] >= 0.0).all()
    assert slopes.isfinite().all()


NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)


def mean_of_step(f, h, case):
    """E f(ln S_h/S_0, v_h) of one step, by Gauss–Hermite quadrature in both normals."""
    grid = torch.cartesian_prod(torch.tensor(NODES), torch.tensor(NODES))
    weights = np.outer(WEIGHTS, WEIGHTS).ravel() / WEIGHTS.sum() ** 2
    x = torch.tensor([[1.0, case["v"]]], dtype=torch.float64)
    end = CALL.step(x, torch.tensor([[h]], dtype=torch.float64), parameters(case), grid)
    return (weights * f(end[:, 0].log().numpy(), end[:, 1].numpy())).sum()


def exact_mean(a, b, h, case):
    """E exp(a ln(S_h/S_0) + b v_h) from Heston's differential equations, by SciPy."""
    kappa, theta, nu, rho, rate = (case[n] for n in ("kappa", "theta", "nu", "rho", "rate"))

    def slopes(_, y):
        B = y[0]
        squares = 0.5 * (a * a - a) + 0.5 * nu**2 * B * B
        return [squares + (rho * nu * a - kappa) * B, rate * a + kappa * theta * B]

    B, A = solve_ivp(slopes, (0.0, h), [b + 0j, 0j], rtol=1e-12, atol=1e-13).y[:, -1]
    return np.exp(A + B * case["v"])


@every_case
@pytest.mark.parametrize("h", [0.05, 0.25, 1.0])
def test_prices_are_martingales_and_two_moments_of_the_variance_exact(case, h):
    growth = mean_of_step(lambda log_s, _: np.exp(log_s), h, case)
    assert growth == pytest.approx(math.exp(case["rate"] * h), rel=1e-12)
    kappa, theta, nu, v = (case[name] for name in ("kappa", "theta", "nu", "v"))
    decay = math.exp(-kappa * h)
    mean = theta + (v - theta) * decay
    variance = nu**2 / kappa * (1.0 - decay) * (v * decay + theta / 2.0 * (1.0 - decay))
    assert mean_of_step(lambda _, v: v, h, case) == pytest.approx(mean, rel=1e-12)
    square = mean_of_step(lambda _, v: v**2, h, case)
    assert square - mean**2 == pytest.approx(variance, rel=1e-10)


@every_case
@pytest.mark.parametrize(("a", "b"), [(4j, 0.0), (2j, 2.0)])
def test_one_step_is_right_to_third_order(case, a, b):
    """The error of E exp(a ln S_h + b v_h) is ∝ h³."""

    def error(h):
        found = mean_of_step(lambda log_s, v: np.exp(a * log_s + b * v), h, case)
        return abs(found - exact_mean(a, b, h, case))

    errors = [error(h) for h in (0.05, 0.025, 0.0125)]
    assert errors[0] < 2e-5
    assert errors[0] / errors[1] > 7.4
    assert errors[1] / errors[2] > 7.4


def test_many_steps_converge_with_order_two(generator):
    """Mean of |error|/(1 + u), with noise of about 1e-4."""
    inputs = DOMAIN.sample(24, generator, torch.float64)
    u = CALL.closed_form(*DOMAIN.split(inputs))

    def error(steps):
        noise = make_generator(0, "heston", steps)
        found = replicated(CALL, FamilySteps(steps=steps), Sobol(), inputs, 4096, noise, 4)
        return ((found.value - u).abs() / (1.0 + u)).mean().item()

    assert error(1) < 0.02
    assert error(2) < 0.004
    assert error(4) < 8e-4
    assert error(8) < 3e-4


MARKET = CALL.on(t=Box(0.02, 5.0), nu=Box(0.1, 1.5))
INDEX = CALL.on(
    x=Box([90.0, 0.15], [110.0, 0.25]),
    t=Box(0.02, 3.0),
    kappa=Box(14.0, 17.0),
    theta=Box(0.06, 0.09),
    nu=Box(3.0, 3.6),
    rho=Box(-0.6, -0.4),
)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "bound"), [(MARKET, 6e-4), (INDEX, 1.2e-3)], ids=str)
def test_sixteen_steps_do_where_the_variance_touches_zero(family, bound):
    """ν² up to fifty times 4κθ: root mean square of error/(1 + u), noise included."""
    inputs = family.domain.sample(32, make_generator(5, "x"), torch.float64)
    u = family.closed_form(*family.domain.split(inputs))
    noise = make_generator(0, "heston", "market")
    found = replicated(family, FamilySteps(steps=16), Sobol(), inputs, 4096, noise, 4)
    error = (found.value - u) / (1.0 + u)
    assert error.square().mean().sqrt() < bound


@pytest.mark.parametrize("family", [MARKET, INDEX], ids=str)
def test_slopes_are_finite_where_the_variance_touches_zero(family, generator):
    inputs = family.domain.sample(32, generator)
    scheme = FamilySteps(steps=8)
    draw = draw_paths(family, scheme, Sobol(), inputs, 512, generator)
    values, slopes = differential_labels(family, scheme, inputs, draw)[:2]
    leaf = inputs.double().requires_grad_()
    u = family.closed_form(*family.domain.split(leaf))
    (exact,) = torch.autograd.grad(u.sum(), leaf)
    assert values.isfinite().all()
    error = ((slopes - exact) * family.domain.std).square().mean(0).sqrt()
    size = (exact * family.domain.std).square().mean(0).sqrt()
    assert (error < 0.1 * size.max()).all()


@pytest.mark.slow
def test_pathwise_slopes_agree_with_the_closed_form(generator):
    inputs = DOMAIN.sample(6, generator, torch.float64)
    scheme = FamilySteps(steps=32)  # with 8, the error of the scheme shows in the slope in nu
    slopes = []
    for repeat in range(4):
        draw = draw_paths(CALL, scheme, Sobol(), inputs, 2048, make_generator(repeat, "slopes"))
        slopes.append(differential_labels(CALL, scheme, inputs, draw)[1])
    slopes = torch.stack(slopes)
    leaf = inputs.clone().requires_grad_()
    (exact,) = torch.autograd.grad(CALL.closed_form(*DOMAIN.split(leaf)).sum(), leaf)
    gap = (slopes.mean(0) - exact).abs()
    assert (gap < 6.0 * slopes.std(0) / 2.0 + 2e-3 * (1.0 + exact.abs())).all()


def test_paths_of_one_start_may_be_many(generator):
    inputs = DOMAIN.sample(3, generator)
    x, t, p = DOMAIN.split(inputs.unsqueeze(-2))
    z = torch.randn(3, 5, 2, generator=generator)
    end = CALL.step(x, t, p, z)
    row_x, row_t, row_p = DOMAIN.split(inputs[1])
    assert end.shape == (3, 5, 2)
    torch.testing.assert_close(end[1, 2], CALL.step(row_x, row_t, row_p, z[1, 2]))


@pytest.mark.parametrize("style", ["call", "put", "digital"])
def test_labels_are_the_mean_over_the_noise_of_the_price(style, generator):
    """Given z₁, many z₂: the payoffs of `step` have the mean that `expected` says."""
    family = Heston(Payoff(style))
    x, t, p = family.domain.split(family.domain.sample(8, generator, torch.float64)[:, None])
    z = torch.randn(2, 8, 20_000, 2, generator=generator, dtype=torch.float64)
    z[..., 0] = z[..., :1, 0]
    end = FamilySteps(steps=2).terminal(family, x, t, p, z)
    earned = (-p.rate * t).exp() * family.initial(end, p)
    error = earned.std(1) / 20_000**0.5
    expected = family.expected(x, t, p, z[:, :, :1])[:, 0]
    assert ((earned.mean(1) - expected).abs() <= 4.5 * error + 1e-12).all()


def test_labels_have_less_noise_than_payoffs(generator):
    family = Heston()
    inputs = family.domain.sample(16, generator, torch.float64)
    z = torch.randn(4, 16, 500, 2, generator=generator, dtype=torch.float64)
    labels = payoffs(family, FamilySteps(steps=4), inputs, z)
    x, t, p = family.domain.split(inputs.unsqueeze(-2))
    plain = family.initial(FamilySteps(steps=4).terminal(family, x, t, p, z), p)
    assert (labels.var(1) < 0.9 * plain.var(1) + 1e-12).all()
    assert labels.var(1).mean() < 0.3 * plain.var(1).mean()
