"""The wheel has the library's solutions in it, and works without them."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from feynkac.library.shelf import SHIPPED

ROOT = Path(__file__).parents[2]
LIMIT = 8_000_000  # bytes, of all solutions together
INSIDE = "feynkac/library/solutions/"


def build(source, target):
    """The names and sizes in the wheel of `source`, unpacked into `target`."""
    build = "import hatchling.build, sys; print(hatchling.build.build_wheel(sys.argv[1]))"
    command = [sys.executable, "-c", build, str(target)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (wheel,) = target.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target / "unpacked")
        return {entry.filename: entry.file_size for entry in archive.infolist()}


def run(wheel, code, **environment):
    """Standard output and error of a fresh interpreter that sees the unpacked wheel."""
    kept = {k: v for k, v in os.environ.items() if k not in ("FEYNKAC_LIBRARY", "PYTHONPATH")}
    kept |= {"PYTHONPATH": str(wheel / "unpacked"), **environment}
    return subprocess.run(
        [sys.executable, "-c", code], env=kept, cwd=wheel, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    target = tmp_path_factory.mktemp("whole")
    return target, build(ROOT, target)


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """The wheel of a tree without solutions."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("bare")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("solutions"))
    return target, build(source, target)


@pytest.mark.slow
def test_all_solutions_are_in_the_wheel_and_small(whole):
    _, files = whole
    shipped = {path for path in SHIPPED.rglob("*") if path.is_file()}
    expected = {INSIDE + path.relative_to(SHIPPED).as_posix() for path in shipped}
    assert expected
    assert {name for name in files if name.startswith(INSIDE)} == expected
    assert sum(files[name] for name in expected) <= LIMIT


@pytest.mark.slow
def test_one_line_gives_a_certified_price(whole):
    line = (
        "import feynkac as fk; print(fk.pretrained('black-scholes').certify("
        "x=9.5, t=0.5, sigma=0.35, strike=11.0, tolerance=0.01).verdicts)"
    )
    found = run(whole[0], line)
    assert found.stdout == "['within']\n", found.stderr


@pytest.mark.slow
def test_the_first_price_does_not_wait_for_scipy(whole):
    line = (
        "import feynkac as fk, sys; fk.pretrained('black-scholes').certify("
        "x=9.5, t=0.5, sigma=0.35, strike=11.0); "
        "print({'scipy.stats', 'scipy.special', 'scipy.optimize', 'sympy'} & sys.modules.keys())"
    )
    found = run(whole[0], line)
    assert found.stdout == "set()\n", found.stderr


@pytest.mark.slow
def test_a_wheel_without_solutions_works(bare):
    wheel, files = bare
    assert not [name for name in files if name.startswith(INSIDE)]
    found = run(wheel, "import feynkac as fk; fk.pretrained('heston')")
    assert "the library's heston is not in" in found.stderr
    assert "make library trains all" in found.stderr
    listed = run(wheel, "from feynkac.interfaces.cli import app; app(['library'])")
    assert listed.returncode == 0, listed.stderr
    assert listed.stdout.count("not trained") >= 19
    solved = "import feynkac as fk; print(fk.solve(fk.BlackScholes(), steps=1).manifest.steps)"
    assert run(wheel, solved, PYTHONWARNINGS="ignore").stdout == "1\n"
