"""Exact laws whose coefficients vary with time, against integrals by SciPy."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.special import ndtr

import feynkac as fk
from feynkac.methods.fast.choose_scheme import suitable_scheme
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.path import weak_order
from feynkac.sampling.reference import replicated

YEAR = 2.0 * np.pi


@dataclass(frozen=True)
class Season(fk.Family, fk.TimeDependent):
    """A number that returns to a level which varies with the date, as its noise does."""

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-1.0, 1.0, shape=(2,)),
            t=fk.Box(0.1, 2.0),
            kappa=fk.Box(0.2, 2.0),
            end=fk.Box(2.0, 3.0),
        )

    def drift(self, x, p):
        return -p.kappa * x + (YEAR * (p.end - p.t)).cos()

    def diffusion(self, x, dw, p):
        second = 0.6 * dw[..., :1] + 0.8 * dw[..., 1:]
        return (1.0 + 0.5 * (YEAR * (p.end - p.t)).sin()) * torch.cat([dw[..., :1], second], -1)

    def initial(self, x, p):
        return x[..., :1] * x[..., 1:]


@dataclass(frozen=True)
class Smile(fk.Family, fk.TimeDependent):
    """A call whose volatility and growth vary with the date."""

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(80.0, 120.0), t=fk.Box(0.1, 2.0), end=fk.Box(2.0, 3.0), strike=fk.Box(80, 120)
        )

    def drift(self, x, p):
        return 0.1 * (p.end - p.t) * x

    def diffusion(self, x, dw, p):
        return (0.2 + 0.1 * (YEAR * (p.end - p.t)).sin()) * x * dw

    def initial(self, x, p):
        return (x - p.strike).clamp_min(0.0)


def season(x, t, kappa, end):
    """Mean and covariance of the two coordinates by quadrature; s is the time gone."""
    date = end - t
    pulled = quad(lambda s: np.exp(-kappa * (t - s)) * np.cos(YEAR * (date + s)), 0.0, t)[0]
    spread = quad(
        lambda s: np.exp(-2 * kappa * (t - s)) * (1 + 0.5 * np.sin(YEAR * (date + s))) ** 2, 0, t
    )[0]
    one, other = np.exp(-kappa * t) * x + pulled
    return one * other + 0.6 * spread


def smile(x, t, end, strike):
    date = end - t
    growth = quad(lambda s: 0.1 * (date + s), 0.0, t)[0]
    deviation = np.sqrt(quad(lambda s: (0.2 + 0.1 * np.sin(YEAR * (date + s))) ** 2, 0.0, t)[0])
    forward = x[0] * np.exp(growth)
    d = np.log(forward / strike) / deviation + 0.5 * deviation
    return forward * ndtr(d) - strike * ndtr(d - deviation)


@pytest.mark.parametrize(
    ("family", "scheme", "known"),
    [(Season(), fk.Gaussian(), season), (Smile(), fk.Geometric(), smile)],
    ids=["gaussian", "geometric"],
)
def test_one_step_has_the_law_of_all_times(family, scheme, known):
    assert suitable_scheme(family) == scheme
    assert weak_order(family, scheme) is None
    inputs = family.domain.sample(6, torch.Generator().manual_seed(0), torch.float64)
    found = replicated(family, scheme, Sobol(), inputs, 1024, torch.Generator().manual_seed(1))
    x, t, p = family.domain.split(inputs)
    rest = (value[:, 0].tolist() for value in vars(p).values())
    expected = [known(*row) for row in zip(x.numpy(), t[:, 0].tolist(), *rest, strict=True)]
    gap = (found.value[:, 0] - torch.tensor(expected)).abs()
    assert (gap < 6.0 * found.error[:, 0] + 2e-5).all()
    assert found.error.max() < 0.02


def test_slopes_follow_the_law():
    family = Smile()
    inputs = family.domain.sample(3, torch.Generator().manual_seed(0), torch.float64)
    z = torch.randn(1, 3, 1, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def end(flat):
        x, t, p = family.domain.split(flat)
        middle = fk.Params(**vars(p), t=0.5 * t)
        return fk.Geometric().terminal(family, x, t, middle, z)

    assert torch.autograd.gradcheck(end, inputs.requires_grad_())
