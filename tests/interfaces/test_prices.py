"""Implied volatilities, their errors and arbitrage reports in the shell."""

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

import feynkac as fk
from feynkac.interfaces.cli import app

ENVIRONMENT = {"COLUMNS": "200", "NO_COLOR": "1"}
AT = "x=9.5,t=0.5,sigma=0.35,strike=11"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], env=ENVIRONMENT)


@pytest.fixture(scope="module")
def put(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "put"
    fk.pretrained("black-scholes").save(folder)
    return folder


def test_query_prints_the_volatility_beside_the_price(put):
    found = json.loads(run("query", put, "--at", AT, "--implied-volatility", "--json").stdout)
    assert found["closed_form"]["implied_volatility"] == pytest.approx(0.35, rel=1e-10)
    expected = fk.load(put).implied_volatility(x=9.5, t=0.5, sigma=0.35, strike=11).item()
    assert found["implied_volatility"] == pytest.approx(expected, rel=1e-9)
    text = run("query", put, "--at", AT, "--implied-volatility").stdout
    (row,) = (line for line in text.splitlines() if "implied volatility" in line)
    assert [cell.strip() for cell in row.split("│")][3] == "0.35"  # that of the closed form
    assert "implied" not in run("query", put, "--at", AT).stdout


def test_query_says_why_there_is_no_volatility(put):
    at = AT.replace("t=0.5", "t=0")
    result = run("query", put, "--at", at, "--implied-volatility")
    assert "no implied volatility of 1 price(s): no time to maturity" in result.stdout
    plain = json.loads(run("query", put, "--at", at, "--implied-volatility", "--json").stdout)
    assert plain["implied_volatility"] is None
    assert plain["no_volatility"] == {"no time to maturity": 1}


def test_error_is_given_in_basis_points(put):
    found = json.loads(run("error", put, "--inputs", 2000, "--json").stdout)
    errors = fk.load(put).error(2000)
    assert found["volatility_median_bp"] == pytest.approx(errors.volatility.median)
    assert found["volatility_99_bp"] >= found["volatility_median_bp"] > 0
    assert 0.5 < found["volatility_share"] < 1
    assert "shape" not in found
    text = run("error", put, "--inputs", 2000).stdout
    assert "median error of implied volatility" in text
    assert " bp" in text


def test_error_prints_an_arbitrage_report(put):
    found = json.loads(run("error", put, "--inputs", 100, "--shape", "--json").stdout)
    assert [s["sentence"] for s in found["shape"]["shapes"]][:1] == [
        "is within the bounds of arbitrage"
    ]
    text = run("error", put, "--inputs", 100, "--shape").stdout
    assert "arbitrage report, 8192 inputs" in text
    assert "u falls with x" in text
    assert "shapes" in text.splitlines()[-1]


def test_parity_needs_the_other_option(put):
    result = run("error", put, "--parity", put)
    assert result.exit_code == 2
    assert "put–call parity is between a call and a put" in result.stderr


def test_a_map_and_a_shape_are_not_printed_together(put):
    result = run("error", put, "--map", "--shape")
    assert result.exit_code == 2
    assert "--map answers alone; omit --shape and --parity." in result.stderr
