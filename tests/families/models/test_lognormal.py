"""One asset with rate and dividend: paths, coefficients and closed forms belong together."""

import numpy as np
import pytest
import torch
from oracles import interior, residuals
from scipy.integrate import quad
from scipy.stats import lognorm, norm

from feynkac.families import Box, Domain
from feynkac.families.models.barrier import Barrier
from feynkac.families.models.black_scholes_merton import BlackScholesMerton
from feynkac.families.models.digital import Digital
from feynkac.families.models.lognormal import market
from feynkac.families.payoff import Payoff

EUROPEAN = [BlackScholesMerton(Payoff(style)) for style in ("call", "put", "digital")] + [Digital()]
EVERY = [*EUROPEAN, Barrier("down"), Barrier("up")]
TOLERANCE = 1e-9


def for_each(families):
    return pytest.mark.parametrize("family", families, ids=str)


def rows(family, count, generator):
    """Points of one input each, in float64."""
    inputs = interior(family, count, generator)
    return [family.domain.split(row) for row in inputs]


def test_the_market_is_around_one_hundred():
    assert market(barrier=Box(70, 85)) == Domain(
        x=Box(90, 110),
        t=Box(0, 1),
        sigma=Box(0.1, 0.5),
        rate=Box(0, 0.1),
        dividend=Box(0, 0.05),
        strike=Box(90, 110),
        barrier=Box(70, 85),
    )


@for_each(EVERY)
def test_the_closed_form_solves_the_pde(family, generator):
    assert residuals(family, interior(family, 200, generator)).abs().max() <= TOLERANCE


@for_each(EVERY)
@pytest.mark.parametrize("coefficient", ["drift", "diffusion", "discount"])
def test_the_residual_notices_a_wrong_coefficient(family, coefficient, generator, monkeypatch):
    right = getattr(type(family), coefficient)
    monkeypatch.setattr(type(family), coefficient, lambda self, *a: 1.01 * right(self, *a))
    assert residuals(family, interior(family, 200, generator)).abs().max() > 1e4 * TOLERANCE


def test_exact_samples_have_the_law_of_a_lognormal_number(generator):
    """Quantile by quantile, against SciPy."""
    levels = np.linspace(0.01, 0.99, 25)
    z = torch.tensor(norm.ppf(levels))[:, None]
    family = BlackScholesMerton()
    for x, t, p in rows(family, 20, generator):
        growth = p.rate - p.dividend - p.sigma**2 / 2
        scale = (x * (growth * t).exp()).item()
        expected = lognorm.ppf(levels, s=(p.sigma * t.sqrt()).item(), scale=scale)
        np.testing.assert_allclose(family.exact(x, t, p, z).squeeze(-1), expected, rtol=1e-12)


def test_the_mean_of_exact_samples_is_the_forward(generator):
    nodes, weights = map(torch.tensor, np.polynomial.hermite_e.hermegauss(40))
    family = BlackScholesMerton()
    for x, t, p in rows(family, 20, generator):
        mean = weights @ family.exact(x, t, p, nodes[:, None]) / weights.sum()
        torch.testing.assert_close(mean, family.forward(x, t, p), rtol=1e-12, atol=0)


@for_each(EUROPEAN)
def test_the_value_is_the_discounted_mean_of_the_payoff(family, generator):
    """∫ e^{−rt} φ(S_t(z)) ψ(z) dz by adaptive quadrature, split where the payoff bends."""
    for x, t, p in rows(family, 8, generator):
        v = (p.sigma * t.sqrt()).item()
        growth = (p.rate - p.dividend - p.sigma**2 / 2) * t
        bend = (((p.strike / x).log() - growth) / v).item()

        def paid(z, x=x, t=t, p=p):
            end = family.exact(x, t, p, torch.tensor([z], dtype=torch.float64))
            return (family.initial(end, p).item()) * norm.pdf(z)

        parts = [quad(paid, a, b, epsabs=1e-11)[0] for a, b in ((-12, bend), (bend, 12))]
        expected = (-family.discount(x, p) * t).exp().item() * sum(parts)
        assert family.closed_form(x, t, p).item() == pytest.approx(expected, rel=1e-8, abs=1e-9)


@for_each(EVERY)
def test_formulas_broadcast_over_many_paths_of_an_input(family, generator):
    """Parameters `(N, 1, 1)` and states `(N, K, 1)`, as in a simulation."""
    inputs = family.domain.sample(6, generator)
    x, t, p = family.domain.split(inputs.unsqueeze(-2))
    z = torch.randn(6, 4, 1, generator=generator)
    end = family.exact(x, t, p, z)
    row_x, row_t, row_p = family.domain.split(inputs[2])
    row = family.exact(row_x, row_t, row_p, z[2, 1])
    for many, one in (
        (end, row),
        (family.drift(end, p), family.drift(row, row_p)),
        (family.diffusion(end, z, p), family.diffusion(row, z[2, 1], row_p)),
        (family.discount(end, p), family.discount(row, row_p)),
        (family.initial(end, p), family.initial(row, row_p)),
        (family.closed_form(end, t, p), family.closed_form(row, row_t, row_p)),
    ):
        assert many.shape == (6, 4, 1)
        assert many.dtype == torch.float32
        torch.testing.assert_close(many[2, 1], one)


@for_each(EVERY)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("t", [0.0, 1e-12, 1e-6])
def test_nothing_is_infinite_as_time_runs_out(family, t, dtype, generator):
    """Values, first and second derivatives, and those of the exact sampler; also at x = K."""
    inputs = family.domain.sample(20, generator, dtype)
    where = family.domain.slices()
    inputs[:, where["t"]] = t
    inputs[10:, where["strike"]] = inputs[10:, where["x"]]
    inputs.requires_grad_()
    x, time, p = family.domain.split(inputs)
    for value in (family.closed_form(x, time, p), family.exact(x, time, p, torch.ones_like(x))):
        (first,) = torch.autograd.grad(value.sum() + 0.0 * inputs.sum(), inputs, create_graph=True)
        (second,) = torch.autograd.grad(first.sum() + 0.0 * inputs.sum(), inputs)
        assert value.isfinite().all()
        assert first.isfinite().all()
        assert second.isfinite().all()


@for_each(EVERY)
def test_at_time_zero_nothing_has_happened(family, generator):
    x, t, p = family.domain.split(family.domain.sample(50, generator))
    now = torch.zeros_like(t)
    assert torch.equal(family.closed_form(x, now, p), family.initial(x, p))
    assert torch.equal(family.exact(x, now, p, torch.ones_like(x)), x)
