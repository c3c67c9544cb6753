"""The double well: drift and step against SciPy, simulated values against the backward equation."""

import numpy as np
import pytest
import torch
from numpy.polynomial import chebyshev
from scipy import integrate, interpolate, linalg, sparse, stats

from feynkac.checks.checkup import require_sound
from feynkac.families.domain import Domain
from feynkac.families.measures.box import Box
from feynkac.families.models.double_well import DoubleWell
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import differential_labels, payoffs
from feynkac.sampling.noise.noise import Independent, Shape, normals
from feynkac.sampling.path import label_normals
from feynkac.sampling.reference import monte_carlo
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.family_steps import FamilySteps

FAMILY = DoubleWell()
WALL = 3.0  # V > 30 T there, and a path that starts inside does not come so far


def potential(x, height):
    return height * (x**2 - 1.0) ** 2


def by_collocation(t, height, temperature, count=120):
    """E tanh(3X_t) for one coordinate, as a function of its start.

    The backward equation ∂u/∂t = T u″ − V′u′ at Chebyshev points, with u′ = 0 far out.
    """
    angles = np.pi * np.arange(count + 1) / count
    x = WALL * np.cos(angles)
    series = chebyshev.chebder(np.eye(count + 1), scl=1.0 / WALL)
    modes = np.cos(np.outer(range(count + 1), angles))
    slope = chebyshev.chebval(x / WALL, series).T @ np.linalg.inv(modes)
    operator = temperature * slope @ slope + (4.0 * height * x * (1.0 - x**2))[:, None] * slope
    ends, inner = [0, count], slice(1, count)
    at_ends = -np.linalg.solve(slope[np.ix_(ends, ends)], slope[ends, inner])
    operator = operator[inner, inner] + operator[inner][:, ends] @ at_ends
    values = linalg.expm(t * operator) @ np.tanh(3.0 * x[inner])
    return interpolate.BarycentricInterpolator(x, np.insert(at_ends @ values, 1, values))


def by_finite_differences(t, height, temperature, cells):
    """The same from  T e^{V/T} ∂(e^{−V/T} ∂u)  by differences."""
    x = np.linspace(-WALL, WALL, cells + 1)
    middle = 0.5 * (x[1:] + x[:-1])
    rates = [
        np.exp((potential(nodes, height) - potential(middle, height)) / temperature)
        for nodes in (x[:-1], x[1:])
    ]
    up, down = (temperature * rate / (x[1] - x[0]) ** 2 for rate in rates)
    stay = -np.append(up, 0.0) - np.append(0.0, down)
    operator = sparse.diags([down, stay, up], [-1, 0, 1]).tocsc()
    values = sparse.linalg.expm_multiply(t * operator, np.tanh(3.0 * x))
    return interpolate.CubicSpline(x, values)


def reference(x, t, height, temperature):
    """u at one point: the first coordinate by collocation, each other by a Gaussian integral."""
    value = by_collocation(t, height, temperature)(x[0])
    for other in x[1:]:
        law = stats.norm(other * np.exp(-t), np.sqrt(temperature * -np.expm1(-2.0 * t)))
        value *= law.expect(lambda y: np.exp(-(y**2) / (2 * len(x))))
    return value


def test_the_domain():
    assert FAMILY.domain == Domain(
        x=Box(-1.5, 1.5, shape=(2,)),
        t=Box(0, 1),
        height=Box(0.5, 2),
        temperature=Box(0.3, 1),
    )


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_it_is_well_formed_in_any_dimension(dim):
    require_sound(DoubleWell(dim))


def test_the_drift_leads_down_the_potential(generator):
    family = DoubleWell(3)
    x, _, p = family.domain.split(family.domain.sample(20, generator, torch.float64))
    x.requires_grad_()
    value = potential(x[:, :1], p.height) + 0.5 * x[:, 1:].square().sum(-1, keepdim=True)
    (slope,) = torch.autograd.grad(value.sum(), x)
    torch.testing.assert_close(family.drift(x, p), -slope)


def test_a_step_without_noise_follows_the_drift():
    at = {"x": [1.5, -1.0], "t": 0.3, "height": 1.7, "temperature": 0.5}
    x, h, p = FAMILY.domain.split(FAMILY.domain.join(at))

    def drift(_, y):
        return FAMILY.drift(torch.tensor(y), p).numpy()

    for first in (1.5, 1.0, 0.3, 0.0, -0.9):
        start = torch.stack([torch.full_like(x[0], first), x[1]])
        end = integrate.solve_ivp(drift, (0.0, 0.3), start.numpy(), rtol=1e-11, atol=1e-12)
        found = FAMILY.step(start, h, p, torch.zeros_like(x))
        assert found.numpy() == pytest.approx(end.y[:, -1], abs=1e-9)


def test_a_step_of_no_time_goes_nowhere(generator):
    x, t, p = FAMILY.domain.split(FAMILY.domain.sample(20, generator))
    z = torch.randn(x.shape, generator=generator)
    assert torch.equal(FAMILY.step(x, torch.zeros_like(t), p, z), x)


def test_the_other_coordinates_have_the_law_of_ornstein_and_uhlenbeck():
    """A step is linear in z there, so two values of z tell mean and deviation."""
    at = FAMILY.domain.join({"x": [0.5, 1.2], "t": 0.8, "height": 1.0, "temperature": 0.6})
    x, h, p = FAMILY.domain.split(at)
    up, down = (FAMILY.step(x, h, p, torch.full_like(x, z))[1].item() for z in (1.0, -1.0))
    assert (up + down) / 2 == pytest.approx(1.2 * np.exp(-0.8))
    assert ((up - down) / 2) ** 2 == pytest.approx(0.6 * (1.0 - np.exp(-1.6)))


INSIDE = np.linspace(-1.5, 1.5, 61)


@pytest.mark.parametrize(("height", "temperature"), [(0.5, 1.0), (2.0, 0.3), (2.0, 1.0)])
def test_the_reference_converges(height, temperature):
    coarse, fine = (by_collocation(0.7, height, temperature, n)(INSIDE) for n in (100, 120))
    assert abs(coarse - fine).max() < 1e-8


@pytest.mark.slow
def test_finite_differences_converge_to_the_reference():
    at = (0.3, 1.4, 0.5)
    expected = by_collocation(*at)(INSIDE)
    coarse, fine = (by_finite_differences(*at, cells)(INSIDE) for cells in (150, 300))
    errors = [abs(v - expected).max() for v in (coarse, fine, (4.0 * fine - coarse) / 3.0)]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)
    assert errors[2] < 2e-5


CASES = [
    pytest.param([-1.0, 0.5], 0.5, 1.0, 0.6, marks=pytest.mark.slow),
    pytest.param([0.2, -1.5], 1.0, 0.5, 1.0, marks=pytest.mark.slow),
    ([1.4, 0.0], 0.8, 2.0, 0.9),
    ([-0.6, 0.3, 1.0, -0.7], 0.3, 1.5, 0.3),
]


@pytest.mark.parametrize(("x", "t", "height", "temperature"), CASES)
def test_simulated_values_agree_with_the_backward_equation(x, t, height, temperature):
    family, generator = DoubleWell(len(x)), make_generator(0, "double well")
    values = {"x": x, "t": t, "height": height, "temperature": temperature}
    inputs = family.domain.join(values)[None]
    found = monte_carlo(family, FamilySteps(96), inputs, 50_000, generator)
    expected = reference(x, t, height, temperature)
    assert abs(found.value.item() - expected) < 4 * found.error.item()
    assert found.error.item() < 0.005


def by_own_steps(t, height, temperature, steps):
    """E tanh(3X_t) under the step itself, without noise: the integral over z step after step."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    family = DoubleWell(1)
    grid = np.linspace(-2.5 * WALL, 2.5 * WALL, 1501)
    p = family.domain.split(
        family.domain.join({"x": 0.0, "t": t, "height": height, "temperature": temperature})
    ).p
    start, z = torch.tensor(grid)[:, None, None], torch.tensor(nodes)[:, None]
    state = family.step(start, torch.tensor([t / steps]), p, z).squeeze(-1).numpy()
    values = np.tanh(3.0 * grid)
    for _ in range(steps):
        outside = state.clip(grid[0], grid[-1])  # weights of such nodes are below 1e-15
        values = interpolate.CubicSpline(grid, values)(outside) @ weights / weights.sum()
    return interpolate.CubicSpline(grid, values)


def test_own_steps_have_weak_order_two():
    at = (0.5, 1.0, 0.5)
    expected = by_collocation(*at)(INSIDE)
    errors = [abs(by_own_steps(*at, n)(INSIDE) - expected).max() for n in (4, 8, 16)]
    assert errors[1] < 0.003
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.15)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.15)


def test_no_noise_is_too_large_for_a_step():
    """Where Euler's steps are long lost, values and slopes are finite."""
    at = {"x": [1.5, 1.5], "t": 1.0, "height": 2.0, "temperature": 1.0}
    inputs = FAMILY.domain.join(at).float()[None]
    shape = Shape(1, 64, 4, 2)
    draw = Independent().draw(shape, make_generator(0, "large"), torch.float32)
    large = draw._replace(z=20.0 * draw.z)
    for part in differential_labels(FAMILY, FamilySteps(4), inputs, large):
        assert part.isfinite().all()
        assert part.abs().max() < 10.0
    x, t, p = FAMILY.domain.split(inputs[:, None])
    z = normals(4, (1, 64), 2, make_generator(0, "euler"))
    assert EulerMaruyama(4).terminal(FAMILY, x, t, p, z).abs().max() > 1e6
    assert FamilySteps(4).terminal(FAMILY, x, t, p, large.z).abs().max() < 100.0


def test_in_one_dimension_a_label_is_the_payoff_of_the_path(generator):
    family, scheme = DoubleWell(1), FamilySteps(6)
    inputs = family.domain.sample(20, generator, torch.float64)
    z = normals(6, (20, 50), 1, generator, torch.float64)
    x, t, p = family.domain.split(inputs[:, None])
    paid = family.initial(scheme.terminal(family, x, t, p, z), p)
    torch.testing.assert_close(payoffs(family, scheme, inputs, z), paid, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dim", [2, 4])
def test_a_label_is_the_mean_of_payoffs_given_the_path_of_the_first_coordinate(dim, generator):
    """Every other coordinate has the same law, so one of them by Gauss–Hermite does."""
    family, scheme = DoubleWell(dim), FamilySteps(1)
    assert label_normals(family, scheme) == 1
    inputs = family.domain.sample(10, generator, torch.float64)
    nodes, weights = np.polynomial.hermite_e.hermegauss(24)
    axes = [torch.randn(1, generator=generator, dtype=torch.float64)]
    axes += [torch.tensor(nodes)] * (dim - 1)
    z = torch.stack([part.flatten() for part in torch.meshgrid(*axes, indexing="ij")], -1)
    grids = torch.meshgrid(*[torch.tensor(weights / weights.sum())] * (dim - 1), indexing="ij")
    product = torch.stack([part.flatten() for part in grids]).prod(0)
    x, t, p = family.domain.split(inputs[:, None])
    paid = family.initial(scheme.terminal(family, x, t, p, z.expand(1, 10, -1, -1)), p)
    label = payoffs(family, scheme, inputs, z[:1, :1].expand(1, 10, 1, 1))
    torch.testing.assert_close((paid[..., 0] * product).sum(1), label[:, 0, 0], atol=1e-9, rtol=0)


def test_derivatives_of_labels_agree_with_finite_differences(generator):
    family = DoubleWell(3)
    inputs = family.domain.sample(4, generator, torch.float64)
    inputs[:, family.domain.slices()["t"]].clamp_(min=0.1)
    z = torch.randn(3, 4, 1, generator=generator, dtype=torch.float64)
    assert torch.autograd.gradcheck(
        lambda flat: family.expected(*family.domain.split(flat), z), inputs.requires_grad_()
    )
