"""Curves and maps of sweeps: the right panels, the right way round, chosen by name."""

import numpy as np
import pytest
import torch

import feynkac as fk
from feynkac import plotting
from feynkac.analysis.sweep import Sweep
from feynkac.errors import InputError

AT = {"x": 9.5, "t": 0.5, "sigma": 0.35, "strike": 11.0}
AXIS = torch.tensor([0.0, 0.5, 1.0])


@pytest.fixture(scope="module")
def solution() -> fk.Solution:
    return fk.solve(fk.BlackScholes(), steps=2, batch_size=64, evaluations=1)


def titles(figure):
    return [axes.get_title() for axes in figure.axes if axes.get_title()]


def test_a_sweep_along_one_variable_is_curves(solution):
    found = solution.sweep(["x"], points=9, **AT)
    figure = plotting.sweep(found)
    assert titles(figure) == list(found.values)
    for axes, values in zip(figure.axes, found.values.values(), strict=False):
        drawn = next(line for line in axes.lines if line.get_label() == "network")
        assert np.allclose(drawn.get_xdata(), found.over["x"])
        assert np.allclose(drawn.get_ydata(), values)
    assert figure.get_suptitle() == "$t$ = 0.5,  σ = 0.35,  strike = 11"


def test_a_panel_without_a_quantity_is_off(solution):
    figure = plotting.sweep(solution.sweep(["x"], points=3, **AT))
    assert [axes.axison for axes in figure.axes] == [True] * 7 + [False] * 2


def test_a_map_has_its_first_variable_to_the_right():
    values = torch.tensor([[a, a, a] for a in AXIS])  # grows with the first, not with the second
    figure = plotting.sweep(Sweep({"t": AXIS, "sigma": AXIS}, {}, {"u": values}))
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time $t$", "σ")
    mesh = axes.collections[0].get_array().reshape(3, 3)
    assert np.allclose(mesh, [[0.0, 0.5, 1.0]] * 3)  # a row of the picture runs along t


def test_a_map_of_both_signs_is_white_at_zero():
    values = torch.tensor([[a - 0.25, a, a] for a in AXIS])
    image = plotting.surface(Sweep({"t": AXIS, "x": AXIS}, {}, {"u": values})).axes[0]
    image = image.collections[0]
    assert np.allclose(image.cmap(image.norm(0.0))[:3], 1.0, atol=0.04)
    assert image.norm.vmin == -image.norm.vmax == -1.0


def test_a_map_of_nan_only_is_drawn(tmp_path):
    values = torch.full((3, 3), torch.nan)
    figure = plotting.surface(Sweep({"t": AXIS, "x": AXIS}, {}, {"u": values}))
    figure.savefig(tmp_path / "empty.png")
    assert (tmp_path / "empty.png").stat().st_size > 0


def test_a_curve_of_nan_only_is_drawn(tmp_path):
    figure = plotting.curve(Sweep({"t": AXIS}, {}, {"u": torch.full((3,), torch.nan)}))
    figure.savefig(tmp_path / "empty.png")
    assert (tmp_path / "empty.png").stat().st_size > 0


def test_quantities_are_chosen_by_name(solution):
    found = solution.sweep(["x"], points=3, **AT)
    assert titles(plotting.sweep(found, ["gamma", "value"])) == ["gamma", "value"]
    assert titles(plotting.curve(found, "delta")) == ["delta"]
    with pytest.raises(InputError, match="there is no 'rho' to draw; there are: value, delta"):
        plotting.sweep(found, "rho")


def test_the_number_of_variables_must_fit(solution):
    with pytest.raises(InputError, match="a surface needs a sweep over 2 variables, got 1"):
        plotting.surface(solution.sweep("x", points=3, **AT))
    with pytest.raises(InputError, match="a curve needs a sweep over 1 variable, got 2"):
        plotting.curve(solution.sweep(["x", "t"], points=3, **AT))
