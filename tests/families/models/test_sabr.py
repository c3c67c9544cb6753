"""SABR: simulated prices against QuantLib's finite differences, and against CEV as ν → 0."""

import numpy as np
import pytest
import QuantLib as ql  # noqa: N813
import torch
from oracles import DAYS, TODAY, maturity

from feynkac.checks.checkup import require_sound
from feynkac.families.family import jumps
from feynkac.families.models.cev import Cev
from feynkac.families.models.sabr import Sabr
from feynkac.families.payoff import Payoff
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import differential_labels, draw_paths
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.reference import monte_carlo, replicated
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.family_steps import FamilySteps

FAMILY = Sabr()
DOMAIN = FAMILY.domain
SKEWED = {"x": [100.0, 0.3], "t": 1.0, "beta": 0.5, "nu": 0.5, "rho": -0.6, "strike": 95.0}
UPWARDS = {"x": [92.0, 0.2], "t": 0.6, "beta": 0.8, "nu": 0.3, "rho": 0.3, "strike": 100.0}
WILD = {"x": [108.0, 0.4], "t": 1.0, "beta": 0.4, "nu": 0.6, "rho": -0.2, "strike": 108.0}
CASES = {"skewed": SKEWED, "upwards": UPWARDS, "wild": WILD}
every_case = pytest.mark.parametrize("at", CASES.values(), ids=CASES)


def quantlib(at, grid):
    """Finite differences with `grid` steps in t and volatility, and four times as many in F."""
    ql.Settings.instance().evaluationDate = TODAY
    (F, alpha), beta = at["x"], at["beta"]
    curve = ql.YieldTermStructureHandle(ql.FlatForward(TODAY, 0.0, DAYS))
    scale = alpha * 100.0 ** (1.0 - beta)
    model = (F, scale, beta, at["nu"], at["rho"])
    engine = ql.FdSabrVanillaEngine(*model, curve, grid, 4 * grid, grid, 0, 1.0, 1e-6)
    payoff = ql.PlainVanillaPayoff(ql.Option.Call, at["strike"])
    option = ql.VanillaOption(payoff, maturity(at))
    option.setPricingEngine(engine)
    return option.NPV()


def simulated(at, steps=8, family=FAMILY):
    """Value and standard error of 16 × 8192 quasi-random paths."""
    inputs = DOMAIN.join(at, extrapolate=True)[None]
    noise = make_generator(0, "sabr", steps)
    found = replicated(family, FamilySteps(steps=steps), Sobol(), inputs, 8192, noise)
    return found.value.item(), found.error.item()


@pytest.mark.parametrize("style", ["call", "put", "digital"])
def test_it_is_well_formed(style):
    family = Sabr(Payoff(style))
    require_sound(family)
    assert jumps(family) == (style == "digital")


@every_case
def test_paths_agree_with_quantlibs_finite_differences(at):
    """The error of the grid is about a third of what a grid twice as coarse makes different."""
    fine, coarse = quantlib(at, 80), quantlib(at, 40)
    value, error = simulated(at)
    assert abs(fine - coarse) < 5e-4 * fine
    assert error < 5e-4 * fine
    assert abs(value - fine) < 4.0 * error + abs(fine - coarse)


def test_the_comparison_would_notice_another_correlation():
    fine = quantlib(UPWARDS | {"rho": 0.2}, 80)
    value, error = simulated(UPWARDS)
    assert abs(value - fine) > 10.0 * error


@every_case
def test_steps_agree_with_euler(at):
    """So that the step and the coefficients are of the same model."""
    inputs = DOMAIN.join(at)[None]
    euler = monte_carlo(FAMILY, EulerMaruyama(steps=50), inputs, 2**16, make_generator(0, "euler"))
    value, _ = simulated(at)
    assert abs(value - euler.value.item()) < 4.0 * euler.error.item()


@pytest.mark.parametrize("style", ["call", "put"])
@every_case
def test_with_constant_volatility_it_is_cev(style, at):
    """ν = 10⁻⁴ and no correlation."""
    cev = Cev(Payoff(style))
    same = {"x": at["x"][0], "sigma": at["x"][1], "rate": 0.0}
    same |= {name: at[name] for name in ("t", "beta", "strike")}
    expected = cev.closed_form(*cev.domain.split(cev.domain.join(same))).item()
    value, error = simulated(at | {"nu": 1e-4, "rho": 0.0}, 2, Sabr(Payoff(style)))
    assert error < 3e-4 * (1.0 + expected)
    assert abs(value - expected) < 4.0 * error + 1e-4 * (1.0 + expected)


def means_of_step(at, h):
    """E F_h and E α_h of one step, by Gauss–Hermite quadrature in both normals."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    grid = torch.cartesian_prod(torch.tensor(nodes), torch.tensor(nodes))
    weights = torch.tensor(np.outer(weights, weights).ravel() / weights.sum() ** 2)
    x, _, p = DOMAIN.split(DOMAIN.join(at))
    return weights @ FAMILY.step(x, torch.tensor([h], dtype=torch.float64), p, grid)


@every_case
def test_both_states_are_martingales_to_third_order(at):
    start = torch.tensor(at["x"], dtype=torch.float64)
    gaps = [means_of_step(at, h) - start for h in (0.2, 0.1, 0.05)]
    assert max(abs(gap[1].item()) for gap in gaps) < 1e-14
    errors = [abs(gap[0].item()) for gap in gaps]
    assert errors[0] < 0.01
    assert errors[0] / errors[1] > 7.0
    assert errors[1] / errors[2] > 7.0


def test_what_is_at_zero_stays_there(generator):
    inputs = DOMAIN.sample(4, generator)
    _, t, p = DOMAIN.split(inputs)
    x = torch.tensor([[0.0, 0.3], [-1.0, 0.3], [1e-3, 0.4], [100.0, 0.2]], requires_grad=True)
    moved = FAMILY.diffusion(x, torch.ones(4, 2), p)
    end = FAMILY.step(x, t, p, -torch.ones(4, 2))
    (slopes,) = torch.autograd.grad((moved + end).sum(), x)
    assert moved[:2, 0].tolist() == end[:2, 0].tolist() == [0.0, 0.0]
    assert (end[:, 0] >= 0.0).all()
    assert slopes.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_step_of_no_time_goes_nowhere(dtype, generator):
    inputs = DOMAIN.sample(10, generator, dtype)
    inputs[:, DOMAIN.slices()["t"]] = 0.0
    inputs.requires_grad_()
    x, t, p = DOMAIN.split(inputs)
    end = FAMILY.step(x, t, p, torch.ones_like(x))
    (slopes,) = torch.autograd.grad(FAMILY.initial(end, p).sum(), inputs)
    torch.testing.assert_close(end, x)
    assert slopes.isfinite().all()


def paid(family, at, z):
    """The payoffs of plain paths.  Shape: z `(steps, K, 2)` → `(K, 1)`."""
    x, t, p = at
    return family.initial(FamilySteps(steps=len(z)).terminal(family, x, t, p, z), p)


@pytest.mark.parametrize("style", ["call", "put", "digital"])
@every_case
def test_the_control_has_mean_zero_given_the_path_of_the_volatility(style, at):
    """One step: the mean over z₂ of label minus payoff, by Gauss–Legendre around both kinks."""
    family = Sabr(Payoff(style))
    point = DOMAIN.split(DOMAIN.join(at)[None])
    nodes, weights = (torch.tensor(rule) for rule in np.polynomial.legendre.leggauss(64))
    edges = torch.linspace(-8.0, 8.0, 401, dtype=torch.float64)
    width = edges.diff()[:, None]
    z2 = (edges[:-1, None] + 0.5 * width * (1.0 + nodes)).flatten()
    chances = (0.5 * width * weights).flatten() * torch.exp(-0.5 * z2.square()) / (2 * np.pi) ** 0.5
    for z1 in (-1.5, 0.0, 1.0):
        z = torch.stack([torch.full_like(z2, z1), z2], -1)[None]
        control = family.controlled(*point, z) - paid(family, point, z)
        assert control.abs().max() > 0.1
        assert abs((chances * control[:, 0]).sum().item()) < (3e-4 if style == "digital" else 1e-5)


@every_case
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_the_control_has_mean_zero(at, steps, generator):
    point = DOMAIN.split(DOMAIN.join(at)[None])
    z = torch.randn(steps, 100_000, 2, generator=generator, dtype=torch.float64)
    control = FAMILY.controlled(*point, z) - paid(FAMILY, point, z)
    assert abs(control.mean()) < 4.5 * control.std() / 100_000**0.5


def test_labels_follow_a_path_to_zero(generator):
    """As payoffs do: a put's label less its control is the strike where the path was absorbed."""
    family = Sabr(Payoff("put"))
    at = DOMAIN.join(WILD | {"x": [5.0, 0.4]}, extrapolate=True)[None]
    x, t, p = DOMAIN.split(at)
    z = torch.randn(4, 4000, 2, generator=generator, dtype=torch.float64)
    absorbed = paid(family, (x, t, p), z)[:, 0] == 108.0
    assert 20 < absorbed.sum() < 3900
    calls = [Sabr(Payoff(style)).controlled(x, t, p, z) for style in ("call", "put")]
    calls += [paid(Sabr(Payoff(style)), (x, t, p), z) for style in ("call", "put")]
    controls = (calls[0] - calls[1]) - (calls[2] - calls[3])  # mean of F̂ minus F̂
    assert controls.isfinite().all()
    assert abs(controls.mean()) < 4.5 * controls.std() / 4000**0.5


def test_the_control_takes_most_of_the_variance(generator):
    """Of values and slopes; independent of how many points are taken."""
    inputs = DOMAIN.sample(64, generator).repeat_interleave(8, 0)
    scheme = FamilySteps(steps=4)
    draw = draw_paths(FAMILY, scheme, Sobol(), inputs, 256, make_generator(0, "control"))

    def variances(labels):
        values, slopes = labels
        both = torch.cat([values, slopes * DOMAIN.std], -1)
        return both.unflatten(0, (64, 8)).var(1).median(0).values

    leaf = inputs.clone().requires_grad_()
    x, t, p = DOMAIN.split(leaf.unsqueeze(-2))
    plain = (paid(FAMILY, (x, t, p), draw.z) * draw.weights).sum(-2)
    (slopes,) = torch.autograd.grad(plain.sum(), leaf)
    before = variances((plain.detach(), slopes))
    after = variances(differential_labels(FAMILY, scheme, inputs, draw))
    assert (before > 10.0 * after).all()


def test_derivatives_of_labels_agree_with_finite_differences(generator):
    inputs = DOMAIN.sample(6, generator, torch.float64)
    inputs[:, DOMAIN.slices()["t"]].clamp_(min=0.1)
    z = torch.randn(3, 6, 2, generator=generator, dtype=torch.float64)
    assert torch.autograd.gradcheck(
        lambda flat: FAMILY.controlled(*DOMAIN.split(flat), z), inputs.requires_grad_(), atol=1e-4
    )
