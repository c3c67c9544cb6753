"""Asking a run through the program: certificates, Greeks, uncertainty and maps of its error."""

import json
import re
from pathlib import Path

import pytest
from scipy import stats
from typer.testing import CliRunner, Result

import feynkac as fk
from feynkac.interfaces.cli import app

AT = "x=9.5,t=0.5,sigma=0.35,strike=11"
POINT = {"x": 9.5, "t": 0.5, "sigma": 0.35, "strike": 11}
GREEKS = ["delta", "gamma", "vega", "theta", "vanna", "volga"]
NOT_SMOOTH = "the network is not smooth: second derivatives (gamma, vanna, volga) are 0."
ENVIRONMENT = {"COLUMNS": "200", "NO_COLOR": "1"}


def run(*arguments: object) -> Result:
    """The program inside this process."""
    return CliRunner().invoke(app, [str(a) for a in arguments], env=ENVIRONMENT)


def shown(*arguments: object) -> Result:
    """A command that succeeds."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def results(*arguments: object) -> dict:
    """The one object of strict JSON on standard output."""
    return json.loads(shown(*arguments, "--json").stdout, parse_constant=pytest.fail)


def is_picture(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("asking")


@pytest.fixture(scope="module")
def put(folder) -> Path:
    """A good network at once."""
    fk.pretrained("black-scholes").save(folder / "put")
    return folder / "put"


@pytest.fixture(scope="module")
def relu(folder) -> Path:
    options = ["--method", "paper", "--steps", 2, "--batch-size", 64]
    results("solve", "black-scholes", *options, "--out", folder / "relu")
    return folder / "relu"


@pytest.fixture(scope="module")
def digital(folder) -> tuple[Path, str]:
    """A run and where its family is."""
    spec = f"{Path(__file__).parents[1] / 'digital_put.py'}:DigitalPut"
    tiny = ["--steps", 2, "--batch-size", 16, "--paths", 8]
    results("solve", spec, *tiny, "--out", folder / "digital")
    return folder / "digital", spec


@pytest.fixture(scope="module")
def first_certificate(put) -> Result:
    return shown("query", put, "--at", AT, "--certify", "--json")


@pytest.fixture(scope="module")
def certified(put, first_certificate) -> Path:
    """The run, after its first certificate."""
    return put


# query --certify


def test_a_certificate_holds_the_closed_form(first_certificate):
    found = json.loads(first_certificate.stdout)
    certificate, truth = found["certificate"], found["closed_form"]["value"]
    assert certificate["network"] == pytest.approx(found["value"])
    assert abs(certificate["value"] - truth) < 3.0 * certificate["half_width"]
    assert 0.0 < certificate["half_width"] < 1e-4
    assert certificate["discretisation"] == 0.0
    assert certificate["variance_reduction"] > 10.0
    assert certificate["estimator"].startswith("exact:1")
    assert (certificate["confidence"], certificate["tolerance"]) == (0.95, None)


def test_no_control_is_trained_where_plain_paths_do(put, first_certificate):
    assert first_certificate.stderr == ""
    budget = ["--control-budget", "3s"]
    assert shown("query", put, "--at", AT, "--certify", *budget).stderr == ""
    assert not (put / "control").exists()


@pytest.mark.slow
def test_a_control_is_trained_where_they_do_not(put, first_certificate, monkeypatch):
    from feynkac.interfaces import asking

    monkeypatch.setattr(asking, "_too_wide", lambda *_: True)
    options = ["--certify", "--control-budget", "2s"]
    result = shown("query", put, "--at", AT, *options)
    assert "plain paths are too noisy: training a control (2s)" in result.stderr
    assert (put / "control" / "manifest.json").exists()


def test_a_tolerance_gives_a_verdict(certified):
    text = shown("query", certified, "--at", AT, "--certify", "--tolerance", 0.1).stdout
    assert "within (a tolerance of 0.1)" in text


def test_a_certificate_is_a_table_beside_the_answer(certified):
    several = AT.replace("9.5", "[9.5,9.1]")
    text = shown("query", certified, "--at", several, "--certify").stdout
    for words in ("│ estimate", "│ variance reduction", "(the interval)"):
        assert text.count(words) == 2
    assert text.count("estimate: u at this input by simulation") == 1


def test_every_point_has_its_own_certificate(certified):
    other = AT.replace("9.5", "9.1")
    apart = results("query", certified, "--at", AT, "--at", other, "--certify")["answers"]
    values = [answer["value"] for answer in apart]
    assert [answer["certificate"]["network"] for answer in apart] == pytest.approx(values)
    together = results("query", certified, "--at", AT.replace("9.5", "[9.5,9.1]"), "--certify")
    assert [c["network"] for c in together["certificate"]] == pytest.approx(values)


# evaluate --map


def test_a_map_of_the_error(certified, tmp_path):
    out = tmp_path / "map.png"
    options = ["--map", "--inputs", 16, "--seed", 4, "--out", out]
    found = results("error", certified, *options)
    assert (found["inputs"], found["figure"]) == (16, str(out))
    assert is_picture(out)
    assert list(found["profiles"]) == list(found["worst"]["at"]) == list(POINT)
    low, high = found["interval"]
    assert low < found["mean"]["value"] < high
    assert found["mean"]["value"] < 0.05
    assert found["worst"]["error"] > found["mean"]["value"]


def test_a_map_is_a_table(certified):
    result = shown("error", certified, "--map", "--inputs", 4)
    for words in ("4 certified inputs", "L1 error, Eq. (9)", "largest error"):
        assert words in result.stdout
    assert result.stderr == ""


# greeks


def test_greeks_at_a_point_are_those_of_the_library(put):
    found = results("greeks", put, "--at", AT)
    solution = fk.load(put)
    assert found["greeks"] == {k: v.item() for k, v in solution.greeks(**POINT).items()}
    assert list(found["greeks"]) == GREEKS
    assert found["warnings"] == []
    for name in ("delta", "vega", "theta"):
        assert found["greeks"][name] == pytest.approx(found["closed_form"]["greeks"][name], abs=0.1)


def test_greeks_at_a_point_are_a_table(put):
    result = shown("greeks", put, "--at", AT)
    for word in ("volga", "∂u/∂strike", "closed form", AT):
        assert word in result.stdout
    assert result.stderr == ""


def test_greeks_along_one_variable(put, tmp_path):
    options = ["--at", "t=0.5,sigma=0.35,strike=11", "--over", "x", "--points", 5]
    found = results("greeks", put, *options, "--out", tmp_path / "x.png")
    assert found["over"] == {"x": [9.0, 9.25, 9.5, 9.75, 10.0]}
    assert found["at"] == {"t": 0.5, "sigma": 0.35, "strike": 11}
    assert list(found["surfaces"]) == ["value", *GREEKS]
    assert found["surfaces"]["value"][2] == pytest.approx(fk.load(put)(**POINT).item(), rel=1e-5)
    assert is_picture(tmp_path / "x.png")


def test_greeks_along_two_variables(put, tmp_path):
    out = tmp_path / "map.png"
    options = ["--at", AT, "--over", "sigma", "--over", "t", "--points", 3]
    found = results("greeks", put, *options)
    vega = fk.load(put).greeks(**POINT | {"sigma": 0.6, "t": 0.5})["vega"].item()
    assert found["surfaces"]["vega"][2][1] == pytest.approx(vega, rel=1e-4)
    result = shown("greeks", put, *options, "--out", out)
    assert result.stdout.replace("\n", "") == f"figure {out}"
    assert is_picture(out)


@pytest.mark.slow
def test_a_relu_network_is_warned_of(relu, tmp_path):
    found = results("greeks", relu, "--at", AT)
    assert NOT_SMOOTH in found["warnings"]
    assert found["greeks"]["gamma"] == found["greeks"]["volga"] == 0.0
    sweep = ["--over", "x", "--out", tmp_path / "x.png"]
    for arguments in (["greeks"], ["greeks", *sweep], ["query", "--greeks"]):
        command, *options = arguments
        result = shown(command, relu, "--at", AT, *options)
        assert f"warning: {NOT_SMOOTH}\n" in result.stderr


def test_a_payoff_that_jumps_is_warned_of(digital):
    folder, spec = digital
    *_, warning = results("greeks", folder, "--family", spec, "--at", AT)["warnings"]
    assert "the initial condition jumps" in warning
    assert "(delta, gamma) are unreliable" in warning


# uncertainty

FEW = ["--samples", 2000]


def test_uncertainty_is_that_of_the_library(put):
    options = ["--given", "sigma=normal(0.3,0.05)", "--given", "t=0.5,strike=11", "--seed", 3]
    found = results("uncertainty", put, *options, *FEW)
    given = {"sigma": stats.norm(0.3, 0.05), "t": 0.5, "strike": 11}
    expected = fk.load(put).uncertainty(given, samples=2000, seed=3)
    assert found == expected.record()
    assert list(found["correlation"]) == ["x", "sigma"]
    assert "0.00% of sigma would lie outside Box(0.1, 0.6)" in found["warnings"][0]


def test_uncertainty_shows_a_table_and_what_was_cut(put, tmp_path):
    out = tmp_path / "density.png"
    result = shown("uncertainty", put, "--given", "sigma=normal(0.15,0.05)", *FEW, "--out", out)
    for words in ("2000 evaluations", "variance", "quantile 0.95", "correlation with strike"):
        assert words in result.stdout
    assert result.stderr.startswith("warning: 15.87% of sigma would lie outside")
    assert is_picture(out)


def test_correlation_reaches_the_inputs(put):
    options = ["--given", "x=9.5,t=0.5", *FEW]
    apart, coupled = (
        results("uncertainty", put, *options, *extra)
        for extra in ([], ["--correlation", "sigma,strike=0.9"])
    )
    assert coupled["variance"]["value"] > 1.3 * apart["variance"]["value"]


def test_indices_say_where_the_variance_comes_from(put, tmp_path):
    out = tmp_path / "indices.png"
    found = results("uncertainty", put, "--indices", "--given", "t=1", *FEW, "--out", out)
    assert found["indices"] == fk.load(put).sobol_indices({"t": 1.0}).record()
    total = {name: figure["value"] for name, figure in found["indices"]["total"].items()}
    assert sum(total.values()) == pytest.approx(1.0, abs=0.1)
    assert total["sigma"] > total["strike"] > total["x"] > 0.0
    assert is_picture(out)
    text = shown("uncertainty", put, "--indices", *FEW).stdout
    assert "total Sobol' index of sigma" in text


# Bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("query --at {at} --tolerance 0.1", "--tolerance belongs to a certificate; add --certify"),
        ("query --at {at} --certify --tolerance 0", "a tolerance must be positive, got 0.0"),
        ("query --at {at} --certify --tolerance nan", "a tolerance must be positive, got nan"),
        ("query --at {at} --certify --extrapolate", "a certificate is for inputs inside"),
        ("query --at x=8,t=0.5,sigma=0.35,strike=11 --certify", "x = 8 lies outside [9, 10]"),
        ("query --at x=9.5 --certify", "missing: t, sigma, strike"),
        ("evaluate --out map.png", "--out draws the map of errors; add --map"),
        ("greeks --at x=9.5", "missing: t, sigma, strike"),
        ("greeks --at {at},rho=1", "unknown: rho"),
        ("greeks --at x=12,t=0.5,sigma=0.35,strike=11", "x = 12 lies outside [9, 10]"),
        ("greeks --at {at} --over x", "add --out FIGURE.png or --json"),
        ("greeks --at {at} --out x.png", "--out draws a sweep; add --over VARIABLE"),
        ("greeks --at {at} --over y --json", "there is no variable 'y'; there are: x, t"),
        ("greeks --at {at} --over x --over x --json", "one variable, or two different ones"),
        ("greeks --at {at} --over x --over t --over sigma --json", "or two different ones"),
        ("uncertainty --given rho=1", "there is no variable 'rho'; there are: x, t, sigma, strike"),
        ("uncertainty --given sigma=2", "sigma = 2 lies outside [0.1, 0.6]"),
        ("uncertainty --given sigma=normal(3,0.1)", "lies 100% outside Box(0.1, 0.6)"),
        ("uncertainty --given sigma=cauchy(0,1)", "expected a number, or normal(mean,std)"),
        ("uncertainty --given sigma=normal(0.3,-1)", "expected a number, or normal(mean,std)"),
        ("uncertainty --given t=0.5 --given t=1", "'t' is given twice"),
        ("uncertainty --correlation sigma,strike=1.5", "a number between -1 and 1"),
        ("uncertainty --correlation sigma,rho=0.5", "there is no variable 'rho'"),
        ("uncertainty --correlation sigma,sigma=0.5", "expected two names and a number"),
        (
            "uncertainty --correlation x,t=0.9 --correlation t,sigma=0.9 --correlation x,sigma=-.9",
            "the correlations are not those of any random variables",
        ),
        (
            "uncertainty --indices --correlation sigma,strike=0.5",
            "Sobol' indices need independent inputs; omit --correlation",
        ),
        (
            "uncertainty --indices --samples 64 --given x=9.5,t=1,sigma=0.3,strike=11",
            "no input is random",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(put, arguments, message):
    command, *options = arguments.format(at=AT).split()
    result = run(command, put, *options)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("greeks", "Missing option '--at'"),
        ("greeks --at x=9.5 --points 1", "Invalid value for '--points'"),
        ("uncertainty --samples 10", "Invalid value for '--samples'"),
        ("uncertainty --seed -1", "Invalid value for '--seed'"),
        ("query --at x=9.5 --tolerance small", "Invalid value for '--tolerance'"),
    ],
)
def test_a_wrong_command_line_is_explained(put, arguments, message):
    command, *options = arguments.split()
    result = run(command, put, *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("command", ["greeks", "uncertainty", "query"])
def test_a_folder_without_a_run_is_refused(tmp_path, command):
    options = [] if command == "uncertainty" else ["--at", AT]
    result = run(command, tmp_path / "nowhere", *options)
    assert result.exit_code == 2
    assert re.fullmatch(r"error: .*holds no solution.*\n", result.stderr)


def test_a_price_without_a_volatility_has_a_sentence_beside_the_closed_form(put):
    at = "x=9,t=0.1,sigma=0.1,strike=[10,12]"
    text = shown("query", put, "--at", at, "--implied-volatility").stdout
    assert "implied volatility" in text
    found = results("query", put, "--at", at, "--implied-volatility")
    assert len(found["implied_volatility"]) == 2


def test_json_has_null_where_a_number_does_not_exist(put):
    at = "x=9.5,t=0.5,sigma=0,strike=11"
    results("query", put, "--at", at, "--extrapolate", "--greeks")  # strict
