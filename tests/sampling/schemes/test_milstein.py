"""Milstein: strong order 1 on noise that commutes, weak order 1, and other noise refused."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from feynkac.errors import InputError
from feynkac.families import (
    BasketPut,
    BlackScholes,
    Box,
    Domain,
    ExactSampler,
    Family,
    HeatGaussian,
    HeatParaboloid,
)
from feynkac.sampling.labels import differential_labels, labels
from feynkac.sampling.noise.noise import Antithetic, Shape, normals
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.milstein import Milstein


@dataclass(frozen=True)
class Growth(Family, ExactSampler):
    """dS_i = r S_i dt + σ_i S_i dB_i,  φ(x) = ‖x‖²: diagonal noise."""

    @property
    def domain(self):
        pair = Box(0.1, 0.7, shape=(2,))
        return Domain(x=Box(0.5, 1.5, shape=(2,)), t=Box(0.0, 1.0), sigma=pair, rate=Box(0.0, 1.0))

    def drift(self, x, p):
        return p.rate * x

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def initial(self, x, p):
        return x.square().sum(-1, keepdim=True)

    def exact(self, x, t, p, z):
        return x * ((p.rate - p.sigma.square() / 2) * t + p.sigma * t.sqrt() * z).exp()


@dataclass(frozen=True)
class Mixed(Family, ExactSampler):
    """S = O Y with O a rotation and dY_i = σ Y_i dB_i: every entry of σ(S) moves, yet it commutes.

    σ(x) = σ O diag(Oᵀx), so that V_j = σ o_j (o_j·x) and (DV_j) V_k = 0 for j ≠ k.
    """

    @property
    def domain(self):
        return Domain(x=Box(1.0, 2.0, shape=(2,)), t=Box(0.0, 1.0), sigma=Box(0.1, 0.7))

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return p.sigma * self.rotate(self.rotate(x, -1.0) * dw)

    def initial(self, x, p):
        return x.square().sum(-1, keepdim=True)

    def exact(self, x, t, p, z):
        v = p.sigma * t.sqrt()
        return self.rotate(self.rotate(x, -1.0) * (v * z - v.square() / 2).exp())

    @staticmethod
    def rotate(x, sign=1.0):
        a, b = x[..., :1], x[..., 1:]
        return torch.cat([0.8 * a - sign * 0.6 * b, sign * 0.6 * a + 0.8 * b], dim=-1)


@dataclass(frozen=True)
class Brownian(HeatGaussian):
    """σ = I, written as the shortest possible formula."""

    def diffusion(self, x, dw, p):
        return dw


@dataclass(frozen=True)
class Swapped(Mixed):
    """dS_1 = S_2 dB_1,  dS_2 = S_1 dB_2: constant along its own noise, [V_1, V_2] ≠ 0."""

    def diffusion(self, x, dw, p):
        return x.flip(-1) * dw


def coarsen(z):
    """Normals of the same Brownian path on a grid of half as many steps."""
    return (z[0::2] + z[1::2]) / 2**0.5


def coupled_errors(scheme, family, at, z, functional):
    """f(scheme) − f(exact solution) on grids of 2, 4, … len(z) steps, one Brownian path."""
    x, t, p = family.domain.split(family.domain.join(at))
    approximations = {}
    while len(z) > 1:
        approximations[len(z)] = scheme(len(z)).terminal(family, x, t, p, z)
        z = coarsen(z)
    exact = Exact().terminal(family, x, t, p, z)
    return {n: functional(s) - functional(exact) for n, s in sorted(approximations.items())}


def rms(errors):
    """(E‖e‖²)^½.  Shape: `(…, d)` → a number."""
    return errors.square().sum(-1).mean().sqrt().item()


def fitted_order(errors):
    """Slope of the log error against the log step size."""
    steps = np.array(list(errors))
    return -np.polyfit(np.log(steps), np.log(np.array(list(errors.values()))), 1)[0]


SOLVABLE = [
    pytest.param(BlackScholes(), {"x": 10.0, "t": 1.0, "sigma": 0.4, "strike": 11.0}, id="1-d"),
    pytest.param(
        Growth(), {"x": 1.0, "t": 1.0, "sigma": [0.4, 0.2], "rate": 0.1}, id="diagonal, drift"
    ),
    pytest.param(Mixed(), {"x": [1.0, 2.0], "t": 1.0, "sigma": 0.4}, id="rotated"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "expected"), [(Milstein, 1.0), (EulerMaruyama, 0.5)])
@pytest.mark.parametrize(("family", "at"), SOLVABLE)
def test_strong_order(scheme, expected, family, at, generator):
    """In the mean square, which nears its rate sooner than the mean size of the error."""
    z = normals(128, (4000,), family.domain.state_dim, generator, torch.float64)
    errors = coupled_errors(scheme, family, at, z, lambda s: s)
    order = fitted_order({n: rms(e) for n, e in errors.items() if n >= 8})
    assert abs(order - expected) < 0.05, f"measured strong order {order:.3f}"


@pytest.mark.parametrize(("rate", "expected"), [(0.3, 1.0), (0.0, 2.0)])
def test_weak_order_is_one_and_without_drift_on_linear_noise_two(rate, expected):
    """On E S² = x² ρᴹ, with the factor ρ of one step from quadrature: no noise at all.

    Without drift nothing of the weak Taylor scheme of order 2 is missing from Milstein's here.
    """
    family = Growth()
    z, w = (torch.from_numpy(v) for v in np.polynomial.hermite_e.hermegauss(16))
    errors = {}
    for steps in (8, 16, 32, 64):
        at = {"x": 1.0, "t": 1.0 / steps, "sigma": [0.6, 0.3], "rate": rate}
        x, t, p = family.domain.split(family.domain.join(at))
        state = Milstein(1).terminal(family, x, t, p, z[None, :, None].expand(1, 16, 2))
        moment = (w / w.sum() @ state.square()) ** steps
        errors[steps] = (moment - (2 * rate + p.sigma.square()).exp()).norm().item()
    order = fitted_order(errors)
    assert abs(order - expected) < 0.05, f"measured weak order {order:.3f}"


def test_equals_the_double_sum_written_out(generator):
    """½ Σ_jk (DV_j) V_k (ΔB_j ΔB_k − δ_jk h), with V_j and DV_j as matrices of the basket."""
    family, steps = BasketPut(3), 5
    x, t, p = family.domain.split(family.domain.sample(1, generator, torch.float64)[0])
    z = normals(steps, (), 3, generator, torch.float64)

    sigma, mu, s = p.sigma.numpy(), p.mu.numpy(), x.numpy()
    h = t.item() / steps
    for m in range(steps):
        fields = np.column_stack([sigma[:, :, j] @ s for j in range(3)]) + sigma[:, :, 3]
        db = np.sqrt(h) * z[m].numpy()
        areas = np.outer(db, db) - h * np.eye(3)
        double = np.einsum("imj,mk,jk->i", sigma[:, :, :3], fields, areas)
        s = s + (mu[:, :3] @ s + mu[:, 3]) * h + fields @ db + double / 2

    computed = Milstein(steps).terminal(family, x, t, p, z)
    np.testing.assert_allclose(computed.numpy(), s, rtol=1e-13)


@pytest.mark.parametrize("family", [HeatParaboloid(3), HeatGaussian(4), Brownian(2)])
def test_constant_noise_without_drift_is_exact(family, generator):
    inputs = family.domain.sample(8, generator, torch.float64).unsqueeze(-2)
    x, t, p = family.domain.split(inputs)
    z = normals(5, (8, 6), family.domain.state_dim, generator, torch.float64)
    expected = x + t.sqrt() * family.diffusion(x, z.sum(0) / 5**0.5, p)
    torch.testing.assert_close(Milstein(5).terminal(family, x, t, p, z), expected)


def test_time_zero_does_not_move(generator):
    family = Growth()
    x, t, p = family.domain.split(family.domain.sample(4, generator).unsqueeze(-2))
    z = normals(3, (4, 5), 2, generator)
    moved = Milstein(3).terminal(family, x, 0 * t, p, z)
    torch.testing.assert_close(moved, x.expand(4, 5, 2), rtol=0, atol=0)


@pytest.mark.parametrize(
    "family", [BlackScholes(), BlackScholes(3), HeatParaboloid(), HeatGaussian(), Growth(), Mixed()]
)
def test_noise_that_commutes_is_accepted(family):
    Milstein().check(family)


@pytest.mark.parametrize("family", [BasketPut(), BasketPut(2), Swapped()])
def test_other_noise_is_refused(family):
    message = rf"expects noise that commutes, but that of {type(family).__name__} does not "
    with pytest.raises(InputError, match=message + r".*use NinomiyaVictoir"):
        Milstein().check(family)


def test_a_basket_of_one_asset_commutes():
    Milstein().check(BasketPut(1))


@pytest.mark.parametrize("family", [BlackScholes(), Growth(), Mixed(), HeatGaussian(3)])
def test_slopes_are_those_of_the_labels(family, generator):
    """Reverse mode through forward mode, against central differences on the same paths."""
    scheme, count, step = Milstein(4), 5, 1e-6
    inputs = family.domain.sample(count, generator, torch.float64)
    shape = Shape(count, 8, scheme.draws, family.domain.state_dim)
    draw = Antithetic().draw(shape, generator, torch.float64)
    _, slopes = differential_labels(family, scheme, inputs, draw)
    for i, unit in enumerate(step * torch.eye(family.domain.dim, dtype=torch.float64)):
        up, down = (
            differential_labels(family, scheme, inputs + sign * unit, draw)[0] for sign in (1, -1)
        )
        difference = (up - down)[:, 0] / (2 * step)
        torch.testing.assert_close(slopes[:, i], difference, rtol=1e-5, atol=1e-7)


def test_labels_are_finite_and_keep_their_dtype(generator):
    inputs = BlackScholes().domain.sample(64, generator)
    y = labels(BlackScholes(), Milstein(4), inputs, generator, paths=16)
    assert (y.shape, y.dtype) == ((64, 1), torch.float32)
    assert y.isfinite().all()
    assert y.std() > 0


def test_one_normal_vector_a_step():
    assert Milstein(steps=7).draws == 7


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"steps": 0}, "greater than or equal to 1"),
        ({"steps": 2.5}, "valid integer"),
        ({"stpes": 5}, "Unexpected keyword argument"),
    ],
)
def test_settings_without_meaning_are_refused(wrong, message):
    with pytest.raises(ValidationError, match=message):
        Milstein(**wrong)
