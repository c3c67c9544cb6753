"""The authors' weights: read as in their code, and the numbers that the benchmark quotes."""

import importlib.util
import json
from pathlib import Path

import pytest
import torch

import feynkac as fk
from feynkac.benchmarks.bench import ENTRIES
from feynkac.benchmarks.bench_table import REMEASURED_GREEKS

ROOT = Path(__file__).parents[2]
RECORD = json.loads((ROOT / "docs" / "results" / "authors-weights.json").read_text())


def load_script():
    path = ROOT / "benchmarks" / "authors_weights.py"
    spec = importlib.util.spec_from_file_location("authors_weights", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def script():
    with pytest.MonkeyPatch.context() as patch:
        module = load_script()
        patch.setitem(__import__("sys").modules, "authors_weights", module)
        yield module


def authors_state(inputs, width, levels, generator):
    """Tensors with the names and shapes of the published files."""
    state = {}

    def draw(*shape):
        return torch.randn(shape, generator=generator)

    for level in range(levels):
        dims = [inputs] + [width] * 2**level
        for i, dim in enumerate(dims):
            last = i == 2**level
            state[f"nets.{level}.dense_layers.{i}.weight"] = (
                draw(1 if last else width, dim) / dim**0.5
            )
            if last:
                state[f"nets.{level}.dense_layers.{i}.bias"] = draw(1)
            else:
                norm = f"nets.{level}.norm_layers.{i}"
                state |= {f"{norm}.weight": draw(width), f"{norm}.bias": draw(width)}
                state |= {
                    f"{norm}.running_mean": draw(width),
                    f"{norm}.running_var": draw(width) ** 2,
                }
                state[f"{norm}.num_batches_tracked"] = torch.tensor(1)
    return state


def recursion(state, x, level, i):
    """Ψ_l^i = A_l^i ϱ(Norm(Ψ_l^{i−1})) + Ψ_{l+1}^{2i}, written out; Ψ_l^0 = A_l^0 x."""
    dense = f"nets.{level}.dense_layers.{i}"
    if i == 0:
        return x @ state[f"{dense}.weight"].mT
    h, norm = recursion(state, x, level, i - 1), f"nets.{level}.norm_layers.{i - 1}"
    h = (h - state[f"{norm}.running_mean"]) / (state[f"{norm}.running_var"] + 1e-8).sqrt()
    h = (h * state[f"{norm}.weight"] + state[f"{norm}.bias"]).relu()
    value = h @ state[f"{dense}.weight"].mT + state.get(f"{dense}.bias", 0.0)
    deeper = f"nets.{level + 1}.dense_layers.{2 * i}.weight" in state
    return value + recursion(state, x, level + 1, 2 * i) if deeper else value


def test_weights_are_evaluated_as_the_recursion_says(script, tmp_path):
    generator = torch.Generator().manual_seed(0)
    state = authors_state(4, 20, 4, generator)
    torch.save(state, tmp_path / "model.pth")
    family = fk.BlackScholes()
    network = script.load_network(tmp_path / "model.pth", family).double()
    points = family.domain.sample(64, generator).double()
    at = family.domain.split(points)
    theirs = torch.cat([at.t, at.x, at.p.sigma, at.p.strike], dim=-1)
    low, high = (torch.tensor(ends) for ends in ([0.0, 9.0, 0.1, 10.0], [1.0, 10.0, 0.6, 12.0]))
    normal = (theirs - (low + high) / 2) / ((high - low) / 12**0.5)
    expected = recursion({k: v.double() for k, v in state.items()}, normal, 0, 1)
    torch.testing.assert_close(network(points), expected, rtol=1e-5, atol=1e-5)


def test_other_weights_are_refused(script, tmp_path):
    torch.save({"net.0.weight": torch.zeros(1)}, tmp_path / "model.pth")
    with pytest.raises(SystemExit, match="expected weights of a multilevel network"):
        script.load_network(tmp_path / "model.pth", fk.BlackScholes())


def test_another_folder_is_refused(script, tmp_path):
    with pytest.raises(SystemExit, match="is it a clone of"):
        script.measure_all(tmp_path, script.Effort())


def test_the_page_is_that_of_the_numbers(script):
    path = ROOT / "docs" / "results" / "authors-weights.md"
    assert path.read_text() == script.page(RECORD)


def row(family, what, reference):
    (found,) = (
        each
        for each in RECORD["rows"]
        if (each["family"], each["what"]) == (family, what)
        and each["reference"].startswith(reference)
    )
    return found


def test_the_weights_give_what_their_authors_measured():
    for family, reference in (("black-scholes", "closed form"), ("basket-put", "25 Euler")):
        found = row(family, "the weights", reference)
        recorded = sum(found["recorded"]) / len(found["recorded"])
        noise = 4 * found["l1_se"] + found["reference_se"]
        assert found["l1"] == pytest.approx(recorded, abs=noise)


def test_the_benchmark_quotes_these_numbers():
    entries = {entry.name: entry for entry in ENTRIES}
    assert entries["basket-put"].published_l1 == round(
        row("basket-put", "the weights", "true")["l1"], 4
    )
    assert entries["basket-put"].source.endswith("authors-weights.json")
    for name, value in REMEASURED_GREEKS.items():
        assert value == round(row("black-scholes", name, "closed form")["l1"], 4)
