"""Scalings are found from the formulas alone, and are those of the solution."""

from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.families.capabilities import ClosedForm
from feynkac.families.catalogue import BUILT_IN
from feynkac.families.scaling import Scaling, scalings


def found(family, **options):
    return [(s.exponents, s.value) for s in scalings(family, **options)]


def test_spot_and_strike_scale_and_so_do_time_and_rates():
    price, time = found(fk.BlackScholesMerton())
    assert price == ({"x": 1.0, "strike": 1.0}, 1.0)
    assert time == ({"t": 1.0, "sigma": -0.5, "rate": -1.0, "dividend": -1.0}, 0.0)


def test_a_variance_scales_with_time_and_not_with_the_price():
    price, time = found(fk.Heston())
    assert price == ({"x[0]": 1.0, "strike": 1.0}, 1.0)
    assert set(time[0]) == {"x[1]", "t", "kappa", "theta", "nu", "rate"}


def test_a_jump_ties_the_spot_to_the_strike():
    """Its derivatives do not: they are 0 almost everywhere."""
    assert found(fk.Digital())[0] == ({"x": 1.0, "strike": 1.0}, 0.0)


def test_walls_scale_along():
    assert found(fk.Barrier())[0] == ({"x": 1.0, "strike": 1.0, "barrier": 1.0}, 1.0)


def test_fixed_inputs_count_unless_they_must_stay():
    family = fk.BlackScholes().on(strike=10.0)
    assert found(family)[0] == ({"x": 1.0, "strike": 1.0}, 1.0)
    assert found(family, fixed=False) == [({"t": 1.0, "sigma": -0.5}, 0.0)]


@dataclass(frozen=True)
class Capped(fk.Family):
    """A call that is capped far outside the box, or rounded to whole units."""

    cap: float | None = None
    rounded: bool = False

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(80.0, 120.0),
            t=fk.Box(0.1, 1.0),
            sigma=fk.Box(0.1, 0.3),
            strike=fk.Box(90, 110),
        )

    def drift(self, x, p):
        return 0.0

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def initial(self, x, p):
        paid = (x - p.strike).clamp_min(0.0)
        paid = paid.floor() if self.rounded else paid
        return paid if self.cap is None else paid.clamp_max(self.cap)


def test_what_formulas_do_outside_the_box_counts():
    assert len(found(Capped())) == 2
    assert found(Capped(cap=500.0)) == [({"t": 1.0, "sigma": -0.5}, 0.0)]


def test_steps_that_no_derivative_shows_are_noticed():
    assert found(Capped(rounded=True)) == [({"t": 1.0, "sigma": -0.5}, 0.0)]


CLOSED = [kind for kind in BUILT_IN.values() if issubclass(kind, ClosedForm)]


@pytest.mark.parametrize("kind", CLOSED, ids=lambda kind: kind.name())
def test_closed_forms_scale_as_the_formulas_say(kind, generator):
    family = kind()
    inputs = family.domain.sample(32, generator, torch.float64)
    u = family.closed_form(*family.domain.split(inputs))
    for scaling in scalings(family):
        factors = [scaling.exponents.get(name, 0.0) for name in family.domain.entries]
        moved = inputs * 1.3 ** torch.tensor(factors, dtype=torch.float64)
        other = family.closed_form(*family.domain.split(moved))
        torch.testing.assert_close(other, 1.3**scaling.value * u, rtol=1e-6, atol=1e-7)


def test_a_scaling_shows_its_exponents():
    assert Scaling((("t", 1.0),), 0.0).exponents == {"t": 1.0}
