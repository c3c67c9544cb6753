"""What results say of themselves: short in a shell, a whole and safe table in a notebook."""

import dataclasses
import xml.etree.ElementTree as ET

import pytest

import feynkac as fk
from feynkac.cards import LONGEST, Card


def parsed(html):
    """As XML, which HTML of this kind is."""
    return ET.fromstring(html.replace("&nbsp;", " "))


def test_text_has_at_most_three_lines():
    assert Card("title", ["a", "b", "c"]).text() == "title\n  a\n  b"


def test_long_lines_are_cut():
    text = Card("t" * 500, ["l" * 500]).text()
    assert all(len(line) <= LONGEST + 2 for line in text.splitlines())
    assert text.count("…") == 2


def test_what_users_name_cannot_break_the_page():
    html = Card("<b>", rows={"<script>": "1 < 2 & 3"}, warnings=["a < b"]).html()
    found = parsed(html)
    assert "<script>" in [cell.text for cell in found.iter("td")]
    assert not list(found.iter("script"))


def test_a_long_table_is_cut():
    html = Card("t", rows={str(i): "1" for i in range(100)}).html()
    assert len(list(parsed(html).iter("tr"))) == 13
    assert "88 more" in html


@pytest.fixture(scope="module")
def solution():
    return fk.solve(fk.BlackScholes(), steps=3, batch_size=64, evaluations=1)


def market_fit():
    """To a sheet of three maturities and 120 strikes."""
    strikes = [80.0 + i / 3.0 for i in range(120)]
    sheet = {
        "strike": strikes * 3,
        "maturity": ["3M"] * 120 + ["6M"] * 120 + ["1Y"] * 120,
        "iv": [0.2 + 1e-4 * (i % 7) for i in range(360)],
    }
    found = fk.pretrained("black-scholes-merton")
    return found.calibrate(fk.read_quotes(sheet, spot=100.0))


@pytest.fixture(scope="module")
def shown(solution):
    """One of each result, larger than anybody wants to read."""
    at = {"x": 9.5, "t": 0.5, "strike": 11.0}
    problem = solution.observe(["sigma"], [1.9, 1.8] * 500, at, noise=0.1)
    found = solution.calibrate(problem)
    few = solution.observe(["sigma"], [1.9, 1.8] * 5, at, noise=0.1)
    many = {"x": [9.5] * 200, "t": 0.5, "sigma": 0.3, "strike": 11.0}
    return {
        "Solution": solution,
        "Errors": solution.error(64),
        "Certificate": solution.certify(many, effort=fk.Effort(seconds=0.001)),
        "Problem": problem,
        "Calibration": found,
        "Posterior": solution.posterior(few, solution.calibrate(few), steps=100),
        "ErrorMap": solution.error_map(8),
        "Uncertainty": solution.uncertainty(samples=256),
        "SobolIndices": solution.sobol_indices(base=16),
        "Checkup": fk.check(fk.HeatGaussian(dim=2)),
        "MarketFit": market_fit(),
    }


RESULTS = [
    *("Solution", "Errors", "Certificate", "Problem", "Calibration", "Posterior", "ErrorMap"),
    *("Uncertainty", "SobolIndices", "Checkup", "MarketFit"),
]


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_is_short_in_a_shell_and_whole_in_a_notebook(shown, name):
    text = repr(shown[name])
    assert 1 <= len(text.splitlines()) <= 3
    assert len(text) <= 3 * (LONGEST + 3)
    assert "array" not in text
    assert "tensor" not in text
    found = parsed(shown[name]._repr_html_())
    assert len(list(found.iter("tr"))) >= 2


@pytest.mark.parametrize("name", [name for name in RESULTS if name != "Checkup"])
def test_results_have_pictures(shown, name):
    assert list(parsed(shown[name]._repr_html_()).iter("{http://www.w3.org/2000/svg}svg"))


def test_every_public_dataclass_that_holds_arrays_or_networks_is_among_them():
    """A new result is to be added above."""
    long = ("Tensor", "Array", "Network", "dict", "list", "Manifest")
    found = set()
    for name in fk.__all__:
        kind = getattr(fk, name)
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            types = [str(field.type) for field in dataclasses.fields(kind)]
            if any(word in text for text in types for word in long):
                found.add(name)
    settings = {"Space", "Progress", "Sampled"}
    formulas = {"Quote", "Bounded"}  # what families return of themselves
    assert found - settings - formulas <= set(RESULTS)


@pytest.mark.parametrize(
    "family", [fk.BlackScholes(), fk.BasketPut(), fk.Heston(), fk.BlackScholes().on(x=9.5)]
)
def test_families_and_domains_have_tables(family):
    found = parsed(family._repr_html_())
    assert [cell.text for cell in found.iter("td")][::2] == [
        *family.domain.measures,
        "closed form",
        "exact sampler",
    ]
    rows = [cell.text for cell in parsed(family.domain._repr_html_()).iter("td")]
    assert rows[::2] == [*family.domain.measures]
    assert len(repr(family)) < 100


def test_a_family_whose_formula_fails_is_shown_without_a_picture():
    @dataclasses.dataclass(frozen=True)
    class Broken(fk.Family):
        @property
        def domain(self):
            return fk.Domain(x=fk.Box(0, 1), t=fk.Box(0, 1))

        def drift(self, x, p):
            return 0.0

        def diffusion(self, x, dw, p):
            return dw

        def initial(self, x, p):
            raise RuntimeError

    assert "svg" not in Broken()._repr_html_()
    assert "0 … 1" in Broken()._repr_html_()


def test_the_card_of_a_solution_says_what_the_manifest_says(solution):
    text = repr(solution)
    assert text.startswith("Solution of BlackScholes(dim=1): L1 error ")
    assert "x 9 … 10; t 0 … 1; sigma 0.1 … 0.6; strike 10 … 12" in text
    assert f"3 steps in {solution.manifest.seconds:.1f} s" in text
    assert "Manifest of black-scholes" in repr(solution.manifest)
