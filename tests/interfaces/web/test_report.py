"""A report: one file whose network answers in the browser, without Python and without a server."""

import json

import pytest
import torch
from browsing import Watched
from typer.testing import CliRunner

import feynkac as fk
from feynkac.analysis.partials import gradient
from feynkac.interfaces.cli import app
from feynkac.interfaces.web.report import (
    MOST_NAMED,
    Effort,
    _short_point,
    report_data,
    write_report,
)

QUICK = Effort(inputs=16, error_inputs=64)
AT = {"x": 9.25, "t": 0.3, "sigma": 0.44, "strike": 11.6}


@pytest.fixture(scope="module")
def report(runs, tmp_path_factory):
    """Written by the command."""
    out = tmp_path_factory.mktemp("report") / "puts.html"
    command = ["report", str(runs[0]), str(out), "--map-inputs=16", "--inputs=64", "--json"]
    found = CliRunner().invoke(app, command)
    assert found.exit_code == 0, found.output
    assert json.loads(found.output) == {"file": str(out), "bytes": out.stat().st_size}
    return out


def test_the_network_in_a_file_answers_like_torch(browser, report, runs):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    watched = Watched(context.new_page(), report.as_uri())
    point = ";".join(f"{name}:{value}" for name, value in AT.items())
    page = watched.open(f"#s=black-scholes&p={point}")
    solution = fk.load(runs[0])
    value = solution(AT).item()
    shown = {
        name: float(page.get_attribute(f'[data-quantity="{name}"]', "data-value"))
        for name in ("value", "delta", "gamma", "vega", "theta", "vanna", "volga")
    }
    assert shown["value"] == pytest.approx(value, rel=1e-6, abs=1e-6)
    inputs = solution.family.domain.join(AT)
    slopes = gradient(solution.exactly, inputs.unsqueeze(0))[0]
    for name, column, sign in (("delta", 0, 1), ("theta", 1, -1), ("vega", 2, 1)):
        assert shown[name] == pytest.approx(sign * slopes[column].item(), rel=1e-6, abs=1e-6)
    found = solution.greeks(AT)
    for name in ("gamma", "vanna", "volga"):
        assert shown[name] == pytest.approx(found[name].item(), rel=1e-3, abs=1e-3)  # float32
    page.get_by_label("value of sigma").fill("0.2")
    watched.settle()
    moved = solution(AT | {"sigma": 0.2}).item()
    now = float(page.get_attribute('[data-quantity="value"]', "data-value"))
    assert now == pytest.approx(moved, rel=1e-6, abs=1e-6)
    page.get_by_role("tab", name="Surface").click()
    watched.settle()
    for heading in ("Accuracy", "Curves", "Training", "Settings"):
        assert page.get_by_role("heading", name=heading, exact=True).is_visible()
    context.close()
    watched.check()


@pytest.mark.parametrize("width", [390, 1280])
def test_parts_of_a_report_stand_in_order_at_any_width(browser, report, width):
    page = browser.new_page(viewport={"width": width, "height": 844})
    page.goto(report.as_uri())
    page.wait_for_selector(".report .plot")
    tops = "nodes => nodes.map(n => n.getBoundingClientRect().top)"
    tops = page.eval_on_selector_all(".report > *", tops)
    assert tops == sorted(tops)
    page.close()


def test_a_report_says_what_the_run_knows(runs):
    solution = fk.load(runs[0])
    data = report_data(solution, QUICK, lambda fraction: None)
    tables = {table["title"]: table for table in data["tables"]}
    assert set(tables) == {"Errors of u", "Values and derivatives", "Certificates", "Shapes"}
    assert [row[0] for row in tables["Values and derivatives"]["rows"]][:3] == [
        "value",
        "delta",
        "gamma",
    ]
    assert len(tables["Certificates"]["rows"]) == 8
    assert len(tables["Shapes"]["rows"]) == len(solution.shape(16).rows)
    assert data["error_map"]["inputs"] == 16
    assert [curve["slice"]["over"][0]["name"] for curve in data["curves"]] == list(AT)
    assert data["history"] == solution.manifest.history
    assert ["training.seed", "0"] in data["settings"]["rows"]
    json.dumps(data, allow_nan=False)


@pytest.mark.slow
def test_without_a_closed_form_curves_carry_certified_points():
    solution = fk.solve(fk.BasketPut(dim=1), steps=1, batch_size=16)
    data = report_data(solution, Effort(inputs=0, error_inputs=4), lambda fraction: None)
    curve = data["curves"][0]
    assert data["error_map"] is None
    assert curve["slice"]["closed_form"] is None
    assert len(curve["certificates"]) == len(curve["points"]) == 7
    assert [table["title"] for table in data["tables"]] == ["Errors of u", "Certificates", "Shapes"]


def test_a_file_of_another_kind_is_refused(runs, tmp_path):
    with pytest.raises(fk.InputError, match=r"a report is an HTML file; name it as puts\.html"):
        write_report(fk.load(runs[0]), tmp_path / "puts.pdf", QUICK, lambda fraction: None)


def test_a_missing_folder_is_said_before_anything_is_measured(runs, tmp_path):
    told = []
    with pytest.raises(fk.InputError, match=r"there is no folder .*none; make it first"):
        write_report(fk.load(runs[0]), tmp_path / "none" / "puts.html", QUICK, told.append)
    assert told == []


def test_the_gradient_has_something_to_compare(runs):
    """So that the test above cannot pass on zeros."""
    solution = fk.load(runs[0])
    inputs = solution.family.domain.join(AT)
    assert torch.all(gradient(solution.exactly, inputs.unsqueeze(0)).abs() > 1e-3)


def test_inputs_are_listed_with_short_vectors_and_what_is_left_out_is_marked():
    at = {"x": [1.25, 0.04], "sigma": [[1.0, 0.0], [0.0, 1.0]], "y": [0.0] * 9, "t": 0.5}
    assert _short_point(at) == "x = (1.25, 0.04), sigma = …, y = …, t = 0.5"
    many = {f"a{i}": 1.0 for i in range(MOST_NAMED + 1)}
    assert _short_point(many).endswith("a7 = 1, …")
