"""Laws whose coefficients vary fast, or jump: exact, or not taken for exact."""

import math
from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.methods.fast.choose_scheme import suitable_scheme
from feynkac.sampling.labels import payoffs
from feynkac.sampling.path import weak_order
from feynkac.sampling.schemes.geometric import Growth
from feynkac.sampling.schemes.log_gaussian import Logarithms
from feynkac.sampling.schemes.time_pieces import find_pieces


@dataclass(frozen=True)
class Season(fk.Family, fk.TimeDependent):
    """A price whose logarithm reverts to a level that changes with the season."""

    years: float = 10.0

    @property
    def domain(self):
        x, t = fk.Box(20.0, 40.0), fk.Box(0.1, self.years)
        return fk.Domain(x=x, t=t, kappa=fk.Box(1.0, 5.0))

    def drift(self, x, p):
        return p.kappa * x * ((30.0 / x).log() + 0.5 * (2.0 * math.pi * p.t).sin())

    def diffusion(self, x, dw, p):
        return 0.2 * x * dw

    def initial(self, x, p):
        return x

    def truth(self, x, t, p):
        """ln S − ln 30 is an Ornstein–Uhlenbeck process around a wave; `p.t` is the time left."""
        k, w = p.kappa, 2.0 * math.pi
        left = (-k * t).exp()
        wave = (w - left * (k * (w * t).sin() + w * (w * t).cos())) / (k * k + w * w)
        mean = left * (x / 30.0).log() + 0.5 * k * wave - 0.02 * (1.0 - left) / k
        variance = 0.04 * (1.0 - left.square()) / (2.0 * k)
        return 30.0 * (mean + 0.5 * variance).exp()


@dataclass(frozen=True)
class Quarters(fk.Family, fk.TimeDependent):
    """A lognormal price; its volatility jumps when 0.25 and 1.1 years are left, or by a spike."""

    spike: bool = False

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(20.0, 40.0), t=fk.Box(0.1, 2.0), rate=fk.Box(0.0, 0.1))

    def drift(self, x, p):
        return p.rate * x

    def diffusion(self, x, dw, p):
        if self.spike:
            return (0.2 + 2.0 * (-0.5 * ((p.t - 0.05) / 0.008).square()).exp()) * x * dw
        return torch.where(p.t < 0.25, 0.6, torch.where(p.t < 1.1, 0.3, 0.2)) * x * dw

    def initial(self, x, p):
        return x.square()

    def truth(self, x, t, p):
        early, late = t.clamp_max(0.25), (t - 1.1).clamp_min(0.0)
        total = 0.36 * early + 0.09 * (t - early - late) + 0.04 * late
        return x.square() * (2.0 * p.rate * t + total).exp()


def relative_error(family, count=64):
    inputs = family.domain.sample(count, torch.Generator().manual_seed(1), torch.float64)
    nodes, weights = (torch.as_tensor(v) for v in _hermite(64))
    z = nodes.expand(1, count, -1).unsqueeze(-1)
    earned = payoffs(family, suitable_scheme(family), inputs, z)
    value = (earned.squeeze(-1) * weights).sum(-1, keepdim=True)
    return (value / family.truth(*family.domain.split(inputs)) - 1.0).abs().max()


def _hermite(count):
    import numpy as np

    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return nodes, weights / math.sqrt(2.0 * math.pi)


@pytest.mark.parametrize("family", [Season(), Season(years=1.0), Quarters()])
def test_fast_seasons_and_jumps_have_their_law(family):
    assert weak_order(family, suitable_scheme(family)) is None
    assert relative_error(family) < 1e-5


def test_pieces_are_as_many_as_needed_and_end_at_jumps():
    ten, one = (find_pieces(f, Logarithms(f, (0,))) for f in (Season(), Season(years=1.0)))
    assert ten.number > one.number
    assert find_pieces(Quarters(), Growth()).jumps == pytest.approx((0.25, 1.1), abs=1e-9)


def test_what_pieces_do_not_follow_has_no_exact_law():
    family = Quarters(spike=True)
    assert find_pieces(family, Growth()) is None
    assert weak_order(family, suitable_scheme(family)) is not None
