"""The style of every figure: one size per panel, quiet axes, colours that anyone can tell apart.

Lines have the colours of Okabe and Ito (2008), which stay distinct with any colour vision. A map of
values with both signs is blue below zero, red above and white at zero; any other map is viridis.
"""

import functools
import io
import unicodedata
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np
from cycler import cycler
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import CenteredNorm, Normalize
from matplotlib.figure import Figure

BLACK, GREY = "#000000", "#767676"
BLUE, VERMILION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
PURPLE, SKY = "#CC79A7", "#56B4E9"
PALETTE = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BLACK)

PANEL = (3.5, 2.9)
"""Width and height of one panel in inches."""
ALONE = (5.6, 4.0)
"""Of a panel that has the figure to itself."""
DPI = 150
ONE_SIGN = 0.05
"""Values of the rarer sign below this share of the largest value are rounding around zero."""

SETTINGS: Any = {
    "axes.axisbelow": True,
    "axes.formatter.limits": (-3, 4),
    "axes.formatter.use_mathtext": True,
    "axes.grid": True,
    "axes.labelsize": 11,
    "axes.prop_cycle": cycler(color=PALETTE),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "errorbar.capsize": 0,
    "figure.titlesize": 12,
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same picture on every machine
    "font.size": 10.5,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.7,
    "image.cmap": "viridis",
    "legend.fontsize": 10,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
}

P = ParamSpec("P")
R = TypeVar("R")


class Picture(Figure):
    """A figure that notebooks show by themselves, without pyplot.

    Example:
        >>> Picture(figsize=(1.0, 1.0))._repr_png_()[1]
        {'width': 100, 'height': 100}
    """

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Sharp on fine screens: more pixels than its size on the page."""
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=DPI)
        width, height = (round(100 * inches) for inches in self.get_size_inches())
        return content.getvalue(), {"width": width, "height": height}


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """`draw` in this style; matplotlib's own settings stay as they are.

    Example:
        >>> styled(lambda: panels()[0].axes[0].spines["top"].get_visible())()
        False
    """

    @functools.wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> R:
        with rc_context(SETTINGS):
            return draw(*args, **kwargs)

    return drawn


def panels(
    rows: int = 1, columns: int = 1, *, panel: tuple[float, float] = PANEL, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure of `rows` × `columns` panels, and its axes row by row.

    Example:
        >>> figure, axes = panels(2, 3)
        >>> len(axes), figure.get_size_inches().tolist()
        (6, [10.5, 5.8])
    """
    width, height = panel
    figure = Picture(figsize=(width * columns, height * rows), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False, **options).flat)


def shades(values: np.ndarray) -> dict[str, Any]:
    """Colour map and range for `values`: diverging around zero where they have both signs.

    Example:
        >>> shades(np.array([-1.0, 3.0]))["norm"].vmin, shades(np.array([1.0, 3.0]))["norm"].vmin
        (-3.0, 1.0)
    """
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    if min(-low, high) > ONE_SIGN * max(-low, high):
        return {"cmap": "RdBu_r", "norm": CenteredNorm(0.0, max(-low, high))}
    return {"cmap": "viridis", "norm": Normalize(low, high)}


def symbol(name: str) -> str:
    """A variable as a reader writes it.

    Example:
        >>> symbol("sigma"), symbol("t"), symbol("x[0]"), symbol("strike")
        ('σ', 'time $t$', '$x_{0}$', 'strike')
    """
    stem, bracket, index = name.partition("[")
    try:
        letter = unicodedata.lookup(f"GREEK SMALL LETTER {stem}")
    except KeyError:
        letter = f"${stem}$" if len(stem) == 1 else stem
    if bracket:
        return f"${letter.strip('$')}_{{{index.rstrip(']')}}}$" if len(letter) <= 3 else name
    return f"time {letter}" if name == "t" else letter
