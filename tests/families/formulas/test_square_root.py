"""The square-root step: exact moments, and a joint law with its integral near the right one."""

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from feynkac.families.formulas.square_root import constants, transition

CASES = {
    "smooth": {"v": 0.08, "kappa": 2.0, "theta": 0.05, "nu": 0.2},
    "degree one": {"v": 0.02, "kappa": 1.0, "theta": 0.04, "nu": 0.4},
    "rough": {"v": 0.04, "kappa": 1.5, "theta": 0.05, "nu": 1.0},
    "from zero": {"v": 0.0, "kappa": 1.5, "theta": 0.05, "nu": 1.0},
    "market": {"v": 0.196, "kappa": 15.66, "theta": 0.0746, "nu": 3.36},
    "very rough": {"v": 0.01, "kappa": 0.5, "theta": 0.01, "nu": 1.5},
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
NODES = torch.linspace(-14.0, 14.0, 56_001, dtype=torch.float64)[:, None]
WEIGHTS = torch.softmax(-0.5 * NODES.square(), dim=0)


def law(case, h):
    one = {name: torch.tensor([[value]], dtype=torch.float64) for name, value in case.items()}
    at = constants(torch.tensor([[h]], dtype=torch.float64), one["kappa"], one["theta"], one["nu"])
    return transition(one["v"], at)


def mean(values):
    return (WEIGHTS * values).sum().item()


def exact_moments(case, h):
    """Means, variances and covariance of v_h and I, from their differential equations."""
    kappa, theta, nu = case["kappa"], case["theta"], case["nu"]

    def slopes(_, y):
        v, _, vv, vi, _ = y
        return [kappa * (theta - v), v, nu**2 * v - 2 * kappa * vv, vv - kappa * vi, 2 * vi]

    start = [case["v"], 0.0, 0.0, 0.0, 0.0]
    return solve_ivp(slopes, (0.0, h), start, rtol=1e-11, atol=1e-15, method="LSODA").y[:, -1]


@every_case
@pytest.mark.parametrize("h", [0.01, 0.1, 1.0])
def test_means_variances_and_the_covariance_are_exact(case, h):
    found, exact = law(case, h), exact_moments(case, h)
    end, integral = found.ends(NODES)
    v, i = mean(end), mean(integral)
    assert v == pytest.approx(exact[0], rel=1e-5)
    assert i == pytest.approx(exact[1], rel=1e-5)
    assert mean((end - v).square()) == pytest.approx(exact[2], rel=1e-3)
    assert mean((end - v) * (integral - i)) == pytest.approx(exact[3], rel=2e-3)
    total = mean((integral - i).square()) + mean(found.noise * integral)
    assert total == pytest.approx(exact[4], rel=0.05)
    assert end.min() >= 0.0
    assert integral.min() >= 0.0


@every_case
@pytest.mark.parametrize("h", [0.01, 0.1, 1.0])
def test_means_of_exponentials_are_in_closed_form(case, h):
    found = law(case, h)
    end, integral = found.ends(NODES)
    for q, k in ((-1.0, -2.0), (0.2, 0.1), (-3.0, 1.0)):
        q, k = torch.tensor([[q]]).double(), torch.tensor([[k]]).double()
        expected = np.log(mean((q * end + k * integral).exp()))
        assert found.log_mean_exp(q, k).item() == pytest.approx(expected, abs=1e-6)


def exact_laplace(q, k, case, h):
    """E exp(q v_h + k I), by SciPy."""
    kappa, theta, nu = case["kappa"], case["theta"], case["nu"]

    def slopes(_, y):
        return [k - kappa * y[0] + 0.5 * nu**2 * y[0] ** 2, kappa * theta * y[0]]

    b, a = solve_ivp(slopes, (0.0, h), [q, 0.0], rtol=1e-12, atol=1e-14).y[:, -1]
    return np.exp(a + b * case["v"])


@pytest.mark.parametrize("name", ["smooth", "rough", "from zero"])
def test_one_step_is_right_to_third_order(name):
    """The error of E exp(q v_h + k I) is ∝ h³, near zero as well."""
    case = CASES[name] | ({"v": 0.8} if name == "rough" else {})

    def error(h):
        q, k = torch.tensor([[-1.0]]).double(), torch.tensor([[-2.0]]).double()
        found = law(case, h)
        exact = exact_laplace(-1.0, -2.0, case, h)
        return abs(found.log_mean_exp(q, k + 0.5 * k**2 * found.noise).exp().item() - exact)

    errors = [error(h) for h in (0.04, 0.02, 0.01)]
    assert errors[0] < 3e-4
    assert errors[0] / errors[1] > 6.0
    assert errors[1] / errors[2] > 6.0


@every_case
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_step_size_gives_finite_numbers_and_slopes(case, dtype):
    steps = torch.tensor([0.0, 1e-7, 1e-4, 0.01, 1.0, 10.0], dtype=dtype)[:, None, None]
    leaf = {n: torch.full_like(steps, value).requires_grad_() for n, value in case.items()}
    h = steps.clone().requires_grad_()
    z = torch.linspace(-5.0, 5.0, 11, dtype=dtype)[:, None]
    found = transition(leaf["v"], constants(h, leaf["kappa"], leaf["theta"], leaf["nu"]))
    end, integral = found.ends(z)
    exponent = found.log_mean_exp(-torch.ones_like(h), -torch.ones_like(h))
    assert all(part.isfinite().all() for part in (end, integral, exponent, found.noise))
    assert end.dtype == dtype
    total = end.sum() + integral.sum() + exponent.sum() + found.noise.sum()
    for slope in torch.autograd.grad(total, [h, *leaf.values()]):
        assert slope.isfinite().all()
