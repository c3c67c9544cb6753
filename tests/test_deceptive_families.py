"""Families that are easily taken for what they are not: each of them was, once."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

import feynkac as fk
from feynkac.analysis.estimators import still
from feynkac.checks.checkup import require_sound
from feynkac.checks.finding import Subject
from feynkac.checks.growth import growth
from feynkac.errors import InputError
from feynkac.families.scaling import scalings
from feynkac.families.squared_radius import squared_radius
from feynkac.families.symmetry import is_radial
from feynkac.grids.grid import Grid, read_grid, suits
from feynkac.methods.fast.choose_scheme import choose_scheme
from feynkac.sampling.schemes.gaussian import Gaussian, is_gaussian

BOX = {"t": fk.Box(0.1, 1.0), "sigma": fk.Box(0.1, 0.5)}
POWER = 1.0


def brownian(x, dw, p):
    return p.sigma * dw


def geometric(x, dw, p):
    return p.sigma * x * dw


def no_drift(x, p):
    return 0.0 * x


def family(x, initial, diffusion=brownian, drift=no_drift, base=(), **members):
    """A family of these formulas."""
    names = {
        "domain": property(lambda self: fk.Domain(x=x, **BOX)),
        "drift": lambda self, x, p: drift(x, p),
        "diffusion": lambda self, x, dw, p: diffusion(x, dw, p),
        "initial": lambda self, x, p: initial(x, p),
    }
    made = type("Deceptive", (fk.Family, *base), names | members)
    return dataclass(frozen=True)(made)()


def square(x, p):
    return x.square().sum(-1, keepdim=True)


def refusal(deceptive):
    with pytest.raises(InputError) as caught:
        require_sound(deceptive)
    return str(caught.value)


THREE = fk.Box(0.5, 1.5, shape=(3,))


@pytest.mark.parametrize(
    ("name", "deceptive"),
    [
        ("initial", family(THREE, lambda x, p: (x.mean() - 1.0).clamp_min(0.0))),
        ("initial", family(THREE, lambda x, p: x.norm() + 0.0 * x[..., :1])),
        ("drift", family(THREE, square, drift=lambda x, p: x.mean() - x)),
        ("diffusion", family(THREE, square, lambda x, dw, p: x.amax(0) * dw)),
    ],
)
def test_formulas_that_mix_inputs_are_refused(name, deceptive):
    assert f"Deceptive.{name} depends on the other inputs of a batch" in refusal(deceptive)


def interpolated(x, dw, p):
    table = np.interp(x.detach().numpy(), [0.0, 1.0, 2.0], [0.1, 0.4, 0.2])
    return torch.as_tensor(table, dtype=x.dtype) * dw


def test_formulas_that_cut_gradients_are_refused():
    assert "gradients do not flow through it" in refusal(family(THREE, square, interpolated))
    by_numpy = family(THREE, square, drift=lambda x, p: torch.as_tensor(np.exp(x)))
    assert "Write it with torch, without numpy" in refusal(by_numpy)


def test_a_comparison_in_single_precision_has_a_remedy_that_works():
    single = family(fk.Box(0.5, 1.5), lambda x, p: (x > 1.0).float())
    assert "write (x > a).to(x.dtype), not .float()" in refusal(single)
    require_sound(family(fk.Box(0.5, 1.5), lambda x, p: (x > 1.0).to(x.dtype), base=(fk.Jumps,)))


def test_a_start_that_is_fixed_does_not_make_an_equation_linear():
    bent = {"drift": lambda x, p: -(x**3), "diffusion": lambda x, dw, p: (1.0 + x * x) * dw}
    assert not is_gaussian(family(fk.Fixed(0.0), square, **bent))
    assert is_gaussian(family(fk.Fixed(0.0), square, drift=lambda x, p: 1.0 - x))


def test_coordinates_of_other_units_are_compared_by_themselves():
    bent = family(
        fk.Box([1e9, 0.0], [2e9, 1.0]),
        square,
        drift=lambda x, p: torch.stack([-x[..., 0], -0.3 * x[..., 1].sin()], -1),
    )
    assert not is_gaussian(bent)


def test_large_units_lose_no_digits():
    """dX = 0.7 (10⁶ − X) dt + 10⁵ dB in float32: the mean stays at 10⁶."""
    large = family(
        fk.Box(9e5, 1.1e6),
        square,
        lambda x, dw, p: 1e5 * dw,
        lambda x, p: 0.7 * (1e6 - x),
    )
    x, t, p = large.domain.split(torch.tensor([[1e6, 1.0, 0.3]]))
    found = Gaussian().terminal(large, x, t, p, torch.zeros(1, 1, 1))
    assert found.item() == pytest.approx(1e6, rel=1e-6)


@pytest.mark.parametrize(
    "inside",
    [
        lambda x: (x.abs() < 0.3).all(-1, keepdim=True),
        lambda x: (x > 0.5).all(-1, keepdim=True),
    ],
    ids=["cube", "orthant"],
)
@pytest.mark.parametrize("dim", [2, 3, 8])
def test_what_has_corners_is_not_radial(inside, dim):
    box = fk.Box(-1.0, 1.0, shape=(dim,))
    cornered = family(box, lambda x, p: inside(x).to(x.dtype), base=(fk.Jumps,))
    assert not is_radial(cornered)
    ball = family(box, lambda x, p: (square(x, p) < 0.3).to(x.dtype), base=(fk.Jumps,))
    assert is_radial(ball)


def test_noise_that_is_isotropic_in_the_box_alone():
    def far(x, dw, p):
        beyond = (x.norm(dim=-1, keepdim=True) - 2.0).clamp_min(0.0)
        return dw + beyond * (x * dw).sum(-1, keepdim=True) * x

    radial = family(fk.Box(-0.5, 0.5, shape=(3,)), square, far)
    s = torch.tensor([[25.0]], dtype=torch.float64)
    p = radial.domain.split(radial.domain.mean.expand(1, -1))[2]
    trace = squared_radius(radial).drift(s, p).item()
    assert trace == pytest.approx(2.0 + (1.0 + 3.0 * 25.0) ** 2)  # Tr σσ* at |x| = 5


def test_a_payoff_that_is_flat_in_the_box_does_not_scale():
    worst = family(
        fk.Box(80.0, 120.0, shape=(10,)),
        lambda x, p: (x.amin(-1, keepdim=True) - 110.0).clamp_min(0.0),
        geometric,
    )
    assert [set(s.exponents) for s in scalings(worst)] == [{"t", "sigma"}]


def test_an_average_at_its_start_depends_on_the_strike():
    @dataclass(frozen=True)
    class Asian(fk.Family):
        @property
        def domain(self):
            return fk.Domain(
                x=fk.Box([90.0, 0.0], [110.0, 10.0]), strike=fk.Box(90.0, 110.0), **BOX
            )

        def drift(self, x, p):
            return torch.stack([0.0 * x[..., 0], x[..., 0]], -1)

        def diffusion(self, x, dw, p):
            return torch.stack([p.sigma[..., 0] * x[..., 0] * dw[..., 0], 0.0 * dw[..., 0]], -1)

        def initial(self, x, p):
            return (x[..., 1:] - p.strike).clamp_min(0.0)

    found = scalings(Asian().on(**{"x[1]": 0.0}))
    assert [s.exponents for s in found if "strike" in s.exponents] == [
        {"x[0]": 1.0, "x[1]": 1.0, "strike": 1.0}
    ]


def test_what_is_found_is_found_anew_if_a_constant_changes(monkeypatch):
    @dataclass(frozen=True)
    class Elastic(fk.Family):
        @property
        def domain(self):
            return fk.Domain(x=fk.Box(0.5, 1.5), **BOX)

        def drift(self, x, p):
            return 0.0 * x

        def diffusion(self, x, dw, p):
            return p.sigma * x**POWER * dw

        def initial(self, x, p):
            return x

    assert ("x",) in [tuple(s.exponents) for s in scalings(Elastic())]
    monkeypatch.setitem(globals(), "POWER", 0.5)
    assert ("x",) not in [tuple(s.exponents) for s in scalings(Elastic())]


def test_a_trap_inside_the_box_is_not_for_a_grid():
    trap = {"base": (fk.Absorbing,), "distance": lambda self, x, p: x.abs() - 0.1}
    assert not suits(family(fk.Box(-1.0, 1.0), square, **trap))
    assert suits(family(fk.Box(0.2, 1.0), square, **trap))


def test_a_trap_beside_the_box_is_a_wall():
    """A Brownian motion that starts at x ≥ 0.2 and survives if it does not fall to 0.1."""
    trap = {"base": (fk.Absorbing,), "distance": lambda self, x, p: x.abs() - 0.1}
    survival = family(fk.Box(0.2, 2.0), lambda x, p: 1.0 + 0.0 * x, **trap)
    inputs = torch.tensor([[[0.3, 1.0, 0.5], [0.5, 1.0, 0.5]]], dtype=torch.float64)
    found = read_grid(survival, Grid((129,), 64), inputs).value.flatten()
    barrier = (inputs[0, :, 0] - 0.1) / 0.5
    torch.testing.assert_close(found, torch.erf(barrier / 2**0.5), rtol=0.0, atol=2e-3)


def test_what_cannot_leave_an_interval_does_not_explode():
    share = family(fk.Box(0.1, 0.9), square, lambda x, dw, p: p.sigma * x * (1.0 - x) * dw)
    assert growth(Subject(share)).verdict != "fail"
    pushed = family(
        fk.Box(0.1, 0.9),
        square,
        lambda x, dw, p: p.sigma * x * (1.0 - x) * dw,
        lambda x, p: x * x,
    )
    assert growth(Subject(pushed)).verdict == "fail"


def test_small_units_get_as_many_steps_as_large_ones():
    def skewed(x, dw, p):
        return p.sigma * (x * (0.03 + x)).clamp_min(0.0).sqrt() * dw

    rates = fk.Box(0.02, 0.04, shape=(3,))
    caplets = [
        family(
            rates,
            lambda x, p, unit=unit: unit * (x.mean(-1, keepdim=True) - 0.03).clamp_min(0.0),
            skewed,
            lambda x, p: 4.0 * x * (1.0 - x / 0.05),
        )
        for unit in (1.0, 1000.0)
    ]
    small, large = (choose_scheme(each) for each in caplets)
    assert small.steps >= large.steps


def test_noise_that_begins_later_is_noise():
    """At r = 0 the noise of CIR's rate is 0, but its drift leads away."""
    at = fk.Cir().domain.mean.expand(2, -1).clone()
    at[:, 0] = torch.tensor([0.0, 0.05])
    assert still(fk.Cir(), at).tolist() == [False, False]
    at[:, fk.Cir().domain.slices()["t"]] = 0.0
    assert still(fk.Cir(), at).all()


def test_a_domain_that_is_no_property_cannot_be_replaced():
    @dataclass(frozen=True)
    class Rigid(fk.Family):
        domain = fk.Domain(x=fk.Box(0.0, 1.0), t=fk.Box(0.0, 1.0))

        def drift(self, x, p):
            return 0.0

        def diffusion(self, x, dw, p):
            return dw

        def initial(self, x, p):
            return x

    with pytest.raises(InputError, match="domain must be a property"):
        Rigid().on(x=fk.Box(0.0, 2.0))


def test_a_rule_of_the_wrong_shape_is_refused():
    ruled = family(
        fk.Box(0.0, 1.0, shape=(2,)),
        square,
        base=(fk.Coupled,),
        allowed=lambda self, x, t, p: x < 0.9,
    )
    assert ".all(-1, keepdim=True)" in refusal(ruled)


def test_a_discount_may_be_a_number():
    fading = family(
        fk.Box(0.5, 1.5), square, base=(fk.ConstantDiscount,), discount_rate=lambda self, p: 0.05
    )
    require_sound(fading)
