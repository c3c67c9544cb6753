"""Fixed inputs, coupled inputs and single entries in everything that takes names of variables."""

from dataclasses import dataclass

import pytest
import torch
from scipy import stats

import feynkac as fk
from feynkac.analysis.calibration import calibrate
from feynkac.analysis.distributions import Inputs
from feynkac.analysis.observations import make_problem
from feynkac.errors import InputError
from feynkac.interfaces.answers import answer

AT = {"t": 0.5, "kappa": 2.0, "theta": 0.06, "rho": -0.5, "rate": 0.02, "strike": 100.0}
X = {"x[0]": 100.0, "x[1]": 0.05}
QUICK = fk.Fast(scheme=fk.FamilySteps(steps=4), noise=fk.Sobol(), paths=16)  # no pilots, no grid


@dataclass(frozen=True)
class Triangle(fk.Family, fk.Coupled):
    """u = x² + t (a + b) on b < a."""

    @property
    def domain(self):
        unit = fk.Box(0.0, 1.0)
        return fk.Domain(x=unit, t=unit, a=unit, b=unit)

    def allowed(self, x, t, p):
        return p.b < p.a

    def drift(self, x, p):
        return 0.0

    def diffusion(self, x, dw, p):
        return (p.a + p.b).sqrt() * dw

    def initial(self, x, p):
        return x.square()


@pytest.fixture(scope="module")
def heston():
    return fk.solve(fk.Heston().on(nu=0.3), QUICK, steps=4, batch_size=64, evaluations=1)


@pytest.fixture(scope="module")
def triangle():
    steps = fk.EulerMaruyama(steps=4)
    return fk.solve(Triangle(), scheme=steps, steps=3, batch_size=64, evaluations=1)


def test_a_fixed_input_is_recorded_loaded_and_seen_as_zero(heston, tmp_path):
    heston.save(tmp_path)
    again = fk.load(tmp_path)
    assert again.family == fk.Heston().on(nu=0.3)
    assert again.manifest.family.built_in
    assert again(X, **AT) == heston(X, **AT)
    assert again(X, nu=0.3, **AT) == heston(x=[100.0, 0.05], **AT)
    column = heston.network.columns.places["nu"]  # among those that symmetries leave
    inputs = heston.family.domain.sample(5, torch.Generator().manual_seed(0))
    assert (heston.network.normalise(inputs)[:, column] == 0.0).all()


def test_its_errors_are_those_of_the_others(heston):
    errors = heston.error(64)
    assert errors.linear_baseline > 0.0
    assert heston.error_map(8).profiles.keys() == {"t", "kappa", "theta", "rho", "rate", "strike"}


def test_there_is_no_derivative_along_what_is_fixed():
    fixed = fk.solve(fk.Heston().on(nu=0.3, rho=-0.5), QUICK, steps=2, batch_size=64, evaluations=1)
    at = {name: value for name, value in AT.items() if name != "rho"}
    with pytest.raises(InputError, match="rho is fixed, so u has no derivative in it; there are: "):
        fixed.grad("rho", X, **at)
    with pytest.raises(InputError, match="u is known along x, t, kappa, theta, nu, rate, strike"):
        fixed.along({"rho": 1.0}, X, **at)
    slope = fixed.along({"t": 1.0}, X, **at)
    torch.testing.assert_close(slope, fixed.grad("t", X, **at))


def test_a_symmetry_gives_the_derivative_along_what_is_fixed(heston):
    """A change of ν is one of the unit of time: Euler's relation."""
    rates = {"kappa": 2.0, "theta": 0.06, "rate": 0.02, "x[1]": 0.05}
    others = sum(value * heston.grad(name, X, **AT) for name, value in rates.items())
    expected = (0.5 * heston.grad("t", X, **AT) - others) / 0.3
    torch.testing.assert_close(heston.grad("nu", X, **AT), expected, rtol=1e-4, atol=1e-4)


def test_greeks_along_what_is_fixed_are_left_out():
    calm = fk.solve(fk.BlackScholesMerton().on(rate=0.0), steps=2, batch_size=64, evaluations=1)
    at = {"x": 95.0, "t": 0.5, "sigma": 0.3, "dividend": 0.02, "strike": 100.0}
    assert sorted(calm.greeks(at)) == ["delta", "gamma", "theta", "vega"]
    others = {name: value for name, value in at.items() if name != "x"}
    assert calm.sweep("x", others, points=3).values.keys() >= {"value", "delta"}
    found = answer(calm, at, greeks=True)
    assert list(found["partials"]) == list(found["closed_form"]["partials"]) == list(at)
    assert found["greeks"].keys() == found["closed_form"]["greeks"].keys()


def test_derivatives_of_one_entry(heston):
    whole = heston.grad("x", X, **AT)
    assert heston.grad("x[1]", X, **AT) == whole[1]
    bend = heston.hessian("x", "x", X, **AT)
    torch.testing.assert_close(heston.hessian("x[0]", "x[1]", X, **AT), bend[0, 1])
    assert heston.hessian("x[1]", "x", X, **AT).shape == (2,)


def test_a_sweep_over_one_entry(heston):
    found = heston.sweep("x[1]", X, points=5, **AT)
    low, high = (side[1].item() for side in heston.family.domain.bounds)
    assert found.over["x[1]"].tolist() == pytest.approx(
        torch.linspace(low, high, 5, dtype=torch.float64).tolist()
    )
    middle = heston({**X, "x[1]": (low + high) / 2}, **AT)
    assert found.values["value"][2] == pytest.approx(middle.item(), rel=1e-5)
    with pytest.raises(InputError, match="cannot sweep 'x'; the scalar variables are: t, kappa"):
        heston.sweep("x", X, **AT)
    with pytest.raises(InputError, match="cannot sweep 'nu'"):
        heston.sweep("nu", X, **AT)


def test_one_entry_is_calibrated(heston):
    known = {**AT, "strike": [90.0, 95.0, 100.0, 105.0], "x[0]": 100.0}
    values = heston({**known, "x[1]": 0.06})
    problem = heston.observe(
        ["x[1]", "rho"], values, {k: v for k, v in known.items() if k != "rho"}
    )
    assert problem.labels == ["x[1]", "rho"]
    assert problem.inputs.shape == (4, heston.family.domain.dim)
    assert heston.calibrate(problem).labels == ["x[1]", "rho"]
    with pytest.raises(
        InputError, match=r"x cannot be given, since x\[1\] is free; give its other"
    ):
        heston.observe(["x[1]"], values, {**AT, "x": [100.0, 0.05]})
    with pytest.raises(InputError, match="nu is fixed and cannot be found; there are: x, t"):
        heston.observe(["nu"], values, known)
    with pytest.raises(InputError, match="each once"):
        heston.observe(["x", "x[1]"], values, AT)


def test_one_entry_is_random(heston):
    law = stats.norm(0.06, 0.01)
    found = heston.uncertainty({**AT, "x[0]": 100.0, "x[1]": law}, samples=500)
    assert list(found.correlation) == ["x[1]"]
    both = heston.uncertainty({"x[1]": law}, {("x[1]", "rho"): 0.5}, samples=500)
    assert "nu" not in both.correlation
    assert "x[0]" in both.correlation
    assert "nu" not in heston.sobol_indices(base=16).total
    with pytest.raises(InputError, match="nu is fixed and cannot be random"):
        heston.uncertainty({"nu": stats.norm(0.3, 0.1)}, samples=500)


def test_coupled_inputs_are_respected_by_all_analyses(triangle):
    at = {"x": 0.5, "t": 0.5}
    values = triangle.sweep("b", at, points=5, a=0.5).values["value"]
    assert values.isnan().tolist() == [False, False, True, True, True]
    found = triangle.sweep("b", at, points=5, a=0.5).record()["surfaces"]["value"]
    assert found[2:] == [None, None, None]
    with pytest.raises(InputError, match="Sobol' indices need independent inputs, but the family"):
        triangle.sobol_indices(base=16)
    worst = triangle.error_map(8).worst["at"]
    assert worst["b"] < worst["a"]
    with pytest.raises(InputError, match="is not allowed"):
        triangle.certify(at, a=0.2, b=0.5)


def test_uncertainty_is_that_of_allowed_inputs(triangle):
    found = triangle.uncertainty({"x": 0.5, "t": 0.5}, samples=4000, error=0.0)
    assert set(found.correlation) == {"a", "b"}
    rows = Inputs(triangle.family.domain).sample(200, torch.Generator().manual_seed(0))
    assert triangle.family.domain.contains(rows).all()


def test_a_fit_that_would_leave_what_is_allowed_stops_at_its_edge():
    def difference(inputs):
        return inputs[..., 2:3] - inputs[..., 3:4]

    known, values = {"x": 0.5, "t": [0.1, 0.2, 0.3]}, [-0.3, -0.3, -0.3]
    problem = make_problem(difference, Triangle().domain, ["a", "b"], known, values, noise=0.1)
    found = calibrate(problem)
    a, b = found.estimate
    assert 0.0 < a - b < 0.05
    assert any("edge of what the family's `allowed` allows" in text for text in found.warnings)


@pytest.mark.slow
def test_a_posterior_stays_where_it_is_allowed(triangle):
    pytest.importorskip("emcee")
    problem = triangle.observe(["a", "b"], [0.75, 0.9, 1.0], x=[0.5, 0.6, 0.7], t=0.5, noise=0.5)
    best = triangle.calibrate(problem)
    assert best.estimate[1] < best.estimate[0]
    found = triangle.posterior(problem, best, steps=100)
    assert (found.samples[:, 1] < found.samples[:, 0]).all()
