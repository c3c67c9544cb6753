"""`feynkac calibrate` on quote sheets: what it prints, draws and refuses."""

import json

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm
from typer.testing import CliRunner

import feynkac as fk
from feynkac.interfaces.cli import app

SHEET = "K;Expiry;Bid;Ask;Type\n95;6M;7,9;8,1;C\n100;6M;5,0;5,2;C\n105;6M;2,9;3,1;C\n105;6M;3;2;P\n"
OPTIONS = ["--spot", "100", "--rate", "0.02"]
ENVIRONMENT = {"COLUMNS": "160", "NO_COLOR": "1"}


@pytest.fixture
def sheet(tmp_path):
    path = tmp_path / "quotes.csv"
    path.write_text(SHEET)
    return path


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "bsm"
    fk.pretrained("black-scholes-merton").save(folder)
    return folder


def run(*arguments):
    return CliRunner().invoke(app, ["calibrate", *map(str, arguments)], env=ENVIRONMENT)


def test_guesses_dropped_rows_and_the_fit_are_printed(network, sheet):
    result = run(network, sheet, *OPTIONS, "--each")
    assert result.exit_code == 0, result.output
    for text in (
        "columns: strike = K, maturity = Expiry",
        "commas separate decimals.",
        "dropped row 5: crossed: bid 3 exceeds ask 2",
        "residuals are in price; quotes are weighted by their bid–ask spreads.",
        "black-scholes-merton: 3 quotes, residuals",
        "sigma",
        "residuals per maturity",
        "105 call",
        "the last steps are by the closed form: its sum of squares falls from",
        "the network's prices there checked by the closed form: largest error",
        "ms for the estimate",
    ):
        assert text in result.output


def textbook():
    """The volatility that is nearest to the three mid prices, by Black and Scholes."""
    strike, price = np.array([95.0, 100.0, 105.0]), np.array([8.0, 5.1, 3.0])

    def misfit(sigma):
        v = sigma * np.sqrt(0.5)
        d = (np.log(100.0 / strike) + 0.01) / v + v / 2
        found = 100.0 * norm.cdf(d) - strike * np.exp(-0.01) * norm.cdf(d - v)
        return np.sum((found - price) ** 2)

    return minimize_scalar(misfit, bounds=(0.05, 0.5), method="bounded").x


def test_json_is_one_object_with_every_quote(network, sheet):
    result = run(network, sheet, *OPTIONS, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert found["estimate"]["sigma"]["value"] == pytest.approx(textbook(), abs=1e-4)
    assert [row["row"] for row in found["quotes"]] == [2, 3, 4]
    assert found["sheet"]["dropped"] == [{"row": 5, "reason": "crossed: bid 3 exceeds ask 2"}]
    assert found["sheet"]["columns"]["strike"] == "K"
    assert found["check"]["by"] == "the closed form"
    assert found["maturities"][0]["quotes"] == 3


def test_a_family_is_fitted_by_its_closed_form_and_drawn(sheet, tmp_path):
    figure = tmp_path / "smiles.png"
    options = ["--by", "closed-form", "--residuals", "volatility", "--out", figure]
    result = run("black-scholes-merton", sheet, *OPTIONS, *options)
    assert result.exit_code == 0, result.output
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert "fitted prices are those of the closed form" in result.output


def test_the_posterior_of_quotes(sheet, tmp_path):
    picture = tmp_path / "fit.png"
    options = ["--by", "closed-form", "--posterior", "--steps", "100", "--json"]
    options += ["--out", str(picture)]
    found = json.loads(run("black-scholes-merton", sheet, *OPTIONS, *options).stdout)
    assert found["posterior"]["marginals"]["sigma"]["mean"] == pytest.approx(textbook(), abs=0.002)
    assert found["posterior_figure"] == str(tmp_path / "fit-posterior.png")
    for path in (picture, tmp_path / "fit-posterior.png"):
        assert path.read_bytes().startswith(b"\x89PNG")


def test_a_sheet_that_is_not_there(tmp_path):
    found = run("black-scholes-merton", tmp_path / "quotes.csv", *OPTIONS)
    assert found.exit_code == 2
    assert "there is no file" in found.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "has no column for the spot or the forward price; it has: K, Expiry"),
        ([*OPTIONS, "--column", "strike"], "cannot read the column 'strike'; expected strike=K."),
        ([*OPTIONS, "--column", "strike=X"], "there is no column 'X' for the strike"),
        (["--spot", "100", "--rate", "3"], "write 0.03 for 3 %"),
        ([*OPTIONS, "--domain", "t=0:2"], "a solution keeps its domain; omit --domain"),
        ([*OPTIONS, "--given", "nu=1"], "nu"),
        ([*OPTIONS, "--residuals", "yield"], "these quotes have no yield"),
    ],
)
def test_refusals_are_one_sentence(network, sheet, options, message):
    result = run(network, sheet, *options)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert result.stderr.startswith("error: ")


def test_advice_is_in_terms_of_the_shell(network, sheet):
    assert "Give --spot 100. Name it, as in --column forward=F." in run(network, sheet).stderr
