"""`feynkac calibrate`: a CSV file of quotes in; a table, JSON, warnings and a figure out."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm
from typer.testing import CliRunner, Result

import feynkac as fk
from feynkac.interfaces.cli import app

ENVIRONMENT = {"COLUMNS": "200", "NO_COLOR": "1"}
SIGMA, X, NOISE = 0.35, 9.6, 0.02


def run(*arguments: object) -> Result:
    """The program inside this process."""
    return CliRunner().invoke(app, ["calibrate", *map(str, arguments)], env=ENVIRONMENT)


def results(*arguments: object) -> dict:
    """The one JSON object on standard output of a command that succeeds."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return json.loads(result.stdout)


def write_quotes(path: Path, sigma: float = SIGMA, wiggle: float = 0.0, noise: bool = True) -> Path:
    """Fifty prices of the textbook's formula, with errors."""
    draw = np.random.default_rng(5)
    t, strike = draw.uniform(0.1, 1.0, 50), draw.uniform(10.0, 12.0, 50)
    v = sigma * np.sqrt(t)
    d = np.log(X / strike) / v + v / 2
    value = strike * norm.cdf(v - d) - X * norm.cdf(-d) + NOISE * draw.standard_normal(50)
    value += wiggle * (-1.0) ** np.arange(50)
    columns = {"t": t, "strike": strike, "value": value, "noise": np.full(50, NOISE)}
    chosen = list(columns)[: 4 if noise else 3]
    rows = np.stack([columns[name] for name in chosen], axis=1)
    np.savetxt(path, rows, delimiter=",", header=",".join(chosen), comments="")
    return path


@pytest.fixture(scope="module")
def put(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "put"
    fk.pretrained("black-scholes").save(folder)
    return folder


@pytest.fixture(scope="module")
def quotes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_quotes(tmp_path_factory.mktemp("data") / "quotes.csv")


def test_the_estimate_is_that_of_the_library(put, quotes):
    found = results(put, quotes, "--free", "sigma,x", "--confidence", 0.8, "--seed", 3)
    t, strike, value, noise = np.loadtxt(quotes, delimiter=",", skiprows=1).T
    solution = fk.load(put)
    problem = solution.observe(["sigma", "x"], value, noise=noise, t=t, strike=strike)
    expected = solution.calibrate(problem, confidence=0.8, seed=3)
    own = float(np.sqrt(np.mean(solution.model_error(value) ** 2)))
    assert found == expected.record() | {"model_error": own, "observations": 50}
    assert own > solution.manifest.history[-1]["l2"] > 0


def test_the_truth_is_found_within_its_errors(put, quotes):
    found = results(put, quotes, "--free", "sigma", "--given", f"x={X}")["estimate"]["sigma"]
    assert abs(found["value"] - SIGMA) < 4 * found["std"]
    assert 0 < found["std"] < 0.01
    low, high = found["interval"]
    assert low < found["value"] < high


@pytest.mark.slow
def test_both_methods_agree(put, quotes):
    by = {
        method: results(put, quotes, "--free", "sigma,x", "--method", method)["estimate"]["sigma"]
        for method in ("least-squares", "sgd")
    }
    difference = by["sgd"]["value"] - by["least-squares"]["value"]
    assert abs(difference) < 1e-3 * by["least-squares"]["std"]


def test_noise_may_be_one_number(put, quotes, tmp_path):
    bare = write_quotes(tmp_path / "bare.csv", noise=False)
    found = results(put, bare, "--free", "sigma,x", "--noise", NOISE)
    assert found == results(put, quotes, "--free", "sigma,x")
    assert results(put, bare, "--free", "sigma,x")["chi_square"] is None


def test_the_table_shows_estimate_error_and_interval(put, quotes):
    found = results(put, quotes, "--free", "sigma,x", "--confidence", 0.95)
    result = run(put, quotes, "--free", "sigma, x", "--confidence", 0.95)
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"50 observations, residuals {found['residual_rms']:.3g} rms" in result.stdout
    assert "95 % interval" in result.stdout
    for name, entry in found["estimate"].items():
        low, high = entry["interval"]
        numbers = f"{entry['value']:.6g}", f"{entry['std']:.2g}", f"{low:.6g} … {high:.6g}"
        cells = [name, *numbers]
        assert re.search(" +│ +".join(map(re.escape, cells)), result.stdout)


@pytest.fixture(scope="module")
def sampled(put, quotes) -> dict:
    return results(put, quotes, "--free", "sigma,x", "--posterior", "--steps", 300)


@pytest.mark.slow
def test_the_posterior_agrees_with_the_fit(sampled):
    for name, marginal in sampled["posterior"]["marginals"].items():
        fit = sampled["estimate"][name]
        assert abs(marginal["mean"] - fit["value"]) < 0.3 * fit["std"]
        assert 0.7 < marginal["std"] / fit["std"] < 1.3
    assert sampled["posterior"]["samples"] == 225 * 64


@pytest.mark.slow
def test_the_posterior_has_a_table(put, quotes, sampled):
    result = run(put, quotes, "--free", "sigma,x", "--posterior", "--steps", 300)
    largest = max(sampled["posterior"]["r_hat"].values())
    assert f"posterior, largest R̂ {largest:.3f}" in result.stdout
    assert "standard deviation" in result.stdout
    assert f"{sampled['posterior']['marginals']['sigma']['mean']:.6g}" in result.stdout
    expected = [f"warning: {text}" for text in sampled["posterior"]["warnings"]]
    assert result.stderr.splitlines() == expected


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--posterior", "--steps", 100]], ids=["fit", "corner"])
def test_a_figure_is_drawn(put, quotes, tmp_path, more):
    path = tmp_path / "figure.png"
    result = run(put, quotes, "--free", "sigma,x", *more, "--out", path)
    assert result.exit_code == 0
    assert result.stdout.replace("\n", "").endswith(f"figure {path}")
    assert path.read_bytes().startswith(b"\x89PNG")
    path.unlink()
    assert results(put, quotes, "--free", "sigma,x", *more, "--out", path)["figure"] == str(path)
    assert path.exists()


@pytest.mark.parametrize(
    ("data", "free", "message"),
    [
        (
            {"sigma": 0.75},
            "sigma",
            "lies on the boundary of [0.1, 0.6]; the best fit may be outside",
        ),
        ({"wiggle": 0.3}, "sigma,x", "no parameters explain these data: χ² = "),
        ({"wiggle": 0.5, "noise": False}, "sigma,x", "large residuals: 0."),
    ],
)
def test_warnings_are_said_on_stderr_and_are_in_the_json(put, tmp_path, data, free, message):
    path = write_quotes(tmp_path / "odd.csv", **data)
    given = [] if "x" in free else ["--given", f"x={X}"]
    result = run(put, path, "--free", free, *given)
    assert result.exit_code == 0
    warnings = results(put, path, "--free", free, *given)["warnings"]
    assert any(message in text for text in warnings)
    assert result.stderr.splitlines() == [f"warning: {text}" for text in warnings]


def test_what_the_data_do_not_tell_is_a_dash_and_null(put, tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("strike,value\n11,1.9\n")
    options = ["--free", "sigma", "--given", "x=9.5,t=0.5"]
    assert results(put, path, *options)["estimate"]["sigma"]["std"] is None
    result = run(put, path, *options)
    assert re.search(r"sigma +│ +0\.\d+ +│ +– +│ +0\.1 … 0\.6", result.stdout)
    assert "warning: there are as many unknowns as observations" in result.stderr


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("strike,t,value\n11,0.5,?\n", ["--given", "x=9.5"], "row 1: value is '?', not a finite"),
        ("strike,t,price\n11,0.5,2\n", ["--given", "x=9.5"], "no column for the spot or the forw"),
        ("strike,t,value\n13,0.5,2\n", ["--given", "x=9.5"], "row 1: strike = 13 lies outside"),
        ("strike,t,value\n11,0.5,2\n", [], "missing: x"),
        ("strike,t,value\n11,0.5,2\n", ["--given", "x=8"], "x = 8 lies outside [9, 10]"),
        ("strike,t,value\n11,0.5,2\n", ["--given", "x"], "cannot read 'x'; expected name=number"),
        ("strike,t,value\n11,0.5,2\n", ["--given", "x=9.5,t=1"], "t is a column of "),
        ("strike,t,value\n11,0.5,2\n", ["--given", "x=9,noise=1"], "there is no variable 'noise'"),
        ("x,strike,t,value\n9,11,0.5,2\n", ["--noise", "0"], "noise must be positive"),
        ("x,strike,t,value,noise\n9,11,1,2,1\n", ["--noise", "1"], "noise is a column of "),
        ("strike,t,value\n11,0.5,2\n", ["--free", "sigma,x"], "1 observations cannot determine 2"),
        ("strike,t,value\n11,0.5,2\n", ["--free", "vol"], "no variable 'vol'; there are"),
        (
            "strike,t,value\n11,0.5,2\n",
            ["--free", "t"],
            "has a column 't', but t is a free variable",
        ),
        ("strike,t,value\n11,0.5,2\n", ["--free", ","], "name the variables to find"),
    ],
)
def test_bad_input_gets_one_sentence(put, tmp_path, content, options, message):
    path = tmp_path / "bad.csv"
    path.write_text(content)
    result = run(put, path, "--free", "sigma", *options, "--out", tmp_path / "figure.png")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "figure.png").exists()


def test_a_missing_file_or_run_is_named(put, quotes, tmp_path):
    result = run(put, tmp_path / "none.csv", "--free", "sigma")
    assert result.exit_code == 2
    assert "none.csv" in result.stderr
    result = run(tmp_path, quotes, "--free", "sigma")
    assert result.exit_code == 2
    assert "holds no solution" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "holds observations; name what to find, as in --free sigma"),
        (["--free", "x", "--confidence", "90"], "Invalid value for '--confidence'"),
        (["--free", "x", "--method", "newton"], "Invalid value for '--method'"),
        (["--free", "x", "--steps", "10"], "Invalid value for '--steps'"),
    ],
)
def test_a_wrong_command_line_is_explained(put, quotes, options, message):
    result = run(put, quotes, *options)
    assert result.exit_code == 2
    assert message in result.stderr
