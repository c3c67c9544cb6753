"""Along a path: time, discount, source, walls and noise, on equations with known solutions.

Most means are taken without noise: by cubature where a label is a polynomial of its normals, by
quadrature where it depends on one of them. What remains is the discretisation error itself.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
import QuantLib as ql  # noqa: N813
import torch
from scipy import integrate, special, stats

import feynkac as fk
from feynkac.families.capabilities import (
    Absorbing,
    BoundaryValue,
    ConstantDiscount,
    Discount,
    ExactSampler,
    NoiseDimension,
    Source,
    TimeDependent,
    VectorValued,
)
from feynkac.families.domain import Domain
from feynkac.families.family import Family, noise_dim
from feynkac.families.measures.box import Box
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.families.models.black_scholes_merton import BlackScholesMerton
from feynkac.sampling import path
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import differential_labels, payoffs
from feynkac.sampling.noise.noise import Draw, Independent, Shape, normals
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.path import path_states, weak_order
from feynkac.sampling.reference import monte_carlo, replicated
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.milstein import Milstein
from feynkac.sampling.schemes.ninomiya_victoir import NinomiyaVictoir


def join(family, **at):
    """One flat input.  Shape: (1, dim)."""
    return family.domain.join(at, extrapolate=True)[None]


def cubature(family, scheme, inputs):
    """E of labels that are polynomials of degree 3 in their normals: Σ f(±√D e_j) / 2D."""
    dims = scheme.increments * noise_dim(family)
    arms = math.sqrt(dims) * torch.eye(dims, dtype=torch.float64)
    points = torch.cat([arms, -arms]).reshape(2 * dims, scheme.increments, 1, -1)
    z = torch.ones(scheme.draws, 1, 2 * dims, noise_dim(family), dtype=torch.float64)
    z[: scheme.increments] = points.transpose(0, 1).transpose(1, 2)
    return payoffs(family, scheme, inputs, z).mean(-2).squeeze(0)


def quadrature(kink):
    """Draws of one normal z ~ N(0, 1), by Gauss and Legendre on each side of a kink."""
    nodes, lengths = np.polynomial.legendre.leggauss(100)
    half = np.array([[kink + 9.0], [9.0 - kink]]) / 2
    z = torch.tensor(np.array([[kink - 9.0], [kink + 9.0]]) / 2 + half * nodes).flatten()
    weights = torch.tensor(half * lengths).flatten() * (-0.5 * z.square()).exp()
    return Draw(z.reshape(1, 1, -1, 1), (weights / weights.sum()).reshape(1, -1, 1))


def assert_simulated(family, scheme, inputs, expected, paths=40_000):
    """Within 4 standard errors."""
    found = monte_carlo(family, scheme, inputs, paths, make_generator(0, "path"))
    expected = torch.as_tensor(expected, dtype=torch.float64)
    assert ((found.value - expected).abs() < 4 * found.error).all(), (found, expected)
    return found.error.max().item()


def assert_order_one(family, scheme, inputs, expected):
    """The error is seen with 4 steps and gone when 4 and 16 are extrapolated."""
    coarse, fine = (
        monte_carlo(family, scheme.with_steps(n), inputs, 100_000, make_generator(0, "order", n))
        for n in (4, 16)
    )
    assert (coarse.value - expected).abs() > 8 * coarse.error
    error = torch.hypot(4 * fine.error, coarse.error) / 3
    assert ((4 * fine.value - coarse.value) / 3 - expected).abs() < 4 * error


def assert_order_two(errors):
    """Each doubling of the steps divides the error by 4."""
    ratios = [a / b for a, b in itertools.pairwise(errors)]
    assert ratios == pytest.approx([4.0] * len(ratios), rel=0.1), errors


# Coefficients that depend on time


@dataclass(frozen=True)
class Warming(Family, TimeDependent):
    """dX = s√(1 + t) dB, φ = x²:  u = x² + s²(t + t²/2)."""

    @property
    def domain(self):
        return Domain(x=Box(-1, 1), t=Box(0, 1), s=Box(0.1, 1))

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return p.s * (1.0 + p.t).sqrt() * dw

    def initial(self, x, p):
        return x.square()


@pytest.mark.parametrize("scheme", [EulerMaruyama(3), Milstein(2), NinomiyaVictoir(1)])
def test_a_variance_linear_in_time_is_exact_at_the_middle_of_steps(scheme):
    inputs = join(Warming(), x=0.5, t=0.8, s=0.7)
    expected = 0.5**2 + 0.7**2 * (0.8 + 0.8**2 / 2)
    assert cubature(Warming(), scheme, inputs).item() == pytest.approx(expected, rel=1e-12)
    assert_simulated(Warming(), scheme, inputs, expected)


@dataclass(frozen=True)
class Seasonal(Family, TimeDependent):
    """dX = −3t²X dt + s√(1 + t²) dB, φ = x²:  u = x²e^{−2t³} + s²∫₀ᵗ (1 + r²) e^{−2r³} dr."""

    @property
    def domain(self):
        return Domain(x=Box(-1, 1), t=Box(0, 1), s=Box(0.1, 1))

    def drift(self, x, p):
        return -3.0 * p.t.square() * x

    def diffusion(self, x, dw, p):
        return p.s * (1.0 + p.t.square()).sqrt() * dw

    def initial(self, x, p):
        return x.square()

    @staticmethod
    def solution(x, t, s):
        gained, _ = integrate.quad(lambda r: (1 + r**2) * np.exp(-2 * r**3), 0.0, t)
        return x**2 * np.exp(-2 * t**3) + s**2 * gained


SEASON = {"x": 0.9, "t": 0.9, "s": 0.6}


def test_time_on_a_path_is_what_is_left_of_it():
    """The drift is strong for a new path: time that ran forwards would miss by 0.1."""
    u = Seasonal.solution(**SEASON)
    assert_simulated(Seasonal(), EulerMaruyama(200), join(Seasonal(), **SEASON), u, 20_000)
    assert_simulated(Seasonal(), NinomiyaVictoir(16), join(Seasonal(), **SEASON), u)


def test_splitting_keeps_order_two_with_time_in_the_coefficients():
    u, inputs = Seasonal.solution(**SEASON), join(Seasonal(), **SEASON)
    steps = (8, 16, 32)
    errors = [cubature(Seasonal(), NinomiyaVictoir(n), inputs).item() - u for n in steps]
    assert abs(errors[0]) < 0.001
    assert_order_two(errors)


def test_the_label_s_slopes_know_the_time():
    """∂u/∂t of Warming is s²(1 + t), by pathwise derivatives."""
    inputs, count = join(Warming(), x=0.5, t=0.8, s=0.7).expand(40_000, -1), 40_000
    draw = Independent().draw(Shape(count, 1, 2, 1), make_generator(0, "slopes"), torch.float64)
    _, slopes = differential_labels(Warming(), EulerMaruyama(2), inputs, draw)
    expected = torch.tensor([1.0, 0.49 * 1.8, 1.4 * (0.8 + 0.32)], dtype=torch.float64)
    assert ((slopes.mean(0) - expected).abs() < 4 * slopes.std(0) / count**0.5).all()


# Sources and discounts


@dataclass(frozen=True)
class Heated(Family, Source, Discount, ExactSampler):
    """dX = s dB, f = x², c = r, φ = x:  u = e^{−rt} x + ∫₀ᵗ e^{−rv} (x² + s²v) dv."""

    @property
    def domain(self):
        return Domain(x=Box(-1, 1), t=Box(0, 1), s=Box(0.1, 1), r=Box(0, 1))

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return p.s * dw

    def initial(self, x, p):
        return x

    def exact(self, x, t, p, z):
        return x + p.s * t.sqrt() * z

    def source(self, x, p):
        return x.square()

    def discount(self, x, p):
        return p.r.expand_as(x)

    @staticmethod
    def solution(x, t, s, r):
        gained, _ = integrate.quad(lambda v: np.exp(-r * v) * (x**2 + s**2 * v), 0.0, t)
        return np.exp(-r * t) * x + gained


@pytest.mark.parametrize("kind", [Exact, EulerMaruyama, NinomiyaVictoir])
def test_a_source_is_collected_with_order_two(kind):
    at = {"x": 0.8, "t": 1.0, "s": 0.9, "r": 0.7}
    u, inputs = Heated.solution(**at), join(Heated(), **at)
    errors = [cubature(Heated(), kind(n), inputs).item() - u for n in (1, 2, 4, 8)]
    assert abs(errors[0]) < 0.1
    assert_order_two(errors)
    assert_simulated(Heated(), kind(8), inputs, u + errors[-1])


@dataclass(frozen=True)
class Lit(Family, Source, TimeDependent):
    """dX = s dB, f = x² cos t, φ = 0:  u = ∫₀ᵗ (x² + s²v) cos(t − v) dv."""

    @property
    def domain(self):
        return Domain(x=Box(-1, 1), t=Box(0, 3), s=Box(0.1, 1))

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return p.s * dw

    def initial(self, x, p):
        return torch.zeros_like(x)

    def source(self, x, p):
        return x.square() * p.t.cos()


def test_a_source_may_depend_on_time():
    x, t, s = 0.5, 3.0, 0.8
    u, _ = integrate.quad(lambda v: (x**2 + s**2 * v) * np.cos(t - v), 0.0, t)
    inputs = join(Lit(), x=x, t=t, s=s)
    errors = [cubature(Lit(), EulerMaruyama(n), inputs).item() - u for n in (8, 16, 32)]
    assert_order_two(errors)
    assert_simulated(Lit(), EulerMaruyama(32), inputs, u + errors[-1])


@dataclass(frozen=True)
class Bond(Family, Discount, ExactSampler):
    """Vasicek's bond: dX = κ(θ − X) dt + σ dB, c = x, φ = 1."""

    @property
    def domain(self):
        rates = {"kappa": Box(0.1, 2), "theta": Box(0, 0.1), "sigma": Box(0.01, 0.5)}
        return Domain(x=Box(0, 0.1), t=Box(0, 2), **rates)

    def drift(self, x, p):
        return p.kappa * (p.theta - x)

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def initial(self, x, p):
        return torch.ones_like(x)

    def exact(self, x, t, p, z):
        mean = p.theta + (x - p.theta) * (-p.kappa * t).exp()
        return mean + p.sigma * (-(-2.0 * p.kappa * t).expm1() / (2.0 * p.kappa)).sqrt() * z

    def discount(self, x, p):
        return x


BOND = {"x": 0.08, "t": 2.0, "kappa": 1.5, "theta": 0.03, "sigma": 0.5}


def quantlib_bond(x, t, kappa, theta, sigma):
    return ql.Vasicek(x, kappa, theta, sigma, 0.0).discountBond(0.0, t, x)


def bond_price(scheme):
    """E of a label whose logarithm is linear in the normals: e^{a + |b|²/2}."""
    units = torch.eye(scheme.increments, dtype=torch.float64)
    points = torch.cat([torch.zeros_like(units[:1]), units, units[:1] + units[-1:]])
    z = torch.ones(scheme.draws, 1, len(points), 1, dtype=torch.float64)
    z[: scheme.increments] = points.T[:, None, :, None]
    a, *ends, both = payoffs(Bond(), scheme, join(Bond(), **BOND), z).log().flatten().tolist()
    b = [end - a for end in ends]
    assert both - a == pytest.approx(b[0] + b[-1], rel=1e-9)
    return math.exp(a + sum(v**2 for v in b) / 2)


@pytest.mark.parametrize("kind", [Exact, NinomiyaVictoir])
def test_a_discount_that_depends_on_the_state_has_order_two(kind):
    prices = [bond_price(kind(n)) for n in (4, 8, 16, 32)]
    assert_order_two([price - quantlib_bond(**BOND) for price in prices])
    extrapolated = (4 * prices[-1] - prices[-2]) / 3
    assert extrapolated == pytest.approx(quantlib_bond(**BOND), abs=1e-6)


@pytest.mark.parametrize("scheme", [Exact(16), NinomiyaVictoir(16), EulerMaruyama(200)])
def test_simulated_bonds_cost_what_quantlib_says(scheme):
    price = quantlib_bond(**BOND)
    error = assert_simulated(Bond(), scheme, join(Bond(), **BOND), price, 20_000)
    assert error < 0.003


def test_slopes_of_bonds_are_those_of_quantlib():
    count, step = 40_000, 1e-5
    draw = Independent().draw(Shape(count, 1, 16, 1), make_generator(0, "slopes"), torch.float64)
    inputs = join(Bond(), **BOND).expand(count, -1)
    _, slopes = differential_labels(Bond(), Exact(16), inputs, draw)
    expected = [
        (quantlib_bond(**BOND | {n: v + step}) - quantlib_bond(**BOND | {n: v - step})) / 2 / step
        for n, v in BOND.items()
    ]
    assert ((slopes.mean(0) - slopes.new_tensor(expected)).abs() < 4 * errors_of(slopes)).all()


def errors_of(values):
    return values.std(0) / len(values) ** 0.5


# Walls


class Walk(Family, ExactSampler):
    """dX = m dt + s dB."""

    @property
    def domain(self):
        return Domain(x=Box(0.1, 0.9), t=Box(0, 1), m=Box(-1, 1), s=Box(0.5, 1))

    def drift(self, x, p):
        return p.m.expand_as(x)

    def diffusion(self, x, dw, p):
        return p.s * dw

    def exact(self, x, t, p, z):
        return x + p.m * t + p.s * t.sqrt() * z


@dataclass(frozen=True)
class Killed(Walk, Absorbing):
    """Absorbed at 0, φ = 1: the chance to survive."""

    def initial(self, x, p):
        return torch.ones_like(x)

    def distance(self, x, p):
        return x


def hitting_time(x, m, s):
    """Of 0 from x, for m < 0: the inverse Gaussian law of SciPy."""
    return stats.invgauss(-(s**2) / (m * x), scale=(x / s) ** 2)


WALK = {"x": 0.6, "t": 0.7, "m": -0.5, "s": 0.8}


def survival(x, t, m, s):
    return hitting_time(x, m, s).sf(t)


def one_step(x, t, m, s):
    """Draws for one step; there is a kink where it ends at the wall."""
    return quadrature(kink=-(x + m * t) / (s * t**0.5))


def mean_label(family, scheme, at):
    draw = one_step(**at)
    z = draw.z.expand(scheme.draws, -1, -1, -1)
    return (payoffs(family, scheme, join(family, **at), z) * draw.weights).sum().item()


@pytest.mark.parametrize("scheme", [Exact(), EulerMaruyama(1), NinomiyaVictoir(1)])
def test_one_step_to_one_wall_has_no_error(scheme):
    found = mean_label(Killed(), scheme, WALK)
    assert found == pytest.approx(survival(**WALK), abs=1e-12)


@pytest.mark.parametrize("scheme", [Exact(1), Exact(5), EulerMaruyama(4)])
def test_nor_have_several(scheme):
    assert_simulated(Killed(), scheme, join(Killed(), **WALK), survival(**WALK))


def test_without_drift_it_is_the_reflection_principle():
    found = mean_label(Killed(), Exact(), WALK | {"m": 0.0})
    assert found == pytest.approx(special.erf(0.6 / (0.8 * math.sqrt(2 * 0.7))), abs=1e-12)


def survival_slopes(step=1e-5):
    return [
        (survival(**WALK | {n: v + step}) - survival(**WALK | {n: v - step})) / (2 * step)
        for n, v in WALK.items()
    ]


def test_pathwise_slopes_see_the_wall():
    """In all inputs; a walk that is killed by a coin or at the end alone has no such slopes."""
    _, slopes = differential_labels(Killed(), Exact(), join(Killed(), **WALK), one_step(**WALK))
    assert slopes[0].tolist() == pytest.approx(survival_slopes(), abs=1e-8)


@pytest.mark.parametrize("scheme", [Exact(3), EulerMaruyama(4)])
def test_pathwise_slopes_of_several_steps(scheme):
    count, generator = 60_000, make_generator(0, "slopes")
    draw = Independent().draw(Shape(count, 1, scheme.draws, 1), generator, torch.float64)
    inputs = join(Killed(), **WALK).expand(count, -1)
    _, slopes = differential_labels(Killed(), scheme, inputs, draw)
    expected = slopes.new_tensor(survival_slopes())
    assert ((slopes.mean(0) - expected).abs() < 4 * errors_of(slopes)).all()


@dataclass(frozen=True)
class Trapped(Walk, Absorbing):
    """Absorbed at 0 and 1, φ = 1."""

    def initial(self, x, p):
        return torch.ones_like(x)

    def distance(self, x, p):
        return torch.cat([x, 1.0 - x], dim=-1)


def survival_between_walls(x, t, m, s):
    """Sine series of e^{mx/s²} u, which solves the heat equation with potential −m²/(2s²)."""
    n = np.arange(1, 60)
    tilt, rate = m / s**2, n * np.pi
    coefficients = 2 * rate * (1 - (-1.0) ** n * np.exp(tilt)) / (rate**2 + tilt**2)
    decay = np.exp(-0.5 * (rate**2 * s**2 + m**2 / s**2) * t)
    return np.exp(-tilt * x) * (coefficients * decay * np.sin(rate * x)).sum()


def test_the_series_agrees_with_a_wall_that_is_far_away():
    """Stretched by 10: walls at 0 and 10, of which only the first matters."""
    expected = survival(x=0.6, t=0.7, m=-0.5, s=0.8)
    assert survival_between_walls(0.06, 0.7, -0.05, 0.08) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("x", [0.2, 0.5])
def test_between_two_walls_a_few_steps_suffice(x):
    at = {"x": x, "t": 0.3, "m": -0.5, "s": 0.7}
    expected = survival_between_walls(**at)
    assert 0.1 < expected < 0.6
    assert_simulated(Trapped(), Exact(8), join(Trapped(), **at), expected)


@dataclass(frozen=True)
class Rewarded(Walk, BoundaryValue):
    """Paid 1 at 0, φ = 0: the chance to be absorbed."""

    def initial(self, x, p):
        return torch.zeros_like(x)

    def distance(self, x, p):
        return x

    def boundary_value(self, x, p):
        return torch.ones_like(x)


def test_what_is_absorbed_is_paid():
    found = mean_label(Rewarded(), Exact(), WALK)
    assert found == pytest.approx(1.0 - survival(**WALK), abs=1e-12)
    assert_simulated(Rewarded(), Exact(5), join(Rewarded(), **WALK), 1.0 - survival(**WALK))


@dataclass(frozen=True)
class LeavesRight(Walk, BoundaryValue):
    """Exit from (0, 1), g = 1{x > ½}: the chance to leave at 1 before t."""

    def initial(self, x, p):
        return torch.zeros_like(x)

    def distance(self, x, p):
        return torch.cat([x, 1.0 - x], dim=-1)

    def boundary_value(self, x, p):
        return (x > 0.5).to(x.dtype)


@dataclass(frozen=True)
class LeavesRightToo(Walk, BoundaryValue):
    """The same with g = x, which differs from it off the walls alone."""

    def initial(self, x, p):
        return torch.zeros_like(x)

    def distance(self, x, p):
        return torch.cat([x, 1.0 - x], dim=-1)

    def boundary_value(self, x, p):
        return x


@pytest.mark.parametrize("family", [LeavesRight(), LeavesRightToo()], ids=repr)
@pytest.mark.parametrize("x", [0.3, 0.8])
def test_brownian_motion_leaves_an_interval(family, x):
    """m = 0:  x + Σ 2(−1)ⁿ/(nπ) e^{−n²π²s²t/2} sin nπx."""
    at = {"x": x, "t": 0.3, "m": 0.0, "s": 0.8}
    n = np.arange(1, 60)
    decay = np.exp(-0.5 * (n * np.pi * 0.8) ** 2 * 0.3)
    expected = x + (2 * (-1.0) ** n / (n * np.pi) * decay * np.sin(n * np.pi * x)).sum()
    assert_simulated(family, Exact(16), join(family, **at), expected)


@dataclass(frozen=True)
class Ruined(Walk, BoundaryValue, TimeDependent):
    """Paid the time that is left at 0, φ = 0:  u = E (t − τ)⁺ = ∫₀ᵗ P(τ < v) dv."""

    def initial(self, x, p):
        return torch.zeros_like(x)

    def distance(self, x, p):
        return x

    def boundary_value(self, x, p):
        return p.t.expand_as(x)


def test_the_value_at_the_wall_may_depend_on_time():
    law = hitting_time(0.6, -0.5, 0.8)
    expected, _ = integrate.quad(law.cdf, 0.0, 0.7)
    assert_order_one(Ruined(), EulerMaruyama(1), join(Ruined(), **WALK), expected)


@dataclass(frozen=True)
class Insured(Walk, BoundaryValue, Discount):
    """Paid 1 at 0, discounted at the rate r = ½ from then on:  u = E e^{−rτ} 1{τ < t}."""

    def initial(self, x, p):
        return torch.zeros_like(x)

    def distance(self, x, p):
        return x

    def boundary_value(self, x, p):
        return torch.ones_like(x)

    def discount(self, x, p):
        return torch.full_like(x, 0.5)


def test_what_is_paid_at_the_wall_is_discounted_until_then():
    law = hitting_time(0.6, -0.5, 0.8)
    expected, _ = integrate.quad(lambda v: np.exp(-0.5 * v) * law.pdf(v), 0.0, 0.7)
    assert_simulated(Insured(), Exact(16), join(Insured(), **WALK), expected)


@dataclass(frozen=True)
class HalfPlane(Family, BoundaryValue, TimeDependent):
    """dX = s dB in x₂ > 0, φ = x₁², g = x₁² + s²t:  u = x₁² + s²t."""

    @property
    def domain(self):
        return Domain(x=Box(0.1, 1, shape=(2,)), t=Box(0, 1), s=Box(0.5, 1))

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return p.s * dw

    def initial(self, x, p):
        return x[..., :1].square()

    def distance(self, x, p):
        return x[..., 1:]

    def boundary_value(self, x, p):
        return x[..., :1].square() + p.s.square() * p.t


def test_the_place_where_a_path_leaves_is_found():
    inputs = join(HalfPlane(), x=[0.1, 0.3], t=0.5, s=0.9)
    assert_order_one(HalfPlane(), EulerMaruyama(1), inputs, 0.1**2 + 0.9**2 * 0.5)


def at_rest(family, x):
    """Labels of paths that start at x with no time to run, and their slopes in x, m and s."""
    inputs = join(family, x=x, t=0.0, m=0.3, s=0.8).float()
    draw = Independent().draw(Shape(1, 4, 2, 1), make_generator(0, "still"))
    values, slopes = differential_labels(family, EulerMaruyama(2), inputs, draw)
    return values, slopes[:, [0, 2, 3]]


@pytest.mark.parametrize("x", [0.01, 0.6, 5.0, 50.0])
@pytest.mark.parametrize("family", [Killed(), Trapped(), Rewarded()], ids=repr)
def test_without_time_the_label_is_that_of_the_start(family, x):
    values, slopes = at_rest(family, x)
    inside = x < 1.0 or not isinstance(family, Trapped)
    assert values.item() == float(inside and not isinstance(family, BoundaryValue))
    assert (slopes == 0.0).all()


def test_a_path_that_starts_beyond_a_wall_has_met_it():
    generator = make_generator(0, "beyond")
    z = normals(3, (1, 50), 1, generator, torch.float64)
    at = WALK | {"x": -0.2, "m": 1.0}
    assert (payoffs(Killed(), Exact(3), join(Killed(), **at), z) == 0.0).all()
    assert (payoffs(Rewarded(), Exact(3), join(Rewarded(), **at), z) == 1.0).all()


# Several outputs, another number of Brownian motions


STRIKES = (9.0, 9.5, 10.0, 11.0)


@dataclass(frozen=True)
class Strip(Family, VectorValued, Discount, Source, ExactSampler):
    """Puts of several strikes at once, discounted at the rate r; a source of 0 … 3 a year."""

    outputs = len(STRIKES)

    @property
    def domain(self):
        return Domain(x=Box(9, 10), t=Box(0, 1), sigma=Box(0.1, 0.6), r=Box(0, 0.1))

    def drift(self, x, p):
        return p.r * x

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def initial(self, x, p):
        return (x.new_tensor(STRIKES) - x).clamp_min(0.0)

    def exact(self, x, t, p, z):
        return BlackScholes().exact(x, t, p, z) * (p.r * t).exp()

    def discount(self, x, p):
        return p.r.expand_as(x)

    def source(self, x, p):
        return x.new_tensor(range(4)).expand(*x.shape[:-1], 4)


def test_several_outputs_share_their_paths():
    sigma, r, t = 0.3, 0.08, 0.75
    inputs = join(Strip(), x=9.5, t=t, sigma=sigma, r=r)
    z = normals(4, (1, 7), 1, make_generator(0, "strip"), torch.float64)
    assert payoffs(Strip(), EulerMaruyama(4), inputs, z).shape == (1, 7, 4)
    annuity = -math.expm1(-r * t) / r
    expected = [
        ql.BlackCalculator(
            ql.PlainVanillaPayoff(ql.Option.Put, strike), 9.5 * math.exp(r * t),
            sigma * math.sqrt(t), math.exp(-r * t),
        ).value() + rate * annuity
        for rate, strike in enumerate(STRIKES)
    ]  # fmt: skip
    assert_simulated(Strip(), Exact(4), inputs, [expected])


@dataclass(frozen=True)
class Bare(Family, VectorValued):
    """Two outputs and nothing else."""

    outputs = 2

    @property
    def domain(self):
        return BlackScholes().domain

    def drift(self, x, p):
        return BlackScholes().drift(x, p)

    def diffusion(self, x, dw, p):
        return BlackScholes().diffusion(x, dw, p)

    def initial(self, x, p):
        return torch.cat([BlackScholes().initial(x, p), x], dim=-1)


def test_the_first_output_is_that_of_the_family_with_one(generator):
    inputs = Bare().domain.sample(5, generator, torch.float64)
    z = normals(4, (5, 3), 1, generator, torch.float64)
    both = payoffs(Bare(), EulerMaruyama(4), inputs, z)
    alone = payoffs(BlackScholes(), EulerMaruyama(4), inputs, z)
    assert torch.equal(both[..., :1], alone)


MATRICES = {1: [[1.0], [2.0]], 3: [[1.0, 0.5, -1.0], [0.0, 2.0, 0.3]]}


@dataclass(frozen=True)
class Noisy(Family, NoiseDimension, ExactSampler):
    """dX = s A dB with A of 2 rows and `noise_dim` columns, φ = (x₁ + 2x₂)²."""

    noise_dim: int = 1

    @property
    def domain(self):
        return Domain(x=Box(-1, 1, shape=(2,)), t=Box(0, 1), s=Box(0.1, 1))

    @property
    def matrix(self):
        return torch.tensor(MATRICES[self.noise_dim], dtype=torch.float64)

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return p.s * dw @ self.matrix.T.to(dw)

    def initial(self, x, p):
        return (x[..., :1] + 2.0 * x[..., 1:]).square()

    def exact(self, x, t, p, z):
        return x + self.diffusion(x, t.sqrt() * z, p)


EVERY_SCHEME = [Exact(), Exact(2), EulerMaruyama(3), Milstein(2), NinomiyaVictoir(2)]


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("scheme", EVERY_SCHEME, ids=repr)
def test_brownian_motions_need_not_be_as_many_as_dimensions(columns, scheme):
    family = Noisy(columns)
    inputs = join(family, x=[0.3, -0.2], t=0.5, s=0.7)
    direction = np.array([1.0, 2.0])
    spread = np.square(direction @ np.array(MATRICES[columns])).sum()
    expected = (0.3 - 0.4) ** 2 + 0.7**2 * 0.5 * spread
    assert cubature(family, scheme, inputs).item() == pytest.approx(expected, rel=1e-12)
    assert_simulated(family, scheme, inputs, expected, 20_000)


@dataclass(frozen=True)
class Geometric(Family, NoiseDimension):
    """Two prices on one Brownian motion, φ = x₁x₂:  u = x₁x₂e^{(2m + ab) t}."""

    noise_dim = 1

    @property
    def domain(self):
        return Domain(x=Box(1, 2, shape=(2,)), t=Box(0, 1), m=Box(0, 1), a=Box(0, 1), b=Box(0, 1))

    def drift(self, x, p):
        return p.m * x

    def diffusion(self, x, dw, p):
        return torch.cat([p.a * x[..., :1], p.b * x[..., 1:]], dim=-1) * dw

    def initial(self, x, p):
        return x.prod(-1, keepdim=True)


@pytest.mark.parametrize("scheme", [Milstein(50), NinomiyaVictoir(4)], ids=repr)
def test_one_brownian_motion_may_drive_two_prices(scheme):
    inputs = join(Geometric(), x=[1.2, 1.5], t=1.0, m=0.2, a=0.3, b=0.2)
    expected = 1.2 * 1.5 * math.exp(2 * 0.2 + 0.3 * 0.2)
    assert_simulated(Geometric(), scheme, inputs, expected, 10_000)


@dataclass(frozen=True)
class Crossing(Family, NoiseDimension, Absorbing):
    """dX = s A dB with A 2 × 3, absorbed where x₁ + 2x₂ = 0, φ = 1."""

    noise_dim = 3

    @property
    def domain(self):
        return Domain(x=Box(0.1, 1, shape=(2,)), t=Box(0, 1), s=Box(0.1, 1))

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return Noisy(3).diffusion(x, dw, p)

    def initial(self, x, p):
        return torch.ones_like(x[..., :1])

    def distance(self, x, p):
        return x[..., :1] + 2.0 * x[..., 1:]


def test_a_wall_is_met_at_the_speed_of_its_distance():
    """The distance is a Brownian motion of variance s² |A*(1, 2)|² t."""
    inputs = join(Crossing(), x=[0.5, 0.4], t=0.6, s=0.5)
    speed = 0.5 * np.linalg.norm(np.array([1.0, 2.0]) @ np.array(MATRICES[3]))
    expected = special.erf(1.3 / (speed * math.sqrt(2 * 0.6)))
    assert_simulated(Crossing(), EulerMaruyama(2), inputs, expected)


@pytest.mark.parametrize(
    ("family", "at"),
    [
        (Noisy(1), {"x": [0.3, -0.2], "t": 0.5, "s": 0.7}),
        (Noisy(3), {"x": [0.3, -0.2], "t": 0.5, "s": 0.7}),
        (Warming(), {"x": 0.3, "t": 0.5, "s": 0.7}),
        (Crossing(), {"x": [0.5, 0.4], "t": 0.6, "s": 0.5}),
        (HalfPlane(), {"x": [0.5, 0.4], "t": 0.6, "s": 0.5}),
    ],
    ids=str,
)
def test_aligned_points_see_the_same_paths(family, at):
    """Sobol' points are turned by a gradient in dw, which must have as many entries as dw."""
    inputs, scheme = join(family, **at), EulerMaruyama(2)
    found = replicated(family, scheme, Sobol(), inputs, 256, make_generator(0, "sobol"))
    plain = monte_carlo(family, scheme, inputs, 20_000, make_generator(0, "plain"))
    difference = (found.value - plain.value).abs()
    assert difference < 4 * torch.hypot(found.error, plain.error)
    assert found.error < plain.error


# The path itself


def test_states_run_from_start_to_end_of_a_duration(generator):
    family = Heated()
    x, t, p = family.domain.split(family.domain.sample(6, generator, torch.float64)[:, None])
    z = normals(4, (6, 3), 1, generator, torch.float64)
    path = list(path_states(family, EulerMaruyama(4), x, t, p, z, duration=0.25 * t))
    assert len(path) == 5
    assert torch.equal(path[0].state, x.expand(6, 3, 1))
    for k, moment in enumerate(path):
        torch.testing.assert_close(moment.time, t * (1.0 - k / 16))
        torch.testing.assert_close(moment.weight, (-p.r * t * k / 16).exp().expand(6, 3, 1))
    torch.testing.assert_close(path[-1].state - x, p.s * (t / 16).sqrt() * z.sum(0))


@dataclass(frozen=True)
class Lent(BlackScholes, ConstantDiscount):
    """Discounted at the volatility, whatever x is."""

    def discount_rate(self, p):
        return p.sigma


@dataclass(frozen=True)
class Undeclared(BlackScholes, Discount):
    """The same, but not declared."""

    def discount(self, x, p):
        return p.sigma.expand_as(x[..., :1])


def test_a_constant_discount_is_that_of_any_x(generator):
    inputs = BlackScholes().domain.sample(4, generator)
    z = normals(2, (4, 8), 1, generator)
    declared, other = (payoffs(f, Exact(2), inputs, z) for f in (Lent(), Undeclared()))
    assert torch.allclose(declared, other, rtol=1e-6)


@pytest.mark.parametrize(
    ("family", "scheme", "order"),
    [
        (BlackScholes(), Exact(), None),
        (BlackScholesMerton(), Exact(), None),
        (Lent(), Exact(4), None),
        (Undeclared(), Exact(4), 2),
        (Lent(), EulerMaruyama(4), 1),
        (BlackScholes(), EulerMaruyama(4), 1),
        (Bond(), Exact(4), 2),
        (Bond(), EulerMaruyama(4), 1),
        (Heated(), Exact(4), 2),
        (Seasonal(), NinomiyaVictoir(4), 2),
        (Trapped(), Exact(4), 1),
    ],
    ids=str,
)
def test_weak_orders(family, scheme, order):
    assert weak_order(family, scheme) == order


@dataclass(frozen=True)
class Rooted(fk.Family, fk.TimeDependent, fk.Discount):
    """Discounted at a rate that grows like the root of the time left."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(-1.0, 1.0), t=fk.Box(0.1, 1.0))

    def drift(self, x, p):
        return 0.0

    def diffusion(self, x, dw, p):
        return dw

    def initial(self, x, p):
        return 1.0

    def discount(self, x, p):
        return p.t.sqrt()


def test_no_time_left_is_not_less_than_none(generator):
    family, scheme = Rooted(), fk.EulerMaruyama(steps=64)
    inputs = family.domain.sample(64, generator)
    found = fk.monte_carlo(family, scheme, inputs, 2, generator).value
    u = (-2.0 / 3.0 * inputs[:, 1:].double() ** 1.5).exp()
    torch.testing.assert_close(found, u, rtol=0.0, atol=1e-3)


@dataclass(frozen=True)
class Room(fk.Family, fk.Absorbing):
    """Flat walls, and noise that is the same at all places, or not."""

    even: bool = True

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-0.9, 0.9, shape=(2,)), t=fk.Box(0.1, 1.0), sigma=fk.Box(0.3, 1.0)
        )

    def drift(self, x, p):
        return 0.0

    def diffusion(self, x, dw, p):
        return p.sigma * dw if self.even else p.sigma * (1.5 + x) * dw

    def distance(self, x, p):
        return torch.cat([1.0 - x, 1.0 + x], -1)

    def initial(self, x, p):
        return 1.0


def test_where_walls_are_approached_at_one_speed_it_is_measured_once(monkeypatch):
    assert path._has_even_speed(Room())
    assert path._has_even_speed(fk.Barrier("down"))  # ln(x/B) of a geometric Brownian motion
    assert not path._has_even_speed(Room(even=False))
    family, scheme = Room(), fk.EulerMaruyama(steps=4)
    inputs = family.domain.sample(8, torch.Generator().manual_seed(0), torch.float64)

    def labels():
        generator = torch.Generator().manual_seed(1)
        return fk.monte_carlo(family, scheme, inputs, paths=64, generator=generator).value

    quick = labels()
    monkeypatch.setattr(path, "_has_even_speed", lambda family: False)
    assert torch.allclose(quick, labels(), rtol=1e-12)
