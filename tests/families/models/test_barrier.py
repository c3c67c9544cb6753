"""Knock-out calls: against QuantLib, zero at the barrier, and unbiased paths in one step."""

import math

import pytest
import QuantLib as ql  # noqa: N813
import torch
from oracles import dated, interior, market, maturity, value
from scipy.integrate import quad
from scipy.stats import norm

from feynkac.errors import InputError
from feynkac.families import Box
from feynkac.families.catalogue import family_fields
from feynkac.families.models.barrier import Barrier
from feynkac.families.models.black_scholes_merton import BlackScholesMerton
from feynkac.sampling.labels import differential_labels
from feynkac.sampling.noise.noise import Independent, Shape
from feynkac.sampling.reference import monte_carlo
from feynkac.sampling.schemes.exact import Exact

DOWN, UP = Barrier(), Barrier("up")
AT = {"x": 100.0, "t": 0.5, "sigma": 0.3, "rate": 0.05, "dividend": 0.02, "strike": 105.0}
both = pytest.mark.parametrize("family", [DOWN, UP], ids=str)


@both
def test_values_agree_with_quantlib(family, generator):
    kind = {"down": ql.Barrier.DownOut, "up": ql.Barrier.UpOut}[family.kind]
    for at in dated(family, 100, generator):
        payoff = ql.PlainVanillaPayoff(ql.Option.Call, at["strike"])
        option = ql.BarrierOption(kind, at["barrier"], 0.0, payoff, maturity(at))
        option.setPricingEngine(ql.AnalyticBarrierEngine(market(at)))
        assert value(family, **at) == pytest.approx(option.NPV(), rel=1e-11, abs=1e-11)


@both
def test_the_value_is_zero_at_the_barrier_and_beyond(family):
    barrier = {"down": 80.0, "up": 130.0}[family.kind]
    out = -1.0 if family is DOWN else 1.0
    at = AT | {"barrier": barrier}
    near = value(family, **at | {"x": barrier * (1.0 - out * 1e-9)})
    assert 0.0 < near < 1e-7
    for x in (barrier, barrier * (1.0 + out * 0.1)):
        assert value(family, **at | {"x": x}) == 0.0
        assert value(family, **at | {"x": x, "t": 0.0}) == 0.0


@pytest.mark.parametrize(("family", "far"), [(DOWN, 1.0), (UP, 1e4)], ids=str)
def test_a_far_barrier_is_none(family, far):
    assert value(family, **AT, barrier=far) == pytest.approx(
        value(BlackScholesMerton(), **AT), rel=1e-13
    )


@both
def test_the_distance_is_a_brownian_motion_with_drift(family, generator):
    """Affine in the normal, with deviation σ√t; positive in the whole domain."""
    x, t, p = family.domain.split(interior(family, 50, generator))
    at = [family.distance(family.exact(x, t, p, torch.full_like(x, z)), p) for z in (-1, 0, 1)]
    side = 1.0 if family is DOWN else -1.0
    torch.testing.assert_close(at[2] - at[1], side * p.sigma * t.sqrt(), rtol=1e-11, atol=1e-13)
    torch.testing.assert_close(at[1] - at[0], side * p.sigma * t.sqrt(), rtol=1e-11, atol=1e-13)
    assert (family.distance(x, p) > 0).all()


@both
def test_the_value_is_the_mean_over_ends_and_bridges(family, generator):
    """∫ e^{−rt} φ(S) (1 − exp(−2ρ₀ρ/σ²t)) ψ(z) dz over the ends S that are alive."""
    for row in interior(family, 6, generator):
        x, t, p = family.domain.split(row)
        start, variance = family.distance(x, p).item(), (p.sigma**2 * t).item()

        def paid(z, x=x, t=t, p=p, start=start, variance=variance):
            end = family.exact(x, t, p, torch.tensor([z], dtype=torch.float64))
            rho = family.distance(end, p).item()
            alive = 1.0 - math.exp(-2.0 * start * rho / variance) if rho > 0 else 0.0
            return family.initial(end, p).item() * alive * norm.pdf(z)

        def level(price, x=x, t=t, p=p, variance=variance):
            growth = (p.rate - p.dividend - p.sigma**2 / 2) * t
            return (((price / x).log() - growth) / variance**0.5).item()

        ends = (level(p.strike), level(p.barrier) if family is UP else 12.0)
        expected = math.exp(-(p.rate * t).item()) * quad(paid, *ends, epsabs=1e-11)[0]
        assert family.closed_form(x, t, p).item() == pytest.approx(expected, rel=1e-8, abs=1e-9)


@both
def test_one_exact_step_is_unbiased(family, generator):
    """Values and pathwise slopes of the simulation, within 4.5 standard errors."""
    inputs = interior(family, 12, generator)
    found = monte_carlo(family, Exact(), inputs, 2**15, generator)
    u = family.closed_form(*family.domain.split(inputs))
    assert ((found.value - u).abs() <= 4.5 * found.error).all()
    assert (found.error < 0.02 * (1.0 + u)).all()


@both
def test_pathwise_slopes_are_unbiased(family, generator):
    inputs = interior(family, 4, generator, least=0.2)
    shape = Shape(len(inputs), 2**12, 1, 1)
    slopes = torch.stack(
        [
            differential_labels(
                family, Exact(), inputs, Independent().draw(shape, generator, torch.float64)
            )[1]
            for _ in range(16)
        ]
    )
    leaf = inputs.clone().requires_grad_()
    (exact,) = torch.autograd.grad(family.closed_form(*family.domain.split(leaf)).sum(), leaf)
    error = slopes.std(0) / 16**0.5
    assert ((slopes.mean(0) - exact).abs() <= 6.0 * error + 1e-12).all()  # Student's t, 15 degrees
    assert (error < 0.1 * (1.0 + exact.abs())).all()


def test_the_kind_says_where_the_barrier_lies():
    assert DOWN.domain.measures["barrier"] == Box(70, 85)
    assert UP.domain.measures["barrier"] == Box(120, 140)
    assert family_fields(UP) == {"kind": "up"}
    with pytest.raises(InputError, match="down or up, got 'sideways'"):
        Barrier("sideways")
