"""A figure of the progress of a search."""

import itertools
import math
from collections.abc import Sequence

from matplotlib.figure import Figure

from feynkac.plotting.style import GREY, VERMILION, panels, styled
from feynkac.tuning.search_report import Row, best_so_far


@styled
def draw_search(rows: Sequence[Row]) -> Figure:
    """The smallest error so far against seconds of training, with each trial and the default."""
    figure, (axes,) = panels(panel=(6.0, 4.0))
    times, errors = best_so_far(rows)
    axes.step(times, errors, where="post", label="best so far")
    ends = itertools.accumulate(row.last.get("seconds") or 0.0 for row in rows)
    for row, end in zip(rows, ends, strict=True):
        style = "full" if row.status == "finished" else "none"
        axes.plot(end, row.l1, "o", ms=4, color=VERMILION, fillstyle=style)
        axes.annotate(str(row.number), (end, row.l1), va="bottom", color=GREY, fontsize=8)
    axes.plot([], [], "o", ms=4, color=VERMILION, label="a trial (hollow: stopped early)")
    if rows and math.isfinite(rows[0].l1):
        axes.axhline(rows[0].l1, ls=":", color=GREY, label="default")
    axes.set(yscale="log", xlabel="seconds of training, trial after trial", ylabel="L1, Eq. (9)")
    axes.legend()
    return figure
