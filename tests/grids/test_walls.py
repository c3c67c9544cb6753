"""Walls on grids: found across single axes, and right against images and QuantLib."""

import datetime
from dataclasses import dataclass

import pytest
import torch
from written import inputs_of, mean_error

import feynkac as fk
from feynkac.grids.grid import Grid, read_grid, suits
from feynkac.grids.walls import wall_axes

PLANE = Grid((65, 33), 24)


@dataclass(frozen=True)
class Survivor(fk.Family, fk.Absorbing):
    """E[exp X₂; X₁ > 0 until t] of two Brownian motions with correlation ρ."""

    slanted: bool = False

    @property
    def domain(self):
        x = fk.Box([0.1, -0.5], [1.5, 0.5])
        return fk.Domain(x=x, t=fk.Box(0.05, 1.0), rho=fk.Box(-0.8, 0.8))

    def drift(self, x, p):
        return 0.0 * x

    def diffusion(self, x, dw, p):
        first, second = dw[..., :1], dw[..., 1:]
        return torch.cat([first, p.rho * first + (1.0 - p.rho.square()).sqrt() * second], dim=-1)

    def initial(self, x, p):
        return x[..., 1:].exp()

    def distance(self, x, p):
        return x[..., :1] + (0.1 * x[..., 1:] if self.slanted else 0.0)

    def truth(self, x, t, p):
        """By the image at −x₁, x₂ − 2ρx₁."""
        first, second = x[..., :1], x[..., 1:]
        law = torch.special.ndtr
        real = law((first + p.rho * t) / t.sqrt())
        image = (-2.0 * p.rho * first).exp() * law((p.rho * t - first) / t.sqrt())
        return (second + 0.5 * t).exp() * (real - image)


def test_a_wall_across_one_axis_of_two():
    assert wall_axes(Survivor()) == (0,)
    coarse, fine = (mean_error(Survivor(), g) for g in (PLANE, Grid((129, 65), 48)))
    assert fine < 5e-5
    assert coarse / fine > 4  # the order is more than 2, although φ and the wall disagree


def test_walls_across_several_axes_have_no_grid():
    assert wall_axes(Survivor(slanted=True)) is None
    assert not suits(Survivor(slanted=True))


@dataclass(frozen=True)
class Quadrant(Survivor):
    """Two walls, of which the box sees one: written as the smaller distance, or as both."""

    together: bool = True

    @property
    def domain(self):
        x = fk.Box([0.05, 0.4], [0.35, 1.0])
        return fk.Domain(x=x, t=fk.Box(0.1, 1.0), rho=fk.Box(-0.01, 0.01))

    def distance(self, x, p):
        return x.amin(-1, keepdim=True) if self.together else x


def test_a_wall_that_only_paths_reach_is_seen():
    assert not suits(Quadrant())
    assert wall_axes(Quadrant(together=False)) == (0, 1)


@pytest.mark.parametrize("folded", [True, False])
def test_a_distance_that_does_not_change_its_sign_has_no_grid(folded):
    @dataclass(frozen=True)
    class Line(fk.Family, fk.Absorbing):
        @property
        def domain(self):
            return fk.Domain(x=fk.Box(-1.0, 1.0), t=fk.Box(0.1, 1.0), place=fk.Box(-1.4, -1.1))

        def drift(self, x, p):
            return 0.0 * x

        def diffusion(self, x, dw, p):
            return dw

        def initial(self, x, p):
            return 1.0 + 0.0 * x

        def distance(self, x, p):
            return (x - p.place - 1.3).abs() if folded else x - p.place

    assert suits(Line()) is not folded


@dataclass(frozen=True)
class BarrierHeston(fk.Family, fk.Absorbing, fk.Rate):
    """A down-and-out call in Heston's model, as its user writes it."""

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box([90.0, 0.02], [120.0, 0.09]),
            t=fk.Box(0.1, 1.0),
            kappa=fk.Box(1.0, 3.0),
            nu=fk.Box(0.2, 0.6),
            rho=fk.Box(-0.8, 0.0),
            barrier=fk.Box(75.0, 88.0),
            rate=fk.Box(0.0, 0.05),
        )

    def drift(self, x, p):
        return torch.cat([p.rate * x[..., :1], p.kappa * (0.04 - x[..., 1:])], dim=-1)

    def diffusion(self, x, dw, p):
        root = fk.safe_root(x[..., 1:])
        first, second = dw[..., :1], dw[..., 1:]
        mixed = p.rho * first + (1.0 - p.rho.square()).sqrt() * second
        return torch.cat([root * x[..., :1] * first, p.nu * root * mixed], dim=-1)

    def initial(self, x, p):
        return (x[..., :1] - 100.0).clamp_min(0.0) / 100.0

    def distance(self, x, p):
        return (x[..., :1] / p.barrier).log()


def quantlib_barrier(x, t, p):
    """By QuantLib's own finite differences."""
    ql = pytest.importorskip("QuantLib")
    day = ql.Date(2, 1, 2026)
    ql.Settings.instance().evaluationDate = day
    count = ql.Actual365Fixed()
    curve = ql.YieldTermStructureHandle(ql.FlatForward(day, p["rate"], count))
    flat = ql.YieldTermStructureHandle(ql.FlatForward(day, 0.0, count))
    spot = ql.QuoteHandle(ql.SimpleQuote(x[0]))
    process = ql.HestonProcess(curve, flat, spot, x[1], p["kappa"], 0.04, p["nu"], p["rho"])
    engine = ql.FdHestonBarrierEngine(ql.HestonModel(process), 100, 400, 100)
    last = datetime.date(2026, 1, 2) + datetime.timedelta(days=round(365 * t))
    expiry = ql.EuropeanExercise(ql.Date(last.day, last.month, last.year))
    payoff = ql.PlainVanillaPayoff(ql.Option.Call, 100.0)
    option = ql.BarrierOption(ql.Barrier.DownOut, p["barrier"], 0.0, payoff, expiry)
    option.setPricingEngine(engine)
    return option.NPV() / 100.0


def test_a_barrier_in_hestons_model_agrees_with_quantlib():
    family = BarrierHeston()
    assert suits(family)
    inputs = inputs_of(family, sets=4, points=2)
    where = family.domain.slices()
    inputs[..., where["t"]] = (365 * inputs[..., where["t"]]).round() / 365  # in days, as QuantLib
    found = read_grid(family, Grid((129, 49), 32), inputs).value.flatten()
    names = ("kappa", "nu", "rho", "barrier", "rate")
    for value, row in zip(found.tolist(), inputs.flatten(0, 1), strict=True):
        p = {name: row[where[name]].item() for name in names}
        known = quantlib_barrier(row[where["x"]].tolist(), row[where["t"]].item(), p)
        assert abs(value - known) < 2e-4
