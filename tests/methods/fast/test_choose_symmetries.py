"""Which symmetries the fast method makes use of."""

import math
from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.methods.fast.choose_symmetries import Symmetries, choose_symmetries


def test_time_is_a_pivot_where_others_are_multiplied_by_it():
    chosen = choose_symmetries(fk.Heston())
    time = next(unit for unit in chosen.units if unit.pivot == "t")
    assert all(power < 0 for _, power in time.powers)
    assert chosen.saved(fk.Heston().domain) == 2


def test_nothing_is_divided_by_what_may_be_zero():
    """x and σ scale together, but σ starts at 0 and x changes its sign."""
    family = fk.OrnsteinUhlenbeck()
    pivots = [unit.pivot for unit in choose_symmetries(family).units]
    low = dict(zip(family.domain.entries, family.domain.bounds[0].tolist(), strict=True))
    assert all(low[pivot] >= 0.0 for pivot in pivots)


def test_a_radial_family_has_one_input_in_space():
    assert choose_symmetries(fk.HeatGaussian(dim=20)).radial
    assert fk.Fast().resolve(fk.HeatGaussian(dim=20)).architecture.radial


def test_a_family_without_symmetries_is_seen_as_it_is():
    assert choose_symmetries(fk.DoubleWell()) == Symmetries()


def test_they_can_be_switched_off():
    network = fk.Fast(symmetries=False).resolve(fk.BlackScholes()).architecture
    assert (network.radial, network.units) == (False, ())


@pytest.mark.slow
@pytest.mark.parametrize("symmetries", [True, False])
def test_the_fit_is_right_with_them_and_without(symmetries):
    """60 steps each; the error with them is the smaller one (next test)."""
    method = fk.Fast(symmetries=symmetries, paths=64)
    solution = fk.solve(fk.BlackScholes(), method, steps=60, evaluations=1, seed=0)
    assert solution.error(4096).l1 < 2e-3


def test_a_solution_scales_with_spot_and_strike():
    solution = fk.solve(fk.BlackScholes(), fk.Fast(paths=64), steps=10, evaluations=1, seed=0)
    at = {"x": 9.5, "t": 0.5, "sigma": 0.3, "strike": 11.0}
    scaled = at | {"x": 950.0, "strike": 1100.0}
    found = solution(scaled, extrapolate=True)
    torch.testing.assert_close(found, 100.0 * solution(at), rtol=1e-5, atol=0)


@dataclass(frozen=True)
class Reverting(fk.Family):
    """E‖S_t‖² of a mean-reverting process: it scales with σ², but does not vanish with it."""

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-1.0, 1.0, shape=(3,)),
            t=fk.Box(0.0, 1.0),
            kappa=fk.Box(0.5, 2.0),
            sigma=fk.Box(0.1, 0.6),
        )

    def drift(self, x, p):
        return -p.kappa * x

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def initial(self, x, p):
        return x.square().sum(-1, keepdim=True)


def test_u_is_measured_in_no_unit_that_spreads_it():
    chosen = choose_symmetries(Reverting())
    assert chosen.radial
    assert [(unit.pivot, unit.value) for unit in chosen.units] == [("t", 0.0)]
    solution = fk.solve(Reverting(), steps=60, evaluations=1)
    at = {"x": [0.5, -0.5, 0.2], "t": 0.5, "kappa": 1.0, "sigma": 0.5}
    rest = math.exp(-1.0)
    exact = 0.54 * rest + 3 * 0.25 * (1 - rest) / 2
    assert float(solution(**at)) == pytest.approx(exact, abs=1e-3)  # in units of σ² it was not
