"""How the error fell while a solution was trained."""

import math
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from feynkac.plotting.style import GREY, panels, styled

BASELINES = {"mean_baseline": "the mean of u", "linear_baseline": "a linear fit"}


@styled
def history(records: Sequence[Mapping[str, float | int | None]]) -> Figure:
    """L1 error with its standard error against seconds, and the trivial baselines."""
    figure, (axes,) = panels(panel=(6.0, 4.0))
    seconds, l1, l1_se = (_column(records, name) for name in ("seconds", "l1", "l1_se"))
    axes.errorbar(seconds, l1, l1_se, marker="o")
    for name, label in BASELINES.items():
        if (level := records[-1][name]) is not None:
            axes.axhline(level, ls="--", lw=1.2, color=GREY)
            axes.annotate(
                label,
                (1.0, level),
                (0, 3),
                xycoords=axes.get_yaxis_transform(),
                textcoords="offset points",
                ha="right",
                color=GREY,
            )
    axes.set(yscale="log", xlabel="seconds of training", ylabel="mean error L1, Eq. (9)")
    axes.set_title("Error while training")
    return figure


def _column(records: Sequence[Mapping[str, float | int | None]], name: str) -> list[float]:
    return [math.nan if (value := record[name]) is None else value for record in records]
