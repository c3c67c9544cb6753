"""A solution under autograd, `torch.func`, `no_grad`, `inference_mode` and other defaults."""

import json
import os
import subprocess
import sys

import pytest
import torch
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap

import feynkac as fk
from feynkac.analysis.partials import gradient

AT = {"t": 0.5, "sigma": 0.3, "strike": 11.0}
X = torch.linspace(9.1, 9.9, 5)
MODES = {"no_grad": torch.no_grad, "inference_mode": torch.inference_mode}


@pytest.fixture(scope="module")
def solution():
    return fk.solve(fk.BlackScholes(), steps=20, batch_size=64)


@pytest.fixture
def u(solution):
    return lambda x: solution(x=x, **AT)


def delta(solution):
    return solution.grad("x", x=X, **AT)


def gamma(solution):
    return solution.hessian("x", "x", x=X, **AT)


# Gradients


def test_gradients_flow_back_to_the_caller_in_their_dtype(solution, u):
    for dtype in (torch.float32, torch.float64):
        x = X.to(dtype, copy=True).requires_grad_()
        u(x).sum().backward()
        assert x.grad.dtype == dtype
        torch.testing.assert_close(x.grad.float(), delta(solution))
        assert delta(solution).abs().min() > 0.1


def test_without_them_there_is_no_graph(solution, u):
    assert not u(X).requires_grad
    with torch.no_grad():
        assert not u(X.clone().requires_grad_()).requires_grad
        assert not solution.grad("x", x=X.clone().requires_grad_(), **AT).requires_grad


def test_gradients_reach_tensors_in_a_list(solution, u):
    x = X[2].clone().requires_grad_()
    u([x, 9.2]).sum().backward()
    torch.testing.assert_close(x.grad, delta(solution)[2])


@pytest.mark.parametrize(("x", "edge"), [(10.0 + 1e-8, 10.0), (9.0 - 1e-8, 9.0)])
def test_a_value_moved_onto_the_edge_keeps_its_gradient(solution, u, x, edge):
    outside = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    value = u(outside)
    value.backward()
    assert value.item() == u(edge).item()
    assert outside.grad.item() == pytest.approx(solution.grad("x", x=edge, **AT).item(), rel=1e-6)


def test_derivatives_are_differentiable_themselves(solution):
    x = X.clone().requires_grad_()
    solution.grad("x", x=x, **AT).sum().backward()
    torch.testing.assert_close(x.grad, gamma(solution))
    slope = solution.along({"x": 1.0}, x=(x := X.clone().requires_grad_()), **AT)
    slope.sum().backward()
    torch.testing.assert_close(x.grad, gamma(solution))


def test_blocks_keep_the_graph(solution, u, monkeypatch):
    monkeypatch.setattr("feynkac.analysis.chunks.over_values.__defaults__", (False, 2))
    x = X.clone().requires_grad_()
    u(x).sum().backward()
    torch.testing.assert_close(x.grad, delta(solution))


# Transforms


def test_torch_func_sees_the_derivatives(solution, u):
    assert grad(u)(X[2]).item() == pytest.approx(delta(solution)[2].item(), rel=1e-5)
    torch.testing.assert_close(vmap(u)(X), u(X))
    torch.testing.assert_close(vmap(grad(u))(X), delta(solution))
    torch.testing.assert_close(grad(lambda x: vmap(u)(x).sum())(X), delta(solution))
    torch.testing.assert_close(jvp(u, (X,), (torch.ones(5),))[1], delta(solution))
    for jacobian in (jacrev, jacfwd):
        torch.testing.assert_close(jacobian(u)(X), delta(solution).diag())
    torch.testing.assert_close(vmap(hessian(u))(X), gamma(solution), rtol=1e-3, atol=1e-4)


def test_torch_func_goes_through_derivatives(solution):
    expected = gamma(solution)
    by_grad = vmap(grad(lambda x: solution.grad("x", x=x, **AT)))(X)
    by_name = vmap(lambda x: solution.greeks(x=x, **AT)["gamma"])(X)
    by_direction = vmap(grad(lambda x: solution.along({"x": 1.0}, x=x, **AT)))(X)
    for found in (by_grad, by_name, by_direction):
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("x", "message"), [(40.0, "x = 40 lies outside"), (torch.nan, "x = nan")])
def test_vmap_refuses_what_lies_outside(u, x, message):
    with pytest.raises(fk.InputError, match=message):
        vmap(u)(torch.tensor([9.5, x]))
    with pytest.raises(fk.InputError, match=message):
        vmap(vmap(grad(u)), in_dims=1)(torch.tensor([[9.5, x, 9.1], [9.5, 9.5, 9.5]]))


def test_vector_variables_batch_over_any_axis(generator):
    family = fk.HeatParaboloid(dim=2)
    solution = fk.solve(family, steps=2, batch_size=64)
    x = 0.5 + torch.rand(2, 7, generator=generator)
    at = {"t": 0.5, "sigma": torch.eye(2)}
    found = vmap(lambda v: solution(x=v, **at), in_dims=1)(x)
    torch.testing.assert_close(found, solution(x=x.T, **at))
    slopes = vmap(grad(lambda v: solution(x=v, **at)), in_dims=1)(x)
    torch.testing.assert_close(slopes, solution.grad("x", x=x.T, **at))


# Modes


@pytest.mark.parametrize("mode", MODES)
def test_answers_do_not_depend_on_the_mode(solution, mode):
    def answers(x):
        at = {"x": x, **AT}
        yield from (solution(**at), solution.grad("x", **at), solution.hessian("x", "sigma", **at))
        yield from (solution.along({"x": 1.0}, **at), *solution.greeks(**at).values())
        yield from (solution.certify(**at).value, solution.quickly(torch.ones(2, 4)))
        yield solution.output(0).exactly.mean

    expected = list(answers(X))
    with MODES[mode]():
        inside, made_inside = list(answers(X)), X.clone()
    for found in (inside, list(answers(made_inside))):
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a, b, rtol=0.0, atol=0.0)


@pytest.mark.parametrize("method", ["fast", "paper"])
@pytest.mark.parametrize("mode", MODES)
def test_training_does_not_depend_on_the_mode(mode, method):
    settings = {"method": method, "steps": 3, "batch_size": 64, "evaluations": 1}
    expected = fk.solve(fk.BlackScholes(), **settings)
    with MODES[mode]():
        found = fk.solve(fk.BlackScholes(), **settings)
    assert_same_weights(found, expected)
    assert found.grad("x", x=9.5, **AT) == expected.grad("x", x=9.5, **AT)


def test_what_is_kept_inside_inference_mode_serves_outside(tmp_path, solution):
    """Domains, cached nodes and loaded weights: a tensor of that mode cannot be differentiated."""
    solution.save(tmp_path / "run")
    with torch.inference_mode():
        family = fk.Rainbow()
        inputs = family.domain.mean.expand(2, -1)
        family.closed_form(*family.domain.split(inputs))
        loaded = fk.load(tmp_path / "run")
        _ = loaded.exactly
    torch.testing.assert_close(delta(loaded), delta(solution))
    at = {"x": 9.5, "t": 0.5, "strike": 11.0}
    problem = loaded.observe(["sigma"], [1.6], noise=0.1, **at)
    assert problem.jacobian(torch.full((1,), 0.5).double().numpy()).all()
    slopes = gradient(lambda v: family.closed_form(*family.domain.split(v)), inputs)
    assert slopes[:, 0].all()


def assert_same_weights(found, expected):
    ours, theirs = found.network.state_dict(), expected.network.state_dict()
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        assert ours[name].dtype == value.dtype
        assert torch.equal(ours[name], value), name


# torch.set_default_dtype

CASES = """
import json, sys, torch
import feynkac as fk
from feynkac.training.optimisers.muon import Muon

if sys.argv[1] == "float64":
    torch.set_default_dtype(torch.float64)
few = {"steps": 3, "batch_size": 32, "evaluations": 1}
cases = [(fk.BlackScholes(), {}), (fk.MultiAsset(dim=2), {"optimiser": Muon()}),
         (fk.BlackScholes(), {"method": "paper"})]
found = []
for i, (family, settings) in enumerate(cases):
    solution = fk.solve(family, out=f"{sys.argv[2]}/{i}", **few, **settings)
    loaded = fk.load(f"{sys.argv[2]}/{i}")
    for name, value in loaded.network.state_dict().items():
        found.append([str(value.dtype), value.double().flatten().tolist()])
    inputs = family.domain.mean.float().expand(2, -1)
    found.append(loaded.quickly(inputs).tolist())
put = fk.load(f"{sys.argv[2]}/0")
found.append(put.error(64).l1)
found.append([r["value"] for r in put.certify(x=9.5, t=0.5, sigma=0.3, strike=11.0).record()])
problem = put.observe(["sigma"], [1.5, 1.6], noise=0.1, x=9.5, t=0.5, strike=11.0)
found.append(put.calibrate(problem).record())
found.append([(n, f.verdict) for n, f in fk.check(fk.BlackScholes()).findings.items()])
print(json.dumps(found))
"""


def run_with(dtype, folder):
    command = [sys.executable, "-c", CASES, dtype, str(folder)]
    done = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_the_default_dtype_of_torch_changes_nothing(tmp_path):
    """Gauss–Newton, Muon and the paper's method, to the last bit; loading, checks, certificates."""
    normal, double = (run_with(name, tmp_path / name) for name in ("float32", "float64"))
    assert normal == double
