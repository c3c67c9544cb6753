"""Where u is known beyond its domain: closed forms decide whether a move is right."""

from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.families.reach import Reach

WIDE = fk.BlackScholesMerton().on(
    x=fk.LogUniform(0.4, 2.5),
    t=fk.LogUniform(0.02, 5.0),
    sigma=fk.LogUniform(0.03, 1.5),
    rate=fk.Box(-0.01, 0.1),
    dividend=fk.Box(0.0, 0.1),
    strike=1.0,
)
AT = {"x": 95.0, "t": 0.5, "sigma": 0.3, "rate": 0.02, "dividend": 0.01, "strike": 100.0}


def value(family, inputs):
    return family.closed_form(*family.domain.split(inputs))


def test_a_strike_of_another_level_is_scaled_away():
    reach = Reach(WIDE)
    inside, factor = reach.moved(reach.join(AT))
    expected = {"x": 0.95, "strike": 1.0}
    assert WIDE.domain.named(inside) == pytest.approx(AT | expected, rel=1e-14)
    assert factor.item() == pytest.approx(100.0, rel=1e-14)


@pytest.mark.parametrize(
    ("family", "at"),
    [
        (WIDE, AT),
        (WIDE, AT | {"t": 8.0, "sigma": 0.2, "rate": -0.005, "dividend": 0.0}),
        (
            fk.Bachelier().on(strike=100.0),
            {"x": 1.05, "t": 0.5, "sigma": 0.2, "rate": 0.02, "strike": 1.0},
        ),
        (
            fk.Spread().on(**{"x[1]": 100.0}),
            {
                "x": [5.1, 5.0],
                "t": 0.5,
                "sigma": [0.2, 0.3],
                "rho": 0.4,
                "rate": 0.02,
                "strike": 0.4,
            },
        ),
        (
            fk.Barrier().on(barrier=80.0),
            {
                "x": 1.3,
                "t": 0.5,
                "sigma": 0.3,
                "rate": 0.02,
                "dividend": 0.01,
                "strike": 1.3,
                "barrier": 1.0,
            },
        ),
        (
            fk.Heston().on(strike=100.0, nu=0.3),
            {
                "x": [2.0, 0.1],
                "t": 0.25,
                "kappa": 4.0,
                "theta": 0.12,
                "nu": 0.6,
                "rho": -0.5,
                "rate": 0.04,
                "strike": 2.0,
            },
        ),
    ],
    ids=lambda value: value.name() if isinstance(value, fk.Family) else "",
)
def test_the_value_follows_from_one_inside(family, at):
    reach = Reach(family)
    inputs = reach.join(at)
    inside, factor = reach.moved(inputs)
    assert not family.domain.contains(inputs)
    assert family.domain.contains(inside)
    torch.testing.assert_close(
        factor * value(family, inside), value(family, inputs), rtol=1e-9, atol=0
    )


def test_inputs_inside_stay_to_the_last_digit(generator):
    inputs = WIDE.domain.sample(64, generator, torch.float64)
    far = WIDE.domain.join(AT | {"x": 0.95, "strike": 1.0}) * torch.tensor([7.0, 1, 1, 1, 1, 7.0])
    inside, factor = Reach(WIDE).moved(torch.cat([inputs, far.unsqueeze(0)]))
    assert torch.equal(inside[:-1], inputs)
    assert torch.equal(factor[:-1], torch.ones(64, 1, dtype=torch.float64))
    assert factor[-1].item() == pytest.approx(7.0)


def test_of_two_scalings_both_may_be_needed():
    """Level and time at once, where nothing is fixed."""
    family = fk.BlackScholes()
    reach = Reach(family)
    inputs = reach.join({"x": 95.0, "t": 4.0, "sigma": 0.1, "strike": 110.0})
    inside, factor = reach.moved(inputs)
    assert family.domain.contains(inside)
    torch.testing.assert_close(factor * value(family, inside), value(family, inputs))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": 20.0}, r"x = 0.2 lies outside \[0.4, 2.5\].*scaled to strike = 1"),
        ({"sigma": 9.0}, r"sigma = 9 lies outside \[0.03, 1.5\]"),
        ({"x": 0.95, "strike": -100.0}, r"strike = -100, but it was fixed at 1"),
        ({"x": torch.nan}, "x = nan is not a finite number"),
        ({"strike": 1.0}, r"x = 95 lies outside \[0.4, 2.5\].*extrapolate=True\.$"),
    ],
)
def test_what_no_symmetry_moves_inside_is_refused(change, message):
    with pytest.raises(fk.InputError, match=message):
        Reach(WIDE).join(AT | change)


def test_a_fixed_value_without_symmetry_stays_fixed():
    reach = Reach(fk.Heston().on(rho=-0.5))
    at = {
        "x": [100.0, 0.05],
        "t": 0.5,
        "kappa": 2.0,
        "theta": 0.06,
        "nu": 0.3,
        "rate": 0.02,
        "strike": 100.0,
    }
    with pytest.raises(fk.InputError, match=r"rho = -0.4, but it was fixed at -0.5"):
        reach.join(at | {"rho": -0.4})
    assert "rho" not in reach.free
    assert "strike" in reach.free


def test_the_slope_along_a_fixed_strike_is_that_of_the_closed_form():
    reach = Reach(WIDE)
    inputs = reach.join(AT)

    def extended(flat):
        inside, factor = reach.moved(flat)
        return (factor * value(WIDE, inside)).sum()

    found = torch.func.grad(extended)(inputs)
    expected = torch.func.grad(lambda flat: value(WIDE, flat).sum())(inputs)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
    assert reach.free == ["x", "t", "sigma", "rate", "dividend", "strike"]


def test_bounds_follow_the_level():
    low, high = Reach(WIDE).bounds_at(torch.tensor([95.0, 0.5, 0.3, 0.02, 0.01, 100.0]))
    assert (low[0].item(), high[0].item()) == pytest.approx((40.0, 250.0))
    assert (low[2].item(), high[2].item()) == pytest.approx((0.03, 1.5))


@dataclass(frozen=True)
class Above(fk.Family, fk.Coupled):
    """A square on x < a, homogeneous in x and a."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(0.1, 2.0), t=fk.Box(0.0, 1.0), a=fk.Box(1.0, 2.0))

    def allowed(self, x, t, p):
        return x < p.a

    def drift(self, x, p):
        return 0.0

    def diffusion(self, x, dw, p):
        return p.a * dw

    def initial(self, x, p):
        return x.square()


def test_what_a_family_forbids_is_forbidden_at_every_level():
    reach = Reach(Above())
    assert reach.join({"x": 3.0, "t": 0.5, "a": 4.0}).tolist() == [3.0, 0.5, 4.0]
    with pytest.raises(fk.InputError, match="not allowed by the family's `allowed`"):
        reach.join({"x": 4.0, "t": 0.5, "a": 3.0})
