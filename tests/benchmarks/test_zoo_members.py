"""The zoo's families are as users write them, and their references are right."""

import inspect
import json
import math

import numpy as np
import pytest
import QuantLib as ql  # noqa: N813
import torch

import feynkac as fk
from feynkac.benchmarks.zoo_members import FOLDER, VALUES, Member, choose_members
from feynkac.errors import InputError
from feynkac.families.point import Params
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.reference import replicated
from feynkac.user_files import import_file

MEMBERS = choose_members([])
NAMES = [member.name for member in MEMBERS]
ELSEWHERE = ("ball-exit-time", "two-spheres", "down-and-out")
"""Their paths take long, and their references are compared with other formulas."""
SIMULATED = [m for m in MEMBERS if m.name not in ELSEWHERE]
STEPS = {"feller-branching": 256, "kramers": 256, "power-strip": 128, "underdamped-langevin": 128}
EXPECTED_AREAS = {
    "rates",
    "equity",
    "commodities",
    "credit",
    "physics",
    "chemistry",
    "biology",
}
FORBIDDEN = (
    fk.ExactSampler,
    fk.OwnSteps,
    fk.ConditionalMean,
    fk.ControlVariate,
    fk.ClosedForm,
)


def named(name):
    return next(member for member in MEMBERS if member.name == name)


def helper(name):
    return import_file(f"{FOLDER}/references/{name}.py")


def test_there_are_enough_from_all_areas():
    assert len(MEMBERS) >= 34
    assert {member.area for member in MEMBERS} == EXPECTED_AREAS


@pytest.mark.parametrize("member", MEMBERS, ids=NAMES)
def test_a_family_has_only_what_belongs_to_its_equation(member):
    assert not isinstance(member.family, FORBIDDEN)


@pytest.mark.slow
@pytest.mark.parametrize("member", SIMULATED, ids=[m.name for m in SIMULATED])
def test_the_reference_is_the_mean_over_paths(member, generator):
    inputs = member.inputs[1:3]
    known = member.reference(inputs)
    scheme = fk.ExtrapolatedEuler(steps=STEPS.get(member.name, 32))
    with torch.no_grad():
        found = replicated(member.family, scheme, Sobol(), inputs.float(), 128, generator, 8)
    scale = 1.0 + known.value.abs()
    difference, noise = ((v / scale).abs() for v in (found.value - known.value, found.error))
    assert (difference <= 5.0 * noise + 0.003).all(), f"{difference} against {noise}"


@pytest.mark.parametrize("member", [m for m in MEMBERS if m.slow], ids=lambda m: m.name)
def test_kept_values_are_those_of_the_reference(member):
    kept = json.loads((FOLDER / VALUES / f"{member.path.stem}.json").read_text())
    assert len(kept["value"]) == len(member.inputs) >= 128
    error = np.array(kept["error"]) / (1.0 + np.abs(kept["value"]))
    assert error.mean() < 2e-5
    assert error.max() < 1e-4
    if not any(error):  # one that is simulated depends on all inputs
        again = member.reference(member.inputs[-1:]).value.item()
        assert again == pytest.approx(kept["value"][-1], rel=1e-8, abs=1e-12)


def test_differences_agree_with_black_and_scholes():
    """A kink on a node, and a wall."""
    grid, member = helper("grid"), named("down-and-out")
    x, t, sigma, strike, barrier, rate = 100.0, 0.7, 0.3, 105.0, 85.0, 0.03

    def coefficients(y, _time):
        return 0.5 * sigma**2, rate - 0.5 * sigma**2, rate, 0.0

    def start(y):
        return np.maximum(strike * np.expm1(y), 0.0)

    p = {"sigma": sigma, "strike": strike, "barrier": barrier, "rate": rate}
    columns = (np.array([[v]]) for v in (x, t))
    known = member.module.reference(*columns, Params(**{k: np.array([[v]]) for k, v in p.items()}))
    low = math.log(barrier / strike)
    interval = (low, -9.0 * low)
    at, ends = math.log(x / strike), (0.0, grid.FREE)
    found = grid.solve(at, interval, t, coefficients, start, 2000, 200, ends)
    assert found == pytest.approx(known.item(), abs=2e-6)


def test_the_exit_time_agrees_with_differences():
    grid, member = helper("grid"), named("ball-exit-time")
    for radius, diffusivity, t, square in ((1.0, 0.3, 0.05, 0.3), (1.4, 0.9, 0.6, 0.1)):

        def coefficients(y, _time, d=diffusivity):
            return 4.0 * d * y, 10.0 * d, 0.0, 1.0

        ends = (grid.FREE, 0.0)
        found = grid.solve(square, (0.0, radius**2), t, coefficients, np.zeros_like, ends=ends)
        x = np.full((1, 5), math.sqrt(square / 5.0))
        p = Params(diffusivity=np.array([[diffusivity]]), radius=np.array([[radius]]))
        known = member.module.reference(x, np.array([[t]]), p)
        assert found == pytest.approx(known.item(), abs=2e-6)


def test_the_two_spheres_end_at_the_harmonic_function():
    value = named("two-spheres").module.value
    r, inner, outer = 0.7, 0.3, 1.4
    known = (r**-3 - outer**-3) / (inner**-3 - outer**-3)
    assert value(r, 30.0, inner, outer) == pytest.approx(known, abs=1e-6)


def test_the_fourier_integral_agrees_with_quantlib():
    x, v, t, kappa, theta, nu, rho, strike = 95.0, 0.03, 0.5, 1.5, 0.05, 0.9, -0.7, 110.0
    p = {"kappa": kappa, "theta": theta, "nu": nu, "rho": rho, "strike": strike}
    found = named("heston-call").module.reference(
        np.array([[x, v]]), np.array([[t]]), Params(**{k: np.array([[c]]) for k, c in p.items()})
    )
    today = ql.Date(1, 1, 2024)
    ql.Settings.instance().evaluationDate = today
    flat = ql.YieldTermStructureHandle(ql.FlatForward(today, 0.0, ql.Actual360()))
    quote = ql.QuoteHandle(ql.SimpleQuote(x))
    process = ql.HestonProcess(flat, flat, quote, v, kappa, theta, nu, rho)
    option = ql.VanillaOption(
        ql.PlainVanillaPayoff(ql.Option.Call, strike), ql.EuropeanExercise(today + 180)
    )
    option.setPricingEngine(ql.AnalyticHestonEngine(ql.HestonModel(process), 1e-10, 10**6))
    assert found.item() == pytest.approx(option.NPV(), abs=1e-7)


def test_differences_in_two_dimensions_agree_with_fourier():
    """Heston's model in y = ln(S/K) and z = v."""
    x, v, t, kappa, theta, nu, rho, strike = 100.0, 0.06, 0.5, 2.0, 0.06, 0.2, -0.5, 105.0

    def coefficients(y, z):
        return 0.5 * z, rho * nu * z, 0.5 * nu**2 * z, -0.5 * z, kappa * (theta - z)

    def start(y, z):
        return strike * np.maximum(np.expm1(y), 0.0)

    at, box = (math.log(x / strike), v), ((-1.5, 1.5), (0.0, 0.3))
    found = helper("grid_2d").solve(at, box, t, coefficients, start)
    p = {"kappa": kappa, "theta": theta, "nu": nu, "rho": rho, "strike": strike}
    known = named("heston-call").module.reference(
        np.array([[x, v]]), np.array([[t]]), Params(**{k: np.array([[c]]) for k, c in p.items()})
    )
    assert found == pytest.approx(known.item(), abs=1e-3)


ON_GRIDS = [m for m in MEMBERS if m.slow and m.method.startswith("finite differences")]


@pytest.mark.slow
@pytest.mark.parametrize("member", ON_GRIDS, ids=lambda m: m.name)
def test_finer_grids_change_a_reference_by_less_than_a_ten_thousandth(member, monkeypatch):
    solve = member.module.grid.solve
    defaults = inspect.signature(solve)

    def finer(*args, **kwargs):
        given = defaults.bind(*args, **kwargs)
        given.apply_defaults()
        nodes = given.arguments["nodes"]
        both = isinstance(nodes, tuple)
        finer_nodes = tuple(3 * n // 4 * 2 for n in nodes) if both else 2 * nodes
        given.arguments |= {"nodes": finer_nodes, "steps": 2 * given.arguments["steps"]}
        return solve(*given.args, **given.kwargs)

    inputs = member.inputs[::32]
    coarse = member.reference(inputs).value
    monkeypatch.setattr(member.module.grid, "solve", finer)
    change = member.reference(inputs).value - coarse
    assert (change.abs() / (1.0 + coarse.abs())).max() < 1e-4
    assert change.abs().max() > 0.0  # the grids were others


def test_more_nodes_change_the_best_of_hundred_little():
    member = named("best-of-hundred")
    x, t, p = member.family.domain.split(member.inputs[:1])
    names = ("sigma", "rho", "strike", "rate")
    scalars = [t.item(), *(getattr(p, name).item() for name in names)]
    value = member.module.value
    found, finer = value(x.numpy(), *scalars), value(x.numpy(), *scalars, factors=160, levels=200)
    assert found == pytest.approx(finer, rel=1e-5)


def test_inputs_lie_in_the_domain_and_in_float32():
    for member in MEMBERS:
        inputs = member.inputs
        assert member.family.domain.contains(inputs).all()
        assert torch.equal(inputs.float().double(), inputs)


def test_members_are_chosen_by_name(tmp_path):
    assert [m.name for m in choose_members(["vasicek-bond", "cir-bond"])] == [
        "cir-bond",
        "vasicek-bond",
    ]
    with pytest.raises(InputError, match="'zebra' is not in the zoo; there are: arithmetic-asian"):
        choose_members(["zebra"])
    with pytest.raises(InputError, match="run this in a checkout of the repository"):
        choose_members([], tmp_path / "missing")


def test_a_file_defines_one_family(tmp_path):
    path = tmp_path / "none.py"
    path.write_text("import feynkac as fk\n")
    with pytest.raises(InputError, match="must define one family, it has 0"):
        _ = Member(path).family
