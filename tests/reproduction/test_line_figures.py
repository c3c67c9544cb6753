"""Figures 3–8: errors of solutions whose error is known, beside QuantLib's prices and Greeks."""

import json
import math
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev

import pytest
import QuantLib as ql  # noqa: N813
import torch

import feynkac as fk
from feynkac.benchmarks.store import Store
from feynkac.reproduction import line_figures
from feynkac.reproduction.line_figures import (
    QUANTITIES,
    VIEWS,
    evaluate,
    make_line,
    present_view,
    run_view,
)
from feynkac.reproduction.result import render
from feynkac.reproduction.settings import Settings
from feynkac.reproduction.trainings import Trained

pytestmark = pytest.mark.slow

BY_NAME = {view.name: view for view in VIEWS}
every_view = pytest.mark.parametrize("view", VIEWS, ids=BY_NAME)


class Shifted(torch.nn.Module):
    """The closed form plus `factor` · (x² + t + σ), in double precision."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.register_buffer("mean", torch.zeros(4, dtype=torch.float64))

    def forward(self, inputs):
        point = fk.BlackScholes().domain.split(inputs)
        shift = point.x.square() + point.t + point.p.sigma
        return fk.BlackScholes().closed_form(*point) + self.factor * shift


@pytest.fixture(scope="module")
def solutions():
    """By method: two that are shifted with factors 0.1 and 0.3, and two with a hundredth of it."""
    trained = fk.solve(fk.BlackScholes(), steps=1, batch_size=16, evaluations=1)
    return {
        method: [replace(trained, network=Shifted(scale * f)) for f in (0.1, 0.3)]
        for method, scale in (("paper", 1.0), ("fast", 0.01))
    }


@pytest.fixture
def settings(monkeypatch, solutions):
    scales = {"paper": "300 steps in place of 24,000.", "fast": "full"}
    monkeypatch.setattr(
        line_figures,
        "train_black_scholes",
        lambda _settings, method: Trained((0, 1), solutions[method], scales[method]),
    )
    return Settings(Store(Path("nowhere")))


def quantlib(x, t):
    payoff = ql.PlainVanillaPayoff(ql.Option.Put, 11.0)
    put = ql.BlackCalculator(payoff, x, 0.35 * math.sqrt(t), 1.0)
    values = (put.value(), put.delta(x), put.vega(t), put.theta(x, t), put.gamma(x))
    return dict(zip(QUANTITIES, values, strict=True))


@pytest.mark.parametrize("along", ["x", "t"])
def test_the_reference_is_quantlib_s(solutions, along):
    line = make_line(along)
    truth = {name: each.truth for name, each in evaluate(solutions["fast"], line).items()}
    for i in range(5, 101, 5):
        at = {k: v if isinstance(v, float) else v[i].item() for k, v in line.items()}
        expected = quantlib(at["x"], at["t"])
        assert {name: truth[name][i].item() for name in QUANTITIES} == pytest.approx(expected)


def test_the_lines_are_the_paper_s():
    x, t = make_line("x"), make_line("t")
    assert (x["t"], x["sigma"], x["strike"]) == (0.5, 0.35, 11.0)
    assert (t["x"], t["sigma"], t["strike"]) == (9.5, 0.35, 11.0)
    assert (x["x"].min(), x["x"].max()) == (9.0, 10.0)
    assert (t["t"].min(), t["t"].max()) == (0.0, 1.0)


def test_a_known_error_is_found(solutions):
    line = make_line("t")
    curves = evaluate(solutions["paper"], line)
    factors = torch.tensor([[0.1], [0.3]], dtype=torch.float64)
    shifts = {"price": 9.5**2 + line["t"] + 0.35, "delta": 2 * 9.5, "gamma": 2.0}
    for name in QUANTITIES:
        expected = factors * shifts.get(name, 1.0) / (1 + curves[name].truth.abs())
        torch.testing.assert_close(curves[name].errors, expected)


@every_view
def test_a_row_is_the_mean_error_along_the_line(settings, view):
    result = run_view(view, settings)
    assert [row[0] for row in result.rows] == list(QUANTITIES)
    assert result.rows[-1][:2] == ("gamma", "– (ReLU)")
    for name, paper, fast in result.rows[:-1]:
        errors = [result.data[method][name]["error"] for method in ("paper", "fast")]
        for cell, (first, second) in zip((paper, fast), errors, strict=True):
            deviation = abs(first - second) / math.sqrt(2)
            assert cell == f"{(first + second) / 2:.2g} ± {deviation:.1g}"


@every_view
def test_a_figure_shows_what_the_paper_s_does(settings, view):
    result = run_view(view, settings)
    first, *_, last = result.figure.axes
    assert result.name == view.name
    assert [axes.get_title().split()[0] for axes in result.figure.axes] == list(view.panels)
    assert {axes.get_xlabel() for axes in result.figure.axes} == {
        {"x": "$x$", "t": "time $t$"}[view.along]
    }
    truth = [] if view.error else ["closed form"]
    assert [line.get_label() for line in first.lines] == [
        *truth,
        "the paper's method",
        "the fast method",
    ]
    assert [line.get_label() for line in last.lines] == [*truth, "the fast method"]
    assert first.get_yscale() == ("log" if view.error else "linear")
    assert render(result.figure, "png").startswith(b"\x89PNG")
    json.dumps(result.data, allow_nan=False)


@pytest.mark.parametrize(
    ("name", "along", "quantity", "error"),
    [
        ("figure-3", "x", "price", True),
        ("figure-4", "x", "vega", True),
        ("figure-5", "t", "price", False),
        ("figure-6", "t", "vega", False),
        ("figure-7", "t", "price", True),
        ("figure-8", "t", "vega", True),
    ],
)
def test_the_numbering_is_the_paper_s(name, along, quantity, error):
    view = BY_NAME[name]
    assert (view.along, view.quantity, view.error) == (along, quantity, error)


@pytest.mark.parametrize(("name", "below"), [("figure-7", 0.0), ("figure-5", 1.0)])
def test_the_band_is_the_standard_deviation(settings, name, below):
    """On both sides of values, above errors, whose axis is logarithmic."""
    result = run_view(BY_NAME[name], settings)
    axes = result.figure.axes[2]
    assert axes.get_title() == "theta"
    found = [seed[-1] for seed in result.data["paper"]["theta"]["found"]]
    truth = result.data["closed form"]["theta"][-1]
    shown = found if below else [abs(value - truth) / (1 + abs(truth)) for value in found]
    vertices = axes.collections[0].get_paths()[0].vertices
    heights = [height for at, height in vertices if at == 1.0]
    assert max(heights) == pytest.approx(mean(shown) + stdev(shown))
    assert min(heights) == pytest.approx(mean(shown) - below * stdev(shown))


def test_one_seed_has_no_deviation(settings, solutions, monkeypatch):
    monkeypatch.setattr(
        line_figures,
        "train_black_scholes",
        lambda _, method: Trained((0,), solutions[method][:1], "full"),
    )
    result = run_view(VIEWS[0], settings)
    assert result.scale == "full"
    assert "is 100 times smaller than that of the paper's method" in result.notes[2]
    assert "±" not in result.rows[0][1]
    assert render(result.figure, "svg")


def test_the_scale_is_told_and_a_scaled_training_compared_with_nothing(settings):
    result = run_view(VIEWS[0], settings)
    assert result.scale == (
        "the paper's method: 300 steps in place of 24,000; the fast method: full."
    )
    assert len(result.notes) == 2
    assert "(2 of the paper's method, 2 of the fast one)" in result.notes[0]
    assert result.data["seeds"] == {"paper": (0, 1), "fast": (0, 1)}


@every_view
def test_a_page_from_recorded_numbers_is_the_same(settings, view):
    first = run_view(view, settings)
    again = present_view(view, json.loads(json.dumps(first.data)))
    assert (again.rows, again.notes, again.scale) == (first.rows, first.notes, first.scale)
