"""The style: colours that anyone can tell apart, maps centred at zero, no trace in matplotlib."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from feynkac.plotting.style import PALETTE, panels, shades, styled, symbol

# Viénot, Brettel and Mollon (1999): linear RGB as seen without red or without green cones
PROTAN = np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]])
DEUTAN = np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]])


def linear(colour):
    c = np.array(to_rgb(colour))
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


@pytest.mark.parametrize("seen", [np.eye(3), PROTAN, DEUTAN], ids=["all", "protan", "deutan"])
def test_colours_stay_distinct(seen):
    colours = [seen @ linear(colour) for colour in PALETTE]
    gaps = [np.abs(a - b).max() for a, b in itertools.combinations(colours, 2)]
    assert min(gaps) > 0.06
    red, green = (seen @ linear(colour) for colour in ("red", "green"))
    assert seen is not DEUTAN or np.abs(red - green).max() < 0.2  # the measure sees confusion


def test_a_drawing_leaves_no_trace():
    before = dict(mpl.rcParams)
    figure = styled(lambda: panels()[0])()
    assert not figure.axes[0].spines["top"].get_visible()
    assert {k: v for k, v in mpl.rcParams.items() if v != before[k]} == {}


def test_settings_return_after_a_failure():
    def fail():
        raise RuntimeError("on purpose")

    before = dict(mpl.rcParams)
    with pytest.raises(RuntimeError, match="on purpose"):
        styled(fail)()
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(
    ("values", "ends", "cmap"),
    [
        ([-1.0, 3.0], (-3.0, 3.0), "RdBu_r"),
        ([-3.0, 1.0], (-3.0, 3.0), "RdBu_r"),
        ([1.0, 3.0], (1.0, 3.0), "viridis"),
        ([-3.0, -1.0], (-3.0, -1.0), "viridis"),
        ([-0.01, 3.0], (-0.01, 3.0), "viridis"),
        ([np.nan, -1.0, 1.0], (-1.0, 1.0), "RdBu_r"),
        ([np.nan], (0.0, 1.0), "viridis"),
        ([0.0, 0.0], (0.0, 0.0), "viridis"),
    ],
)
def test_both_signs_diverge_from_zero(values, ends, cmap):
    found = shades(np.array(values))
    assert (found["norm"].vmin, found["norm"].vmax) == ends
    assert found["cmap"] == cmap


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("sigma", "σ"),
        ("t", "time $t$"),
        ("x", "$x$"),
        ("x[3]", "$x_{3}$"),
        ("sigma[0, 2]", "$σ_{0, 2}$"),
        ("strike", "strike"),
        ("strike[1]", "strike[1]"),
        ("nu", "ν"),
    ],
)
def test_names_become_symbols(name, shown):
    assert symbol(name) == shown
