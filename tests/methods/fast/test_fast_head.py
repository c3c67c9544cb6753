"""Solutions behind a head: accurate in volatility after few steps, Greeks of all kinds, saved."""

import pytest
import torch

import feynkac as fk
from feynkac.analysis.partials import hessian

MARKET = fk.BlackScholesMerton().on(t=fk.Box(0.0, 1.0))
PLACES = {"x": 100.0, "t": 0.5, "sigma": 0.3, "rate": 0.02, "dividend": 0.01, "strike": 103.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs") / "call"


@pytest.fixture(scope="module")
def solution(folder):
    return fk.solve(MARKET, steps=60, batch_size=48, evaluations=1, out=folder)


def test_volatility_is_within_a_few_basis_points(solution):
    errors = solution.error(4096).record()
    assert errors["volatility_median_bp"] < 2.0
    assert errors["l1"] < 1e-3


@pytest.mark.parametrize("pair", [("x", "x"), ("x", "sigma"), ("sigma", "sigma")])
def test_second_greeks_are_those_of_the_formula(solution, pair):
    domain = MARKET.domain
    inputs = torch.stack([domain.join(PLACES | {"x": x}) for x in (92.0, 103.0, 108.0)])

    def formula(at):
        return MARKET.closed_form(*domain.split(at))

    expected = hessian(formula, domain, *pair, inputs)
    size = expected.abs().max().item()
    found = hessian(solution.network, domain, *pair, inputs.float()).double()
    torch.testing.assert_close(found, expected, rtol=0.02, atol=0.02 * size)


@pytest.mark.parametrize("x", [92.0, 103.0, 108.0])
def test_at_maturity_it_is_the_payoff_and_greeks_are_finite(solution, x):
    at = PLACES | {"t": 0.0, "x": x}
    assert solution(**at).item() == pytest.approx(max(x - 103.0, 0.0), abs=1e-5)
    assert all(value.isfinite().all() for value in solution.greeks(**at).values())


def test_a_loaded_solution_answers_the_same(solution, folder):
    loaded = fk.load(folder)
    inputs = MARKET.domain.sample(50, torch.Generator().manual_seed(0))
    assert torch.equal(loaded.network(inputs), solution.network(inputs))
    assert loaded.network.head is not None
    assert loaded.manifest.run.method.head


def test_derivatives_along_a_direction_and_transforms(solution):
    slope = solution.along({"x": 1.0}, **PLACES)
    assert slope.item() == pytest.approx(solution.grad("x", **PLACES).item(), rel=1e-5)


def test_without_a_head_nothing_has_changed():
    """The record of a method says nothing of a choice that older versions did not know."""
    from feynkac.parts import record_part

    assert "head" not in record_part(fk.Fast())
    assert record_part(fk.Fast(head=False))["head"] is False
    plain = fk.Fast(head=False).resolve(MARKET)
    assert "head" not in record_part(plain.architecture)
