"""When finite differences give the labels, and what comes of them."""

from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.clock import Allowance
from feynkac.grids.grid import Grid
from feynkac.methods.fast.choose_grid import choose_grid
from feynkac.methods.fast.choose_waves import choose_frequencies
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama


@dataclass(frozen=True)
class Reverting(fk.Family):
    """E cos(k X_t) of an Ornstein–Uhlenbeck process is known."""

    dim: int = 1
    k: float = 1.0

    @property
    def domain(self):
        shape = () if self.dim == 1 else (self.dim,)
        return fk.Domain(
            x=fk.Box(-1.0, 1.0, shape=shape), t=fk.Box(0.1, 1.0), kappa=fk.Box(0.5, 2.0)
        )

    def drift(self, x, p):
        return -p.kappa * x

    def diffusion(self, x, dw, p):
        return 0.3 * dw

    def initial(self, x, p):
        return (self.k * x).cos().prod(-1, keepdim=True)

    def truth(self, x, t, p):
        variance = 0.3**2 * -(-2 * p.kappa * t).expm1() / (2 * p.kappa)
        return (self.k * x * (-p.kappa * t).exp()).cos() * (-0.5 * self.k**2 * variance).exp()


def test_few_dimensions_without_a_sampler_get_a_grid():
    assert choose_grid(Reverting(), Allowance()) is not None
    assert choose_grid(Reverting(dim=3), Allowance()) is None
    assert choose_grid(fk.BlackScholes(), Allowance()) is None  # it has an exact sampler


def test_paths_given_by_hand_are_taken():
    method = fk.Fast(scheme=EulerMaruyama(steps=4)).resolve(Reverting())
    assert method.grid is None


@pytest.fixture(scope="module")
def solution():
    grid = Grid((33,), 16, sets=64, points=64)
    return fk.solve(Reverting(), fk.Fast(grid=grid), steps=150, evaluations=1, seed=0)


def test_a_network_fitted_to_a_grid_is_near_the_truth(solution):
    family = solution.family
    inputs = family.domain.sample(1000, torch.Generator().manual_seed(5), torch.float64)
    u = family.truth(*family.domain.split(inputs))
    with torch.no_grad():
        off = (solution.network(inputs.float()).double() - u).abs().mean().item()
    assert off < 3e-4
    assert solution.error(256).l1 == pytest.approx(off / 1.9, rel=0.5)  # u is about 0.9


def test_a_solution_from_a_grid_is_saved_loaded_and_made_again(solution, tmp_path):
    solution.save(tmp_path)
    at = {"x": 0.3, "t": 0.5, "kappa": 1.0}
    loaded = fk.load(tmp_path, solution.family)
    assert loaded(**at) == solution(**at)
    assert loaded.manifest.run.method.grid == solution.manifest.run.method.grid
    again = fk.solve(Reverting(), solution.manifest.run.method, steps=150, evaluations=1, seed=0)
    assert again(**at) == solution(**at)


@pytest.mark.parametrize(("k", "waves"), [(1.0, False), (5.0, True)])
def test_waves_are_for_solutions_that_oscillate(k, waves):
    family = Reverting(dim=3, k=k)
    found = choose_frequencies(family, EulerMaruyama(steps=4), Sobol())
    assert bool(found) == waves


@pytest.mark.parametrize(("error", "taken"), [(1.3e-2, False), (1e-3, True)])
def test_a_refinement_that_nobody_measured_must_promise_enough(error, taken, monkeypatch):
    """An average, with noise in one of two directions, converges more slowly than others."""
    monkeypatch.setattr(f"{choose_grid.__module__}._shares", lambda *_: [error, 0.0])
    monkeypatch.setattr(f"{choose_grid.__module__}._affordable", lambda *_: True)
    assert (choose_grid(Reverting(), Allowance(0.0)) is not None) == taken
