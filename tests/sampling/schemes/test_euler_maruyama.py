"""Euler–Maruyama is Eq. (8) to the letter, of strong order ½ and weak order 1."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from feynkac.families import BasketPut, BlackScholes, Box, Domain, ExactSampler, Family
from feynkac.sampling.noise.noise import normals
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact


@dataclass(frozen=True)
class GrowingBlackScholes(Family, ExactSampler):
    """dS = r S dt + σ S dB,  φ(x) = x²."""

    @property
    def domain(self):
        return Domain(x=Box(0.5, 1.5), t=Box(0.0, 1.0), sigma=Box(0.1, 0.7), rate=Box(0.0, 1.0))

    def drift(self, x, p):
        return p.rate * x

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def initial(self, x, p):
        return x.square()

    def exact(self, x, t, p, z):
        return x * ((p.rate - p.sigma.square() / 2) * t + p.sigma * t.sqrt() * z).exp()


def coarsen(z):
    """Normals of the same Brownian path on a grid of half as many steps."""
    return (z[0::2] + z[1::2]) / 2**0.5


def coupled_errors(family, at, z, functional):
    """f(Euler–Maruyama) − f(exact solution) on grids of 2, 4, … len(z) steps, one Brownian path."""
    x, t, p = family.domain.split(family.domain.join(at))
    approximations = {}
    while len(z) > 1:
        steps = len(z)
        approximations[steps] = EulerMaruyama(steps).terminal(family, x, t, p, z)
        z = coarsen(z)
    exact = Exact().terminal(family, x, t, p, z)
    return {n: functional(s) - functional(exact) for n, s in sorted(approximations.items())}


def fitted_order(errors):
    """Slope of the log error against the log step size."""
    steps = np.array(list(errors))
    return -np.polyfit(np.log(steps), np.log(np.array(list(errors.values()))), 1)[0]


GEOMETRIC = [
    pytest.param(
        BlackScholes(), {"x": 10.0, "t": 1.0, "sigma": 0.6, "strike": 11.0}, id="driftless"
    ),
    pytest.param(
        GrowingBlackScholes(), {"x": 1.0, "t": 1.0, "sigma": 0.5, "rate": 0.3}, id="with drift"
    ),
]


@pytest.mark.parametrize(("family", "at"), GEOMETRIC)
def test_strong_order_is_one_half(family, at, generator):
    z = normals(512, (4000,), 1, generator, torch.float64)
    errors = coupled_errors(family, at, z, lambda s: s)
    order = fitted_order({n: e.abs().mean().item() for n, e in errors.items() if n >= 16})
    assert abs(order - 0.5) < 0.05, f"measured strong order {order:.3f}"


@pytest.mark.slow
@pytest.mark.parametrize(("family", "at"), GEOMETRIC)
def test_weak_order_is_one(family, at, generator):
    """On the second moment, whose Euler–Maruyama value is wrong with and without drift."""
    chunks = [
        coupled_errors(family, at, normals(32, (2**16,), 1, generator, torch.float64), torch.square)
        for _ in range(16)
    ]
    means = {n: np.mean([c[n].mean().item() for c in chunks]) for n in chunks[0] if n >= 4}
    order = fitted_order({n: abs(mean) for n, mean in means.items()})
    assert abs(order - 1.0) < 0.15, f"measured weak order {order:.3f}"


@pytest.mark.parametrize("steps", [1, 3, 10])
def test_the_second_moment_is_that_of_the_scheme(steps, generator):
    """E[S²] = x² (1 + σ²h)ᴹ on driftless geometric Brownian motion."""
    family, paths, sigma = BlackScholes(), 200_000, 0.6
    at = family.domain.join({"x": 10.0, "t": 1.0, "sigma": sigma, "strike": 11.0})
    z = normals(steps, (paths,), 1, generator, torch.float64)
    squares = EulerMaruyama(steps).terminal(family, *family.domain.split(at), z).square()
    expected = 100.0 * (1 + sigma**2 / steps) ** steps
    assert abs(squares.mean() - expected) < 4.5 * squares.std() / paths**0.5


def test_equals_the_paper_s_recursion_with_the_matrix_written_out(generator):
    """σ(x) = [γ₁x | γ₂x | γ₃x] + γ₄,  μ(x) = γ_{μ,1} x + γ_{μ,2}."""
    family, steps = BasketPut(3), 7
    x, t, p = family.domain.split(family.domain.sample(1, generator, torch.float64)[0])
    z = normals(steps, (), 3, generator, torch.float64)

    sigma, mu, s = p.sigma.numpy(), p.mu.numpy(), x.numpy()
    h = t.item() / steps
    for m in range(steps):
        matrix = np.column_stack([sigma[:, :, j] @ s for j in range(3)]) + sigma[:, :, 3]
        s = s + (mu[:, :3] @ s + mu[:, 3]) * h + matrix @ (np.sqrt(h) * z[m].numpy())

    computed = EulerMaruyama(steps).terminal(family, x, t, p, z)
    np.testing.assert_allclose(computed.numpy(), s, rtol=1e-13)


def test_one_normal_vector_a_step():
    assert EulerMaruyama(steps=7).draws == 7


def test_any_family_will_do():
    EulerMaruyama().check(BasketPut())


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
        EulerMaruyama(**wrong)
