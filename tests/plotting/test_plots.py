"""`solution.plot`: every picture of one solution, and what is said without matplotlib."""

import subprocess
import sys

import numpy as np
import pytest

import feynkac as fk

REST = {"sigma": 0.35, "strike": 11.0}


@pytest.fixture(scope="module")
def solution() -> fk.Solution:
    return fk.solve(fk.BlackScholes(), steps=2, batch_size=64, evaluations=2)


def test_a_curve_lies_on_the_closed_form(solution):
    axes = solution.plot.curve("x", t=0.5, points=7, **REST).axes[0]
    exact, network = axes.lines[:2]
    assert [exact.get_label(), network.get_label()] == ["closed form", "network"]
    x = np.linspace(9.0, 10.0, 7)
    assert np.allclose(network.get_ydata(), solution(x=x, t=0.5, **REST))
    domain = solution.family.domain
    inputs = domain.join({"x": x, "t": 0.5, **REST})
    assert np.allclose(
        exact.get_ydata(), solution.family.closed_form(*domain.split(inputs)).flatten()
    )


def test_a_curve_takes_a_mapping_and_an_entry():
    family = fk.HeatParaboloid(dim=2)
    solution = fk.solve(family, steps=2, batch_size=64, evaluations=1)
    at = {"x": [0.5, 0.5], "t": 0.5, "sigma": [[0.5, 0.0], [0.0, 0.5]]}
    axes = solution.plot.curve("x[0]", at, only="value", points=5).axes[0]
    assert axes.get_xlabel() == "$x_{0}$"
    assert len(axes.lines) == 2


def test_a_family_without_a_closed_form_has_one_line():
    solution = fk.solve(
        fk.DoubleWell(dim=2), steps=2, batch_size=64, evaluations=1, scheme=fk.FamilySteps(steps=2)
    )
    inputs = solution.family.domain.sample(1, solution_generator())
    at = {k: v for k, v in solution.family.domain.named(inputs[0]).items() if k != "t"}
    axes = solution.plot.curve("t", at, only="value", points=5).axes[0]
    assert [line.get_label() for line in axes.lines if line.get_label() == "network"]
    assert "closed form" not in [line.get_label() for line in axes.lines]


def solution_generator():
    import torch

    return torch.Generator().manual_seed(0)


def test_the_other_pictures(solution):
    assert len(solution.plot.surface("x", "t", points=5, only="value", **REST).axes) == 2
    assert len(solution.plot.error_map(16).axes) == 4
    drawn = solution.plot.history().axes[0].lines[0]
    assert np.allclose(drawn.get_ydata(), [r["l1"] for r in solution.manifest.history])


@pytest.mark.slow
def test_without_matplotlib_a_sentence_says_what_to_install(tmp_path, solution):
    solution.save(tmp_path / "run")
    code = f"""
import sys
sys.modules["matplotlib"] = None
import feynkac as fk
solution = fk.load({str(tmp_path / "run")!r})
for ask in (lambda: solution.plot, lambda: fk.plot):
    try:
        ask()
    except ModuleNotFoundError as error:
        print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (
        said.stdout.splitlines()
        == ["pictures need matplotlib, which is not installed; install it, or the extra `plot`."]
        * 2
    )
