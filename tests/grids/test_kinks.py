from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.families.models.cev import Cev
from feynkac.grids.grid import Grid, read_grid
from feynkac.grids.kinks import find_kinks
from feynkac.grids.table import grouped_inputs
from feynkac.sampling.generators import make_generator


@dataclass(frozen=True)
class Written(fk.Family):
    """dx = σ(1 + ½ sin x) dB in each coordinate; φ has its kinks where `kind` says."""

    kind: str = "call"
    dim: int = 1

    @property
    def domain(self):
        x = fk.Box(-1.0, 3.0, shape=(self.dim,))
        return fk.Domain(x=x, t=fk.Box(0, 1), sigma=fk.Box(0.1, 0.5), level=fk.Box(0.0, 2.0))

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return p.sigma * (1.0 + 0.5 * x.sin()) * dw

    def initial(self, x, p):
        first, last = x[..., :1], x[..., -1:]
        return {
            "call": (first - p.level).clamp_min(0.0),
            "digital": (first > p.level).to(x),
            "smooth": first.square() + last.exp(),
            "pair": (first - p.level).clamp_min(0.0) - (first - p.level - 0.5).clamp_min(0.0),
            "exchange": (first - last).clamp_min(0.0),
        }[self.kind]


def kinks_of(family, sets=8):
    inputs = grouped_inputs(family.domain, sets, 64, make_generator(0, "kinks"))
    x, _, _ = family.domain.split(inputs)
    p = family.domain.split(inputs[:, 0]).p
    return find_kinks(family, x, p), p


@pytest.mark.parametrize("kind", ["call", "digital"])
def test_one_kink_is_found_to_within_a_place(kind):
    kinks, p = kinks_of(Written(kind))
    assert kinks.found.all()
    assert (kinks.mean - p.level).abs().max() < 0.02
    assert kinks.deviation.max() < 0.02


def test_of_two_kinks_the_middle_and_how_far_they_are_apart():
    kinks, p = kinks_of(Written("pair"))
    assert kinks.found.all()
    assert (kinks.mean - p.level - 0.25).abs().max() < 0.05
    assert (kinks.deviation - 0.25).abs().max() < 0.05


def test_a_curved_payoff_has_none():
    assert not kinks_of(Written("smooth", dim=2))[0].found.any()


def test_a_kink_that_moves_with_the_other_coordinate_is_spread_out():
    kinks, _ = kinks_of(Written("exchange", dim=2))
    assert kinks.found.all()
    assert kinks.deviation.min() > 0.8


def test_prices_of_a_wide_box_are_accurate_on_few_nodes():
    """Volatility 3 % to 100 %, a week to five years: 4.3e-3 before nodes crowded at the strike."""
    family = Cev().on(
        x=fk.LogUniform(40.0, 250.0),
        t=fk.LogUniform(7 / 365, 5.0),
        sigma=fk.LogUniform(0.03, 1.0),
        beta=fk.Box(0.2, 0.95),
        rate=fk.Box(-0.01, 0.1),
        strike=100.0,
    )
    inputs = grouped_inputs(family.domain, 64, 32, make_generator(5, "wide"))
    value = read_grid(family, Grid((65,), 24), inputs).value
    exact = family.closed_form(*family.domain.split(inputs))
    assert ((value - exact).abs() / (1.0 + exact)).mean() < 1e-3
