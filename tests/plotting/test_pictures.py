"""Figures of answers: whole PNG files of real results, and nothing in them that is not one."""

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib import image
from scipy import stats

import feynkac as fk
from feynkac import plotting
from feynkac.analysis.calibration import Calibration, calibrate
from feynkac.analysis.certificates import certify
from feynkac.analysis.distributions import Inputs
from feynkac.analysis.error_map import error_map
from feynkac.analysis.martingale import Control
from feynkac.analysis.observations import Problem, make_problem
from feynkac.analysis.posterior import sample_posterior
from feynkac.analysis.uncertainty import propagate, sobol_indices
from feynkac.errors import InputError
from feynkac.plotting.writing import write_figure
from feynkac.sampling.noise.noise import Independent
from feynkac.sampling.schemes.exact import Exact

FAMILY = fk.BlackScholes()
DOMAIN = FAMILY.domain
AT = {"x": 9.5, "t": 0.5, "sigma": 0.35, "strike": 11.0}


def u(flat):
    return FAMILY.closed_form(*DOMAIN.split(flat))


def pixels(path: Path, size: tuple[int, int]) -> np.ndarray:
    """The picture, `(height, width, 3)`, after a look at the whole file."""
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", content[16:24]) == size
    found = image.imread(path)[..., :3]
    assert found.shape == (*size[::-1], 3)
    assert 0.005 < ink(found) < 0.9
    return found


def ink(picture: np.ndarray) -> float:
    """Fraction of the pixels that are not white."""
    return float((picture < 0.99).any(-1).mean())


@pytest.fixture(scope="module")
def solution() -> fk.Solution:
    settings = {"architecture": fk.Multilevel(levels=2, factor=2), "batch_size": 32}
    return fk.solve(FAMILY, method="paper", steps=2, evaluations=1, **settings)


@pytest.fixture(scope="module")
def problem() -> Problem:
    strikes = np.linspace(10.0, 12.0, 12)
    known = {"x": 9.5, "t": 0.5, "strike": strikes}
    exact = u(DOMAIN.join({**known, "sigma": 0.35})).squeeze(-1).numpy()
    noisy = exact + 0.01 * np.random.default_rng(0).standard_normal(12)
    known.pop("x")
    return make_problem(u, DOMAIN, ["sigma", "x"], known, noisy, 0.01)


@pytest.fixture(scope="module")
def fit(problem) -> Calibration:
    return calibrate(problem)


def test_a_calibration_is_drawn_with_and_without_noise(tmp_path, problem, fit):
    pixels(write_figure(plotting.calibration(problem, fit), tmp_path / "fit.png"), (1380, 600))
    silent = replace(problem, noise=None)
    pixels(
        write_figure(plotting.calibration(silent, calibrate(silent)), tmp_path / "silent.png"),
        (1380, 600),
    )


def test_a_posterior_is_a_corner(tmp_path, problem, fit):
    drawn = sample_posterior(problem, fit, steps=100)
    picture = pixels(
        write_figure(plotting.posterior(drawn, fit), tmp_path / "corner.png"), (810, 750)
    )
    assert ink(picture[50:350, 480:]) == 0.0  # above the diagonal
    assert ink(picture[400:640, 120:400]) > 0.01


def test_a_density_is_drawn(tmp_path):
    found = propagate(u, Inputs(DOMAIN, {"sigma": stats.norm(0.3, 0.05)}), 2000)
    pixels(write_figure(plotting.uncertainty(found), tmp_path / "density.png"), (900, 600))


def test_indices_are_bars(tmp_path):
    found = sobol_indices(u, Inputs(DOMAIN), 64)
    pixels(write_figure(plotting.sobol_indices(found), tmp_path / "indices.png"), (975, 477))


def test_only_the_largest_of_many_indices_are_drawn(tmp_path):
    domain = fk.Domain(x=fk.Box(0.0, 1.0, shape=(40,)), t=fk.Box(0.0, 1.0))
    weights = torch.arange(1.0, 41.0, dtype=torch.float64)
    found = sobol_indices(lambda v: v[:, :40] @ weights[:, None], Inputs(domain), 64)
    pixels(
        write_figure(plotting.sobol_indices(found), tmp_path / "indices.png"), (975, 981)
    )  # twelve


@pytest.mark.parametrize("count", [64, 3], ids=["full", "empty bins"])
def test_an_error_map_has_a_panel_a_variable(tmp_path, count, generator):
    points = DOMAIN.sample(count, generator)
    control = Control(u, DOMAIN)
    found = certify(u, FAMILY, Exact(), Independent(), control, points, generator)
    path = write_figure(plotting.error_map(error_map(DOMAIN, points, found)), tmp_path / "map.png")
    pixels(path, (1050, 870))


def test_a_figure_that_cannot_be_written_is_refused(tmp_path, solution):
    with pytest.raises(InputError, match=r"cannot write .*sweep\.png: No such file"):
        write_figure(
            plotting.sweep(solution.sweep(["x"], points=3, **AT)),
            tmp_path / "nowhere" / "sweep.png",
        )
