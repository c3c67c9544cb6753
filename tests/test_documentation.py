"""What README, docs and examples say is so: their snippets run, their links lead somewhere."""

import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import feynkac
from feynkac.benchmarks.bench import ENTRIES
from feynkac.benchmarks.bench_table import Bench
from feynkac.interfaces.cli import app
from feynkac.runs.artifact import MANIFEST

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "AGENTS.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
GALLERY = ROOT / "docs" / "gallery"  # executed by tests/test_gallery.py
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
BENCHMARKS = {
    "training_step.py": ["--batch-size=64", "--rounds=1"],
    "reference_memory.py": ["--paths=1000"],
    "asking.py": ["--certificates=2", "--samples=1000"],
    "workers.py": ["--steps=3", "--rounds=1"],
    "calibration.py": ["--rounds=1"],
    "service_cases.py": ["--steps=2", "--examples=1"],
    "service_load.py": ["--steps=2", "--seconds=1", "--soak=0.1"],
}

BLOCK = re.compile(r"^(<!-- no-test -->\n+)?```(python|console)\n(.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.M)
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


def name_of(path):
    return path.name


def snippets(page):
    """The (language, text) of all blocks that are not marked as too long for a test."""
    found = BLOCK.findall(page.read_text())
    return [(language, text) for too_long, language, text in found if not too_long]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory that looks like the project's root to a reader's commands."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


LONG = {
    *("README", "get-started", "method", "calibration", "export", "greeks", "shape"),
    *("implied-volatility", "certificates", "mean_reverting", "heun"),
}
"""Pages whose snippets take more than four seconds of a processor, and examples that do."""


def marked(page):
    return pytest.param(page, marks=pytest.mark.slow) if page.stem in LONG else page


@pytest.mark.parametrize(
    "page",
    [marked(p) for p in PAGES if snippets(p) and p.parent != GALLERY],
    ids=name_of,
)
def test_snippets_of_a_page_run_from_top_to_bottom(page, folder, trained):
    namespace = {"__name__": page.stem}
    for language, text in snippets(page):
        if language == "python":
            exec(compile(text, str(page), "exec"), namespace)
        else:
            run_console(text, trained)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The runs of all pages: what several of them train by the same command is trained once."""
    return tmp_path_factory.mktemp("trained")


def run_console(text, trained):
    """Run the `$ feynkac …` lines; what is shown below them must be what they say."""
    for command, shown in COMMAND.findall(text):
        program, *arguments = shlex.split(command)
        if program == "feynkac" and not (shown == "" and taken(arguments, trained)):
            result = CliRunner().invoke(app, arguments)
            assert result.exit_code == (2 if shown.startswith("error:") else 0), result.output
            said = [words(line) for line in result.output.splitlines()]
            missing = [line for line in shown.splitlines() if words(line) not in said]
            assert not missing, result.output
            keep(arguments, trained)


def taken(arguments, trained):
    """Whether `feynkac solve …` was run by another page, whose run is then copied."""
    if arguments[0] != "solve" or not (trained / key(arguments)).exists():
        return False
    shutil.copytree(trained / key(arguments), arguments[-1])
    return True


def keep(arguments, trained):
    """What `feynkac solve … --out FOLDER` wrote, for `taken`."""
    if arguments[0] == "solve" and arguments[-2] == "--out" and Path(arguments[-1]).exists():
        shutil.copytree(arguments[-1], trained / key(arguments), dirs_exist_ok=True)


def key(arguments):
    return shlex.join(arguments).replace("/", " ")


def test_what_another_page_trained_is_the_run_of_the_same_command(folder, trained):
    command = "feynkac solve black-scholes --steps 2 --batch-size 64 --out runs/put"
    run_console(f"$ {command}\n", trained)
    written = Path("runs/put") / MANIFEST
    before = written.read_text()
    shutil.rmtree("runs")
    assert not taken(shlex.split(command.replace("2", "3"))[1:], trained)
    assert taken(shlex.split(command)[1:], trained)
    assert written.read_text() == before


def words(line):
    """The words of a line without its numbers, which differ between machines."""
    return re.findall(r"[^\W\d]+", line)


def test_words_see_a_changed_name_but_not_a_changed_number():
    assert words("│ seconds │ 1.0 │") == words("│ seconds │   12.5 │")
    assert words("│ seconds │ 1.0 │") != words("│ minutes │ 1.0 │")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_code_block_is_well_formed_enough_to_be_tested(page):
    opened = re.findall(r"^\s*```(?:python|console)", page.read_text(), re.M)
    assert len(BLOCK.findall(page.read_text())) == len(opened)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links_lead_to_files(page):
    targets = [t for t in LINK.findall(page.read_text()) if "://" not in t]
    assert [t for t in targets if not (page.parent / t).exists()] == []


@pytest.mark.parametrize("example", [marked(e) for e in EXAMPLES], ids=name_of)
def test_examples_run(example, folder, capsys):
    runpy.run_path(str(example), run_name="__main__")
    assert "L1 error" in capsys.readouterr().out


def test_the_api_page_lists_exactly_the_public_names():
    page = (ROOT / "docs" / "api.md").read_text()
    listed = re.findall(r"^:::\s+feynkac\.(\w+)$|^### \w+ \{ #feynkac\.(\w+) \}$", page, re.M)
    assert sorted(a or b for a, b in listed) == sorted(feynkac.__all__)


def test_the_map_names_every_file_of_the_source():
    named = re.findall(r"\w+", (ROOT / "AGENTS.md").read_text())
    modules = [p for p in (ROOT / "src" / "feynkac").rglob("*.py") if p.name != "__init__.py"]
    assert [p.name for p in modules if p.stem not in named] == []


@pytest.mark.slow
@pytest.mark.parametrize("script", BENCHMARKS)
def test_benchmarks_print_one_json_object(script):
    command = [sys.executable, ROOT / "benchmarks" / script, "--json", *BENCHMARKS[script]]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figure = {
        "training_step.py": "ratio",
        "reference_memory.py": "extra_mb",
        "asking.py": "ratio_at_equal_accuracy",
        "workers.py": "ratio",
        "calibration.py": "rows",
        "service_load.py": "loads",
    }
    assert figure[script] in json.loads(result.stdout)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site; the tool writes beside its configuration only, so that all is copied."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("docs", "src"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "mkdocs.yml", folder)
    (folder / "benchmarks").mkdir()
    shutil.copy(ROOT / "benchmarks/griffe_examples.py", folder / "benchmarks")
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "site"


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_asks_no_other_server(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 50
    for page in pages:
        assert not re.search(r"<(script|link|img)[^>]*(src|href)=.?https?://", page.read_text())


@pytest.mark.slow
def test_formulas_reach_the_page_as_mathematics(site):
    method = (site / "method" / "index.html").read_text()
    assert method.count('class="arithmatex"') > 50
    assert "assets/katex/katex.min.js" in method
    assert (site / "assets" / "katex" / "fonts" / "KaTeX_Main-Regular.woff2").stat().st_size > 0


FORMULA = re.compile(r"[Α-Ωα-ω∂∇∫∑√‖²³⁰-⁹₀-₉ᵢⱼ½⟨⟩∞]|\b[a-zA-Z]_[a-zA-Z{]|\^\{")
GUIDES = sorted({*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "models").glob("*.md")})


def prose(text):
    """A page without code, mathematics, comments and addresses."""
    code, mathematics = (r"^```.*?^```", r"`[^`\n]*`"), (r"\$\$.*?\$\$", r"\$[^$]*?\$")
    for gone in (*code, *mathematics, r"\]\([^)]*\)", r"<!--.*?-->"):
        text = re.sub(gone, " ", text, flags=re.M | re.S)
    return text


def test_prose_is_what_is_left():
    assert FORMULA.search(prose("the mean of φ(S_t) and `x²`")).group() == "φ"
    assert not FORMULA.search(prose("the mean of $φ(S_t)$, `x²`, and\n\n$$\n∂u/∂t = 0\n$$\n"))


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_guides_have_no_formula_as_text(page):
    found = [line for line in prose(page.read_text()).splitlines() if FORMULA.search(line)]
    assert found == []


def test_the_readme_shows_what_the_benchmark_printed():
    kept = json.loads((ROOT / "docs" / "results" / "bench.json").read_text())
    assert Bench.read(kept).markdown() in (ROOT / "README.md").read_text()


def test_the_landing_page_shows_what_the_benchmark_printed():
    kept = Bench.read(json.loads((ROOT / "docs" / "results" / "bench.json").read_text()))
    page = (ROOT / "docs" / "index.md").read_text()
    for row in kept.rows:
        if "EM-25" not in row.name:
            error = f"{row.l1:.1e}" if row.l1 < 0.001 else f"{row.l1:.2g}"
            others = f"{row.published_l1:g} | {row.seconds:.0f} | {row.gpu_seconds:,.0f}"
            assert f"| {error} | {others} |" in page


def test_the_published_benchmark_kept_its_budgets():
    kept = Bench.read(json.loads((ROOT / "docs" / "results" / "bench.json").read_text()))
    for row in kept.rows:
        budget = next(entry.budget for entry in ENTRIES if entry.name == row.name)
        assert len(row.seconds_by_seed) == kept.seeds == 4
        assert row.seconds_by_seed == pytest.approx([budget] * 4, rel=0.05)
