"""Stratonovich fields are the same by differentiation and as matrices; flows have order 4."""

import functools
import math
from dataclasses import dataclass

import pytest
import torch

from feynkac.families import (
    AdditiveNoise,
    BasketPut,
    BlackScholes,
    CommutingNoise,
    HeatParaboloid,
    Heston,
    MultiAsset,
    OrnsteinUhlenbeck,
)
from feynkac.families.catalogue import BUILT_IN
from feynkac.sampling.schemes.fields import (
    affine_fields,
    along,
    diagonal_drift,
    flow,
    noise_kind,
    observed_noise_kind,
    stratonovich_drift,
)


def sampled(family, generator, count=6):
    return family.domain.split(family.domain.sample(count, generator, torch.float64))


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_affine_fields_are_those_of_the_family(dim, generator):
    family = BasketPut(dim)
    x, _, p = sampled(family, generator)
    x = x.reshape(6, dim)
    extended = torch.cat([x, torch.ones(6, 1)], -1).unsqueeze(-1)
    drift, *columns = ((v @ extended).squeeze(-1) for v in affine_fields(p).unbind(-1))
    torch.testing.assert_close(drift, stratonovich_drift(family, x, p))
    for unit, column in zip(torch.eye(dim).double(), columns, strict=True):
        torch.testing.assert_close(column, along(family, unit.expand(6, dim), p, x))


def test_geometric_brownian_motion_loses_half_its_variance(generator):
    x, _, p = sampled(BlackScholes(), generator)
    expected = -0.5 * p.sigma.square() * x
    torch.testing.assert_close(stratonovich_drift(BlackScholes(), x, p), expected)


def test_constant_noise_needs_no_correction(generator):
    family = HeatParaboloid(3)
    x, _, p = sampled(family, generator)
    torch.testing.assert_close(stratonovich_drift(family, x, p), family.drift(x, p))


def linear_flow_error(s, matrix, x):
    exact = (torch.linalg.matrix_exp(s * matrix) @ x.unsqueeze(-1)).squeeze(-1)
    field = functools.partial(torch.einsum, "ij,...j->...i", matrix)
    return (flow(field, x, s) - exact).norm().item()


def test_the_flow_of_a_linear_field_is_the_matrix_exponential_to_order_4(generator):
    matrix, x = (torch.randn(n, 3, generator=generator, dtype=torch.float64) for n in (3, 5))
    errors = [linear_flow_error(s, matrix, x) for s in (0.2, 0.1)]
    assert errors[1] < 1e-6
    assert math.log2(errors[0] / errors[1]) == pytest.approx(5, abs=0.2)  # one step loses s⁵


def test_each_path_may_flow_for_its_own_time(generator):
    x, s = (torch.rand(8, 1, generator=generator, dtype=torch.float64) for _ in range(2))
    torch.testing.assert_close(flow(torch.neg, x, s), x * (-s).exp(), rtol=1e-3, atol=0)
    assert torch.equal(flow(torch.neg, x, 0.0), x)


@pytest.mark.parametrize(
    ("family", "kind"),
    [
        (OrnsteinUhlenbeck(3), "additive"),
        (HeatParaboloid(2), "additive"),
        (BlackScholes(3), "diagonal"),
        (MultiAsset(2), "commuting"),
        (Heston(), "general"),
        (BasketPut(2), "general"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name(),
)
def test_what_kind_of_noise_a_family_has(family, kind):
    assert noise_kind(family) == kind
    assert observed_noise_kind(family) == kind


@pytest.mark.parametrize("family", [cls() for cls in BUILT_IN.values()], ids=lambda f: f.name())
def test_what_a_family_declares_of_its_noise_is_so(family):
    if isinstance(family, CommutingNoise):
        order = ["general", "commuting", "diagonal", "additive"]
        assert order.index(observed_noise_kind(family)) >= order.index(noise_kind(family))


@dataclass(frozen=True)
class Claimed(BasketPut, AdditiveNoise):
    """Declares what is not so."""


def test_a_declaration_is_not_looked_into():
    assert noise_kind(Claimed(2)) == "additive"
    assert observed_noise_kind(Claimed(2)) == "general"


@dataclass(frozen=True)
class Undefined(BlackScholes):
    """σ is not a number anywhere."""

    def diffusion(self, x, dw, p):
        return (-x).sqrt() * dw


def test_noise_that_is_not_a_number_does_not_commute():
    assert observed_noise_kind(Undefined()) == "general"


@pytest.mark.parametrize("family", [BlackScholes(3), HeatParaboloid(3)], ids=lambda f: f.name())
def test_the_drift_of_diagonal_noise_takes_one_derivative(family, generator):
    x, _, p = sampled(family, generator)
    torch.testing.assert_close(diagonal_drift(family, x, p), stratonovich_drift(family, x, p))
