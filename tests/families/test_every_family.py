"""What the paper's families promise: shapes, dtypes, exact t = 0, their PDE, their law of S_t."""

import math

import numpy as np
import pytest
import torch
from torch.func import grad, hessian, vmap

from feynkac.families import (
    BasketPut,
    BlackScholes,
    ClosedForm,
    ClosedPartials,
    ExactSampler,
    HeatGaussian,
    HeatParaboloid,
    Params,
)

PAPER = (BlackScholes, BasketPut, HeatParaboloid, HeatGaussian)
EVERY = [cls() for cls in PAPER]
EVERY += [cls(dim=d) for cls in PAPER for d in (1, 2) if cls(dim=d) not in EVERY]
CLOSED = [family for family in EVERY if isinstance(family, ClosedForm)]
PARTIALS = [family for family in EVERY if isinstance(family, ClosedPartials)]
EXACT = [family for family in EVERY if isinstance(family, ExactSampler)]

every_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
every_lead = pytest.mark.parametrize("lead", [(), (4,), (4, 3)])


def for_each(families):
    return pytest.mark.parametrize("family", families, ids=repr)


def sample(family, lead, generator, dtype=torch.float64):
    """Uniform flat inputs.  Shape: (*lead, dim)."""
    inputs = family.domain.sample(math.prod(lead), generator, dtype)
    return inputs.reshape(*lead, family.domain.dim)


def closed_form(family, inputs):
    return family.closed_form(*family.domain.split(inputs))


@for_each(EVERY)
@every_dtype
@every_lead
def test_coefficients_keep_shape_and_dtype(family, dtype, lead, generator):
    x, _, p = family.domain.split(sample(family, lead, generator, dtype))
    dw = torch.randn(x.shape, generator=generator, dtype=dtype)
    vector, scalar = (*lead, family.dim), (*lead, 1)
    for value, shape in (
        (family.drift(x, p), vector),
        (family.diffusion(x, dw, p), vector),
        (family.initial(x, p), scalar),
    ):
        assert value.shape == shape
        assert value.dtype == dtype
        assert value.isfinite().all()


@for_each(EVERY)
def test_coefficients_act_on_each_row_alone(family, generator):
    inputs = sample(family, (4, 3), generator)
    dw = torch.randn(4, 3, family.dim, generator=generator, dtype=torch.float64)
    x, _, p = family.domain.split(inputs)
    row_x, _, row_p = family.domain.split(inputs[2, 1])
    torch.testing.assert_close(family.drift(x, p)[2, 1], family.drift(row_x, row_p))
    torch.testing.assert_close(family.initial(x, p)[2, 1], family.initial(row_x, row_p))
    torch.testing.assert_close(
        family.diffusion(x, dw, p)[2, 1], family.diffusion(row_x, dw[2, 1], row_p)
    )


@for_each(EVERY)
def test_diffusion_is_linear_in_the_noise(family, generator):
    x, _, p = family.domain.split(sample(family, (8,), generator))
    a, b = torch.randn(2, 8, family.dim, generator=generator, dtype=torch.float64)
    sum_of_both = 2.0 * family.diffusion(x, a, p) - 3.0 * family.diffusion(x, b, p)
    torch.testing.assert_close(family.diffusion(x, 2.0 * a - 3.0 * b, p), sum_of_both)


@for_each(EXACT)
@every_dtype
@every_lead
def test_exact_samples_keep_shape_and_dtype(family, dtype, lead, generator):
    x, t, p = family.domain.split(sample(family, lead, generator, dtype))
    z = torch.randn(x.shape, generator=generator, dtype=dtype)
    state = family.exact(x, t, p, z)
    assert state.shape == (*lead, family.dim)
    assert state.dtype == dtype
    assert state.isfinite().all()
    torch.testing.assert_close(family.exact(x, torch.zeros_like(t), p, z), x, rtol=0, atol=0)


@for_each(CLOSED)
@every_dtype
@every_lead
def test_closed_forms_keep_shape_and_dtype(family, dtype, lead, generator):
    value = closed_form(family, sample(family, lead, generator, dtype))
    assert value.shape == (*lead, 1)
    assert value.dtype == dtype
    assert value.isfinite().all()


@for_each(PARTIALS)
@every_dtype
@every_lead
def test_closed_partials_have_the_shapes_of_their_variables(family, dtype, lead, generator):
    x, t, p = family.domain.split(sample(family, lead, generator, dtype))
    variables = {"x": x, "t": t, **{name: getattr(p, name) for name in p}}
    partials = family.closed_partials(x, t, p)
    assert list(partials) == list(variables)
    for name, value in partials.items():
        assert value.shape == variables[name].shape
        assert value.dtype == dtype
        assert value.isfinite().all()


@for_each(CLOSED)
def test_single_precision_agrees_with_double(family, generator):
    inputs = sample(family, (100,), generator, torch.float32)
    double = closed_form(family, inputs.double())
    torch.testing.assert_close(closed_form(family, inputs).double(), double, rtol=1e-5, atol=1e-5)


@for_each(PARTIALS)
@pytest.mark.parametrize("at_zero", [False, True])
def test_closed_partials_agree_with_autodiff(family, at_zero, generator):
    inputs = sample(family, (50,), generator)
    if at_zero:
        inputs[:, family.domain.slices()["t"]] = 0.0
    inputs.requires_grad_()
    (autodiff,) = torch.autograd.grad(closed_form(family, inputs).sum(), inputs)
    partials = family.closed_partials(*family.domain.split(inputs.detach()))
    flat = torch.cat([value.reshape(50, -1) for value in partials.values()], dim=-1)
    torch.testing.assert_close(flat, autodiff, rtol=1e-10, atol=1e-12)


@for_each(CLOSED)
@every_dtype
@every_lead
def test_at_time_zero_the_closed_form_is_the_initial_condition(family, dtype, lead, generator):
    x, t, p = family.domain.split(sample(family, lead, generator, dtype))
    assert torch.equal(family.closed_form(x, torch.zeros_like(t), p), family.initial(x, p))


@for_each(CLOSED)
@every_dtype
def test_at_time_zero_derivatives_are_finite_to_second_order(family, dtype, generator):
    inputs = sample(family, (5,), generator, dtype)
    inputs[:, family.domain.slices()["t"]] = 0.0
    inputs.requires_grad_()
    value = closed_form(family, inputs)
    (first,) = torch.autograd.grad(value.sum(), inputs, create_graph=True)
    assert first.isfinite().all()
    if first.requires_grad:
        direction = torch.randn(inputs.shape, generator=generator, dtype=dtype)
        (second,) = torch.autograd.grad((first * direction).sum(), inputs)
        assert second.isfinite().all()


TOLERANCE = 1e-8
SMALL = [
    BlackScholes(),
    BlackScholes(dim=3),
    HeatParaboloid(dim=1),
    HeatParaboloid(dim=3),
    HeatGaussian(dim=1),
    HeatGaussian(dim=4),
    HeatGaussian(dim=40),
]


def residuals(family, inputs, speed=1.0):
    """∂u/∂t − ½ Tr(σσ*∇²u) − ⟨μ, ∇u⟩ of u(x, speed·t), one number an input.

    σ is built column by column from the family's own diffusion: Tr(σσ*H) = Σᵢ ⟨σeᵢ, Hσeᵢ⟩.
    """
    x, t, p = family.domain.split(inputs)
    basis = torch.eye(family.dim, dtype=inputs.dtype)

    def residual(x, t, values):
        p = Params(**values)

        def u(x, t):
            return family.closed_form(x, speed * t, p).squeeze(-1)

        by_time = grad(u, argnums=1)(x, t).squeeze(-1)
        columns = torch.stack([family.diffusion(x, e, p) for e in basis])
        trace = torch.einsum("ij,jk,ik->", columns, hessian(u)(x, t), columns)
        return by_time - trace / 2 - grad(u)(x, t) @ family.drift(x, p)

    return vmap(residual)(x, t, {name: getattr(p, name) for name in p})


@for_each(SMALL)
def test_the_closed_form_solves_the_pde(family, generator):
    assert residuals(family, sample(family, (200,), generator)).abs().max() <= TOLERANCE


@for_each(SMALL)
def test_the_residual_notices_a_wrong_solution(family, generator):
    inputs = sample(family, (200,), generator)
    assert residuals(family, inputs, speed=1.01).abs().max() > 100 * TOLERANCE


def moments(family, x, t, p):
    """Mean and covariance of S_t as text books give them."""
    if isinstance(family, BlackScholes):
        growth = (p.sigma.square() * t).expm1()
        return x, torch.diag(x.square() * growth)
    if isinstance(family, HeatParaboloid):
        return x, t * p.sigma @ p.sigma.T
    return x, t * p.sigma.square() * torch.eye(family.dim)


@for_each([family for family in EXACT if family.dim <= 10])
def test_exact_samples_have_the_right_mean_and_covariance(family, generator):
    paths = 2**16
    for inputs in sample(family, (3,), generator):
        x, t, p = family.domain.split(inputs)
        z = torch.randn(paths, family.dim, generator=generator, dtype=torch.float64)
        mean, covariance = moments(family, x, t, p)
        centred = family.exact(x, t, p, z) - mean
        assert_mean_zero(centred)
        products = centred[:, :, None] * centred[:, None, :]
        assert_mean_zero((products - covariance).flatten(1))


@for_each([family for family in EXACT if family.dim == 1])
def test_exact_samples_have_exact_moments(family, generator):
    """By Gauss–Hermite quadrature, which no statistical error blurs."""
    nodes, weights = map(torch.tensor, np.polynomial.hermite_e.hermegauss(40))
    for inputs in sample(family, (20,), generator):
        x, t, p = family.domain.split(inputs)
        mean, covariance = moments(family, x, t, p)
        centred = family.exact(x, t, p, nodes[:, None]).squeeze(-1) - mean
        first, second = torch.stack([centred, centred.square()]) @ weights / weights.sum()
        assert abs(first) < 1e-12
        assert second.item() == pytest.approx(covariance.item(), rel=1e-10)


def assert_mean_zero(values):
    """Every column of independent rows has mean 0, within 4.5 standard errors."""
    error = values.std(0) / len(values) ** 0.5
    assert (values.mean(0).abs() <= 4.5 * error).all()


def test_the_basket_alone_has_neither_closed_form_nor_exact_sampler():
    """So that the lists above cannot silently become empty."""
    assert {type(f) for f in EVERY} - {type(f) for f in CLOSED} == {BasketPut}
    assert {type(f) for f in CLOSED} == {type(f) for f in EXACT} == {type(f) for f in PARTIALS}
    assert len(EVERY) == 4 * 3 - 1  # black-scholes has dim 1 by default
