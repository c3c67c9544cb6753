"""The geometric basket: QuantLib, its own PDE and paths, and many dimensions."""

import math

import numpy as np
import pytest
import QuantLib as ql  # noqa: N813
import torch
from oracles import interior
from torch.func import grad, hessian, vmap

from feynkac.errors import InputError
from feynkac.families.models.geometric_basket import GeometricBasket
from feynkac.families.payoff import Payoff
from feynkac.families.point import Params
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.reference import replicated
from feynkac.sampling.schemes.exact import Exact

CALL, PUT, DIGITAL = (Payoff(style, on="geometric") for style in ("call", "put", "digital"))
STYLES = {
    "call": lambda K: ql.PlainVanillaPayoff(ql.Option.Call, K),
    "put": lambda K: ql.PlainVanillaPayoff(ql.Option.Put, K),
    "digital": lambda K: ql.CashOrNothingPayoff(ql.Option.Call, K, 1.0),
}
every_payoff = pytest.mark.parametrize("payoff", [CALL, PUT, DIGITAL], ids=str)


def quantlib(style, x, t, p):
    """From ln G ~ N(mean, w·Σw t), Σ the matrix of covariances and w = 1/d, in NumPy."""
    x, sigma = x.numpy(), p.sigma.numpy()
    (t, rho, rate, strike) = (v.item() for v in (t, p.rho, p.rate, p.strike))
    corr = np.full((len(x), len(x)), rho)
    np.fill_diagonal(corr, 1.0)
    w = np.full(len(x), 1.0 / len(x))
    variance = w @ (sigma[:, None] * corr * sigma) @ w * t
    mean = w @ (np.log(x) + (rate - sigma**2 / 2) * t)
    forward = math.exp(mean + variance / 2)
    payoff = STYLES[style](strike)
    return ql.BlackCalculator(payoff, forward, variance**0.5, math.exp(-rate * t)).value()


@every_payoff
@pytest.mark.parametrize("dim", [1, 2, 50, 100])
def test_values_agree_with_quantlib(payoff, dim, generator):
    family = GeometricBasket(dim, payoff)
    for inputs in family.domain.sample(20, generator, torch.float64):
        point = family.domain.split(inputs)
        expected = quantlib(payoff.style, *point)
        assert family.closed_form(*point).item() == pytest.approx(expected, rel=1e-10, abs=1e-13)


def residuals(family, inputs):
    """∂u/∂t − ½ Tr(σσ*∇²u) − ⟨μ, ∇u⟩ + c u, one number an input."""
    x, t, p = family.domain.split(inputs)
    units = torch.eye(family.noise_dim, dtype=inputs.dtype)

    def residual(x, t, values):
        p = Params(**values)

        def u(x, t):
            return family.closed_form(x, t, p).squeeze(-1)

        columns = torch.stack([family.diffusion(x, e, p) for e in units])
        growth = torch.einsum("ij,jk,ik->", columns, hessian(u)(x, t), columns) / 2
        growth = growth + grad(u)(x, t) @ family.drift(x, p)
        loss = family.discount(x, p).squeeze(-1) * u(x, t)
        return grad(u, argnums=1)(x, t).squeeze(-1) - growth + loss

    return vmap(residual)(x, t, {name: getattr(p, name) for name in p})


@every_payoff
@pytest.mark.parametrize("dim", [1, 3])
def test_the_closed_form_solves_the_pde(payoff, dim, generator):
    family = GeometricBasket(dim, payoff)
    assert residuals(family, interior(family, 100, generator)).abs().max() <= 1e-9


@pytest.mark.parametrize("coefficient", ["drift", "diffusion", "discount"])
def test_the_residual_notices_a_wrong_coefficient(coefficient, generator, monkeypatch):
    right = getattr(GeometricBasket, coefficient)
    monkeypatch.setattr(GeometricBasket, coefficient, lambda self, *a: 1.01 * right(self, *a))
    family = GeometricBasket(3)
    assert residuals(family, interior(family, 100, generator)).abs().max() > 1e-4


@every_payoff
def test_paths_agree_with_the_closed_form(payoff, generator):
    family = GeometricBasket(100, payoff)
    inputs = family.domain.sample(3, generator, torch.float64)
    u = family.closed_form(*family.domain.split(inputs))
    noise = make_generator(0, "geometric")
    value, error = replicated(family, Exact(), Sobol(), inputs, 1024, noise, replicates=8)
    assert (error < 0.02 * (1.0 + u)).all()
    assert ((value - u).abs() < 5.0 * error).all()  # 8 replicates: Student's tails


def test_single_precision_is_good_enough_for_a_hundred_assets(generator):
    family = GeometricBasket(100)
    x, t, p = family.domain.split(family.domain.sample(500, generator))
    x64, t64, p64 = x.double(), t.double(), Params(**{n: getattr(p, n).double() for n in p})
    z = torch.randn(500, 101, generator=generator)
    closed = family.closed_form(x, t, p).double() - family.closed_form(x64, t64, p64)
    paid = family.initial(family.exact(x, t, p, z), p)
    paid64 = family.initial(family.exact(x64, t64, p64, z.double()), p64)
    rounding = paid.double() - paid64
    assert closed.abs().max() < 2e-6
    assert rounding.abs().max() < 1e-4  # a millionth of the price
    assert rounding.mean().abs() < 1e-5


@every_payoff
def test_at_time_zero_it_is_the_payoff(payoff, generator):
    family = GeometricBasket(4, payoff)
    x, t, p = family.domain.split(family.domain.sample(50, generator))
    now = torch.zeros_like(t).requires_grad_()
    value = family.closed_form(x, now, p)
    assert torch.equal(value, family.initial(x, p))
    assert torch.autograd.grad(value.sum(), now)[0].isfinite().all()


def test_another_index_is_refused():
    with pytest.raises(
        InputError, match="got the payoff put:mean; say put:geometric, or take Mult"
    ):
        GeometricBasket(5, Payoff("put"))
