"""Tables 5 and 6 say what the paper's say, and follow the program where it changes."""

import json
from pathlib import Path

import pytest
import torch

import feynkac as fk
from feynkac.benchmarks.store import Store
from feynkac.methods.dimension import Choice
from feynkac.methods.paper import TABLE_6, Column
from feynkac.networks.architecture import Linear
from feynkac.networks.network import make_network
from feynkac.reproduction import setup_tables
from feynkac.reproduction.settings import Settings
from feynkac.reproduction.setup_tables import table_5, table_6

PAPER = {
    "D_σ": ("[0.1, 0.6]", "[0.1, 0.6]^3×3×4", "[0, 1]^10×10", "[0, 0.1]"),
    "D_μ": ("–", "[0.1, 0.6]^3×4", "–", "–"),
    "D_φ": ("[10, 12]", "[10, 12]", "–", "–"),
    "[v, w]^d": ("[9, 10]", "[9, 10]^3", "[0.5, 1.5]^10", "[-0.1, 0.1]^150"),
    "[0, T]": ("[0, 1]",) * 4,
    "inputs": ("4", "53", "111", "152"),
    "(L, q, χ)": ("(4, 5, 1)", "(4, 5, 1)", "(4, 4, 1)", "(4, 4, 1)"),
    "activation": ("relu",) * 4,
    "normalisation": ("batch",) * 4,
    "solution of the SDE": ("analytic", "Euler–Maruyama, 25 steps", "analytic", "analytic"),
    "optimiser": ("AdamW",) * 4,
    "weight decay": ("0.01",) * 4,
    "batch size": ("2^16", "2^17", "2^17", "2^17"),
    "steps": ("24,000", "28,000", "28,000", "28,000"),
    "(initial, minimal) learning rate": ("(0.01, 1e-08)", *("(0.001, 1e-08)",) * 3),
    "(decay, patience)": ("(0.25, 4000)", *("(0.4, 4000)",) * 3),
    "solution of the PDE, paper": ("analytic", "Monte Carlo, 2^20 paths", "analytic", "analytic"),
}


@pytest.fixture(scope="module")
def settings():
    return Settings(Store(Path("nowhere")))


@pytest.fixture(scope="module")
def setup(settings):
    return table_5(settings)


@pytest.fixture(scope="module")
def rows(setup):
    return {name: tuple(cells) for name, *cells in setup.rows}


@pytest.mark.parametrize("name", PAPER)
def test_the_setup_is_the_paper_s(rows, name):
    assert rows[name] == PAPER[name]


def test_parameters_round_to_the_paper_s(rows):
    counts = [int(cell.replace(",", "")) for cell in rows["parameters here"]]
    rounded = (f"{counts[0] / 1e3:.1f}K", *(f"{count / 1e6:.1f}M" for count in counts[1:]))
    assert rows["parameters, paper"] == rounded


def test_evaluations_have_the_size_that_a_run_reports(setup, rows):
    run = fk.solve(fk.BlackScholes(), method="paper", steps=1, batch_size=16, evaluations=1)
    assert setup.columns[1] == "black-scholes"
    inputs = run.manifest.history[-1]["inputs"]
    assert rows["inputs of an evaluation here"][0] == f"2^{inputs.bit_length() - 1}"


def test_parameters_are_drawn_as_the_table_says(rows):
    assert set(rows["initial parameters"]) == {"U(−ξ, ξ)"}
    network = make_network(fk.Multilevel(), fk.BlackScholes().domain, torch.Generator())
    layers = [module for module in network.modules() if isinstance(module, Linear)]
    scaled = [layer.weight.abs().max() * layer.weight.shape[1] ** 0.5 for layer in layers]
    assert 0.99 < max(scaled) <= 1.0


def test_the_table_follows_the_presets(settings, monkeypatch):
    changed = {fk.BlackScholes: Column(6, 96, 0.5, 0.3, 7)}
    monkeypatch.setattr(setup_tables, "TABLE_5", changed)
    rows = {name: cells[0] for name, *cells in table_5(settings).rows}
    assert rows["(L, q, χ)"] == "(4, 6, 1)"
    assert (rows["batch size"], rows["steps"]) == ("96", "7")
    assert rows["(initial, minimal) learning rate"] == "(0.5, 1e-08)"
    assert rows["(decay, patience)"] == "(0.3, 4000)"


def test_the_ranges_are_the_paper_s(settings):
    result = table_6(settings)
    for name, ours, theirs in result.rows:
        if name == "optimiser":
            assert ours.startswith("{AdamW")
            assert "SGD (momentum 0.9, weight decay 0.01)" in ours
        elif name == "learning rate":
            assert ours == "(1e-05, 0.1), log-uniform"
        else:
            assert ours.removesuffix(", uniform") == theirs


def test_the_ranges_follow_the_search(settings, monkeypatch):
    monkeypatch.setitem(TABLE_6, "factor", Choice((7,)))
    assert table_6(settings).rows[0][1] == "{3, 4} × {7}"


def test_the_numbers_are_json(settings, setup):
    for result in (setup, table_6(settings)):
        assert json.loads(json.dumps(result.data, allow_nan=False))
