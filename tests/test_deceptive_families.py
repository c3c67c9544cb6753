"""Families that are easily taken for what they are not: each of them was, once."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from scipy import linalg

import feynkac as fk
from feynkac.analysis.estimators import still
from feynkac.checks.checkup import require_sound
from feynkac.checks.finding import Subject
from feynkac.checks.growth import growth
from feynkac.clock import Allowance
from feynkac.errors import InputError
from feynkac.families.scaling import scalings
from feynkac.families.squared_radius import squared_radius
from feynkac.families.symmetry import is_radial
from feynkac.grids.grid import Grid, grid_reference, read_grid, suits
from feynkac.methods.fast.choose_scheme import choose_scheme
from feynkac.methods.fast.choose_symmetries import choose_symmetries
from feynkac.preparation import make_run
from feynkac.sampling.labels import labels
from feynkac.sampling.line_labels import _has_slopes
from feynkac.sampling.path import integrates_noise, quieted
from feynkac.sampling.schemes.gaussian import Gaussian, is_gaussian
from feynkac.sampling.schemes.geometric import is_geometric
from feynkac.sampling.schemes.linear_law import Coefficients, transition

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
    by_numpy = family(THREE, square, drift=lambda x, p: torch.as_tensor(np.exp(x.numpy())))
    assert "Write it with torch, without numpy" in refusal(by_numpy)


def test_a_comparison_in_single_precision_has_a_remedy_that_works():
    single = family(fk.Box(0.5, 1.5), lambda x, p: (x > 1.0).float())
    assert "write (x > a).to(x.dtype), not .float()" in refusal(single)
    require_sound(family(fk.Box(0.5, 1.5), lambda x, p: (x > 1.0).to(x.dtype), base=(fk.Jumps,)))


def test_a_start_that_is_fixed_does_not_make_an_equation_linear():
    bent = {"drift": lambda x, p: -(x**3), "diffusion": lambda x, dw, p: (1.0 + x * x) * dw}
    assert not is_gaussian(family(fk.Fixed(0.0), square, **bent))
    assert is_gaussian(family(fk.Fixed(0.0), square, drift=lambda x, p: 1.0 - x))


def test_a_small_box_does_not_make_an_equation_linear():
    def soft_wall(x, p):
        return -10.0 * (x - 1.0).clamp_min(0.0)

    assert not is_gaussian(family(fk.Box(-0.01, 0.01), square, drift=soft_wall))
    assert is_gaussian(family(fk.Box(-0.01, 0.01), square))


def test_noise_that_is_capped_where_paths_earn_is_not_geometric():
    def capped(x, dw, p):
        return p.sigma * x.clamp_max(5000.0) * dw

    wild, price = {"t": fk.Box(1.0, 5.0), "sigma": fk.Box(0.5, 1.0)}, fk.Box(90.0, 110.0)
    assert not is_geometric(family(price, square, capped).on(**wild))
    assert is_geometric(family(price, square, geometric).on(**wild))


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


@pytest.mark.parametrize("base", [(fk.ConstantDiscount,), (fk.Discount,), (fk.Absorbing,)])
def test_a_payoff_that_nobody_saw_is_not_radial(base):
    """The worst of eight pays where few points of a cube lie."""
    members = {
        "discount_rate": lambda self, p: 0.05,
        "discount": lambda self, x, p: square(x, p),
        "distance": lambda self, x, p: 200.0 - square(x, p),
    }
    if fk.ConstantDiscount in base:
        del members["discount"]

    def worst(x, p):
        return (x.amin(-1, keepdim=True) - 2.0).clamp_min(0.0)

    cube = fk.Box(-1.0, 1.0, shape=(8,))
    assert not is_radial(family(cube, worst, base=base, **members))


def test_what_happens_late_on_a_path_counts():
    """At all times t of the box there is nothing but isotropic noise."""

    def pushed(x, p):
        return torch.where(p.t < 0.4, 1.0, 0.0) * x.new_tensor([1.0, 0.0, 0.0])

    def louder(x, dw, p):
        return p.sigma * torch.where(p.t < 0.4, 2.0, 1.0) * dw

    def late(*formulas):
        ball, base = fk.Box(-1.0, 1.0, shape=(3,)), (fk.TimeDependent,)
        return family(ball, square, *formulas, base=base).on(t=fk.Box(0.5, 1.0))

    def scales_with_time(timed):
        return any("t" in s.exponents for s in scalings(timed) if "x[0]" not in s.exponents)

    assert is_radial(late(louder))
    assert not is_radial(late(louder, pushed))
    assert scales_with_time(late())
    assert not scales_with_time(late(louder))


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
    assert any("strike" in s.exponents for s in found)
    assert all(s.exponents.get("strike") == s.exponents.get("x[1]") for s in found)


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


def test_a_distance_without_a_sign_is_refused():
    """On a grid there was no wall at all: u = 0 with an error of 0."""
    trap = {"base": (fk.BoundaryValue,), "boundary_value": lambda self, x, p: 1.0}
    level = trap | {"distance": lambda self, x, p: (x - 0.3).abs()}
    assert "negative beyond the wall" in refusal(family(fk.Box(-1.0, 1.0), square, **level))
    sphere = trap | {"distance": lambda self, x, p: (x.norm(dim=-1, keepdim=True) - 0.5).abs()}
    assert "negative beyond the wall" in refusal(family(THREE, square, **sphere))
    require_sound(family(THREE, square, **(sphere | {"distance": lambda self, x, p: 3.0 - x})))


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


@pytest.mark.slow
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
    assert 2 * small.steps >= large.steps


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


def test_what_a_subclass_adds_is_earned():
    """Formulas that integrate noise know nothing of a wall or of another payoff."""

    @dataclass(frozen=True)
    class DownAndOut(fk.Heston, fk.Absorbing):
        def distance(self, x, p):
            return (x[..., :1] / 80.0).log()

    @dataclass(frozen=True)
    class Well(fk.DoubleWell):
        def initial(self, x, p):
            return x[..., :1].square()

    steps = fk.FamilySteps(steps=4)
    assert integrates_noise(fk.Heston(), steps)
    assert integrates_noise(fk.Heston().on(nu=0.3), steps)
    assert not integrates_noise(DownAndOut(), steps)
    assert quieted(fk.DoubleWell(dim=5), steps)
    assert not quieted(Well(dim=5), steps)


@pytest.mark.slow
def test_coefficients_of_a_subclass_are_followed():
    @dataclass(frozen=True)
    class Seasonal(fk.BasketPut):
        def drift(self, x, p):
            return super().drift(x, p) + 0.1

    with pytest.raises(InputError, match="is not affine-linear"):
        fk.LogOde(steps=2).check(Seasonal())
    assert not isinstance(choose_scheme(Seasonal(dim=1)), fk.LogOde)


def test_paths_that_are_pushed_back_are_not_followed_by_their_coefficients_alone():
    pushed = family(
        fk.Box(0.0, 1.0),
        square,
        base=(fk.ExactSampler, fk.Reflected),
        exact=lambda self, x, t, p, z: (x + p.sigma * t.sqrt() * z).abs(),
    )
    for scheme in (fk.EulerMaruyama(steps=4), fk.NinomiyaVictoir(steps=4), Gaussian()):
        with pytest.raises(InputError, match="are pushed back"):
            scheme.check(pushed)


@pytest.mark.parametrize(
    "members",
    [
        {"base": (fk.Source,), "source": lambda self, x, p: (square(x, p) > 2.0).to(x.dtype)},
        {"base": (fk.Discount,), "discount": lambda self, x, p: (square(x, p) > 2.0).to(x.dtype)},
        {"drift": lambda x, p: -(x - 1.0).sign()},
        {
            "base": (fk.TimeDependent,),
            "diffusion": lambda x, dw, p: torch.where(p.t < 0.05, 2.0, 1.0) * x.sin() * dw,
        },
    ],
    ids=["source", "discount", "drift", "time"],
)
def test_slopes_are_not_fitted_where_a_coefficient_jumps(members):
    jumping = family(THREE, square, **members)
    run = make_run(jumping, fk.Fast(scheme=fk.EulerMaruyama(steps=4)), {"steps": 1})
    assert not run.method.slopes


def test_slopes_of_exchangeable_entries_are_those_of_the_values():
    """Values and slopes that the network is fitted to belong to one function of what it sees."""
    uneven = fk.Rainbow(dim=2).on(sigma=fk.Box([0.1, 0.3], [0.2, 0.6]))
    method = fk.Fast(symmetries=False)
    network = fk.solve(uneven, method, steps=1, batch_size=16, evaluations=1).network.double()
    inputs = uneven.domain.sample(6, torch.Generator().manual_seed(0), torch.float64)
    inputs.requires_grad_()
    weights = torch.linspace(0.5, 1.5, network.normalise(inputs).shape[-1], dtype=torch.float64)
    seen = (network.normalise(inputs) * weights).sum()
    (gradients,) = torch.autograd.grad(seen, inputs)
    found = network.slopes(inputs.detach(), gradients)
    torch.testing.assert_close(found, weights.expand_as(found), rtol=1e-6, atol=1e-8)


def test_a_payoff_of_a_parameter_has_slopes_in_it():
    assert _has_slopes(
        family(fk.Box(0.0, 1.0), lambda x, p: p.sigma * (x > 0.5).to(x.dtype), base=(fk.Jumps,))
    )
    assert not _has_slopes(
        family(fk.Box(0.0, 1.0), lambda x, p: (x > p.sigma).to(x.dtype), base=(fk.Jumps,))
    )


def test_stiff_linear_equations_keep_their_covariance():
    """A damped oscillator after thirty times of its damping, against SciPy's equation for Q."""
    matrix = np.array([[0.0, 1.0], [-1.0, -10.0]])
    noise = np.diag([0.1, 1.0])
    law = transition(
        Coefficients(*(torch.tensor(v)[None] for v in (matrix, np.zeros(2), noise))),
        torch.ones(1, 2, dtype=torch.float64),
        torch.full((1, 1), 3.0, dtype=torch.float64),
    )
    still_there = linalg.expm(3.0 * matrix)
    forever = linalg.solve_continuous_lyapunov(matrix, -noise @ noise.T)
    expected = forever - still_there @ forever @ still_there.T
    found = (law.root @ law.root.mT)[0].numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_allclose(law.mean[0].numpy(), still_there @ np.ones(2), rtol=1e-9)


def test_beyond_a_wall_slopes_are_those_of_its_value():
    rod = family(
        fk.Box(-2.0, 2.0),
        lambda x, p: x.square(),
        base=(fk.BoundaryValue,),
        distance=lambda self, x, p: 1.0 - x.abs(),
        boundary_value=lambda self, x, p: x.square(),
    )
    inputs = torch.tensor([[[1.5, 0.5, 0.3], [-1.8, 0.5, 0.3]]], dtype=torch.float64)
    found = read_grid(rod, Grid((33,), 16), inputs)
    assert found.value.flatten().tolist() == pytest.approx([2.25, 3.24])
    assert found.space.flatten().tolist() == pytest.approx([3.0, -3.6])


def test_points_on_both_sides_of_where_noise_ends_are_on_the_grid():
    """Linear noise is no end at 0 for what starts below: u = E x = x + 0.3 t."""
    line = family(fk.Box(-1.0, 1.0), lambda x, p: x, geometric, lambda x, p: 0.3 + 0.0 * x)
    inputs = torch.tensor([[[x, 1.0, 0.4] for x in (-1.0, -0.5, 0.5, 1.0)]], dtype=torch.float64)
    inputs = torch.cat([inputs, inputs + torch.tensor([0.1, 0.0, 0.0])])
    found = read_grid(line, Grid((65,), 32), inputs).value
    torch.testing.assert_close(found, inputs[..., :1] + 0.3, rtol=0.0, atol=1e-3)


def test_a_reference_sees_what_is_earned_beyond_a_grid():
    """u = E exp x = exp(x + σ²t/2): far out, where the payoff is large, is what paths earn."""
    wide = family(fk.Box(-0.1, 0.1), lambda x, p: x.exp())
    inputs, grid = torch.tensor([[0.0, 10.0, 1.0]], dtype=torch.float64), Grid((97,), 36)
    found, u = grid_reference(wide, grid, inputs), torch.tensor([[5.0]]).double().exp()
    missed = u - read_grid(wide, grid, inputs.unsqueeze(1)).value.squeeze(1)
    assert missed / u > 0.01
    assert found.error > 0.25 * missed


def test_what_stands_still_leaves_a_network_something_to_see():
    still = family(fk.Box(0.1, 0.9), lambda x, p: p.sigma * x, lambda x, dw, p: 0.0)
    assert choose_symmetries(still).saved(still.domain) < still.domain.dim


def test_a_solution_in_the_smallest_units_is_on_its_own_scale():
    tiny = family(
        fk.Box(0.5e-8, 1.5e-8), square, lambda x, dw, p: 1e-4 * x.clamp_min(0.0).sqrt() * dw
    )
    method = fk.Fast(scheme=fk.EulerMaruyama(steps=2), noise=fk.Sobol(), paths=8, symmetries=False)
    network = fk.solve(tiny, method, steps=1, evaluations=1, progress=False).network
    assert network.scale < 1e-15


@dataclass(frozen=True)
class Hunters(fk.Family):
    """Prey and hunters: coarse steps overshoot, turn negative and explode; few of them do."""

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(0.5, 2.0, shape=(2,)),
            t=fk.Box(0.1, 4.0),
            a=fk.Box(0.5, 1.5),
            sigma=fk.Box(0.05, 0.3),
        )

    def drift(self, x, p):
        prey, hunters = x[..., :1], x[..., 1:]
        return torch.cat([p.a * prey * (1.0 - hunters), p.a * hunters * (prey - 1.0)], -1)

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def initial(self, x, p):
        return x[..., 1:]


def test_paths_that_explode_by_their_steps_get_more_of_them():
    scheme = choose_scheme(Hunters(), Allowance(0.0))  # no time to look at errors
    inputs = Hunters().domain.sample(512, torch.Generator().manual_seed(1))
    with torch.no_grad():
        found = labels(Hunters(), scheme, inputs, torch.Generator().manual_seed(2), 256)
    assert found.abs().max() < 10.0  # 1e5 by 16 steps of Euler
