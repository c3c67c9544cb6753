"""Figures: whole PNG files that show something, and no trace left in matplotlib."""

import struct
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import image

import feynkac as fk
from feynkac import plotting
from feynkac.benchmarks.demo_figure import draw_price_and_greeks
from feynkac.errors import InputError
from feynkac.plotting.writing import write_figure
from feynkac.solution import Solution

HISTORY = [
    {
        "seconds": float(step),
        "l1": 0.5 / step,
        "l1_se": 0.01,
        "mean_baseline": 0.2,
        "linear_baseline": 0.04,
    }
    for step in range(1, 6)
]


@pytest.fixture(scope="module")
def solution() -> Solution:
    settings = {"architecture": fk.Multilevel(levels=2, factor=2), "batch_size": 32}
    return fk.solve(fk.BlackScholes(), method="paper", steps=2, evaluations=1, **settings)


def png_size(path: Path) -> tuple[int, int]:
    """Width and height from the header, after decoding the whole file."""
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content.endswith(b"IEND\xaeB`\x82")
    width, height = struct.unpack(">II", content[16:24])
    assert image.imread(path).shape[:2] == (height, width)
    return width, height


def ink(path: Path) -> float:
    """Fraction of the pixels that are not white."""
    return float((image.imread(path)[..., :3] < 0.99).any(-1).mean())


def test_the_error_curve_is_a_picture(tmp_path):
    path = write_figure(plotting.history(HISTORY), tmp_path / "error.png")
    assert path == tmp_path / "error.png"
    assert png_size(path) == (900, 600)
    assert 0.005 < ink(path) < 0.5


@pytest.mark.parametrize(
    "history",
    [
        HISTORY[:1],
        [record | {"linear_baseline": None} for record in HISTORY],
        [HISTORY[0], HISTORY[1] | {"l1": None, "l1_se": None}, HISTORY[2]],
    ],
    ids=["one point", "no linear fit", "an error that is not finite"],
)
def test_an_incomplete_history_is_drawn(tmp_path, history):
    assert png_size(write_figure(plotting.history(history), tmp_path / "error.png")) == (900, 600)


def test_the_curve_shows_the_errors(tmp_path):
    write_figure(plotting.history(HISTORY), tmp_path / "a.png")
    write_figure(plotting.history([r | {"l1": 0.1} for r in HISTORY]), tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() != (tmp_path / "b.png").read_bytes()


def test_price_and_greeks_are_a_picture(tmp_path, solution):
    path = write_figure(draw_price_and_greeks(solution), tmp_path / "greeks.png")
    assert png_size(path) == (1740, 780)
    assert 0.01 < ink(path) < 0.5


def test_drawing_changes_no_default(tmp_path, solution):
    before = dict(mpl.rcParams)
    write_figure(plotting.history(HISTORY), tmp_path / "error.png")
    write_figure(draw_price_and_greeks(solution), tmp_path / "greeks.png")
    assert {k: v for k, v in mpl.rcParams.items() if v != before[k]} == {}


def test_a_figure_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"cannot write .*error\.png: No such file"):
        write_figure(plotting.history(HISTORY), tmp_path / "nowhere" / "error.png")
