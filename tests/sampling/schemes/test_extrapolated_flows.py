"""Extrapolated Ninomiya–Victoir splitting: its weak order, with exact expectations."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

import feynkac as fk
from feynkac.errors import InputError
from feynkac.methods.fast.choose_scheme import suitable_scheme
from feynkac.sampling.labels import payoffs


@dataclass(frozen=True)
class Running(fk.Family, fk.NoiseDimension):
    """dS = μS dt + σS dB,  dA = S dt,  φ = A²: an average, whose second moment is known."""

    noise_dim = 1

    @property
    def domain(self):
        return fk.Domain(x=fk.Box([1.0, 0.0], [2.0, 1.0]), t=fk.Box(0.5, 1.0))

    def drift(self, x, p):
        return torch.cat([0.5 * x[..., :1], x[..., :1]], dim=-1)

    def diffusion(self, x, dw, p):
        return torch.cat([0.7 * x[..., :1] * dw, torch.zeros_like(dw)], dim=-1)

    def initial(self, x, p):
        return x[..., 1:].square()

    def truth(self, price, past, t):
        """E (past + ∫S)², from E S_r S_s = S² e^{μs + (μ + σ²)r} for r ≤ s."""
        a, b = 0.5, 0.5 + 0.49
        mean = price * np.expm1(a * t) / a
        square = 2 * price**2 * (np.expm1((a + b) * t) / (a + b) - np.expm1(a * t) / a) / b
        return past**2 + 2 * past * mean + square


@dataclass(frozen=True)
class Hyperbolic(fk.Family):
    """S = sinh(B):  dS = ½S dt + √(1 + S²) dB,  φ = x², where flows are not polynomials."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(0.5, 1.5), t=fk.Box(0.05, 0.1))

    def drift(self, x, p):
        return 0.5 * x

    def diffusion(self, x, dw, p):
        return (1.0 + x.square()).sqrt() * dw

    def initial(self, x, p):
        return x.square()

    def truth(self, x, t):
        return 0.5 * (np.cosh(2.0 * np.arcsinh(x)) * np.exp(2.0 * t) - 1.0)


@dataclass(frozen=True)
class Waving(fk.Family):
    """dS = −S dt + ½ dB,  φ = cos x."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(0.5, 1.5), t=fk.Box(0.5, 1.0))

    def drift(self, x, p):
        return -x

    def diffusion(self, x, dw, p):
        return 0.5 * dw

    def initial(self, x, p):
        return x.cos()

    def truth(self, x, t):
        return np.cos(x * np.exp(-t)) * np.exp(np.expm1(-2.0 * t) / 16.0)


NODES, WEIGHTS = (torch.tensor(v) for v in np.polynomial.hermite_e.hermegauss(14))


def mean(family, scheme, inputs):
    """E Y by a product rule, one normal per step."""
    z = torch.cartesian_prod(*[NODES] * scheme.steps).reshape(-1, scheme.steps)
    weights = torch.cartesian_prod(*[WEIGHTS] * scheme.steps).reshape(-1, scheme.steps).prod(-1)
    paid = payoffs(family, scheme, inputs, z.mT.reshape(scheme.steps, 1, -1, 1))
    return float((paid[0, :, 0] * weights).sum() / weights.sum())


@pytest.mark.parametrize(
    ("family", "at", "noise", "order"),
    [
        (Hyperbolic(), (1.0, 0.1), "diagonal", 3),
        (Running(), (1.5, 0.3, 0.5), "diagonal", 4),
        (Waving(), (1.0, 1.0), "additive", 4),
    ],
    ids=["flows by Runge–Kutta", "linear noise", "additive noise"],
)
def test_the_weak_order_is_at_least_as_declared(family, at, noise, order):
    inputs, exact = torch.tensor([at], dtype=torch.float64), family.truth(*at)
    for kind, found in ((fk.NinomiyaVictoir, 2), (fk.ExtrapolatedFlows, order)):
        coarse, fine = (
            abs(mean(family, kind(steps=n, noise=noise), inputs) - exact) for n in (2, 4)
        )
        assert kind.order <= found
        assert np.log2(coarse / fine) == pytest.approx(found, abs=0.4)


def test_it_is_chosen_for_an_average_over_the_path():
    assert suitable_scheme(Running()) == fk.ExtrapolatedFlows(steps=4, noise="diagonal")


def test_noise_must_be_what_is_relied_on():
    with pytest.raises(InputError, match="even number of steps, got 3"):
        fk.ExtrapolatedFlows(steps=3).check(Running())
    with pytest.raises(InputError, match="is not additive, but diagonal"):
        fk.ExtrapolatedFlows(noise="additive").check(Running())
