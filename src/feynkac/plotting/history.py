"""How the error fell while a solution was trained."""

import math
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure


def history(records: Sequence[Mapping[str, float | int | None]]) -> Figure:
    """L1 error with its standard error against seconds, and the trivial baselines."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    seconds, l1, l1_se = (_column(records, name) for name in ("seconds", "l1", "l1_se"))
    axes.errorbar(seconds, l1, l1_se, marker="o", ms=3)
    for name in ("mean_baseline", "linear_baseline"):
        if (level := records[-1][name]) is not None:
            axes.axhline(level, ls=":", color="grey")
            label = name.replace("_", " ")
            axes.annotate(label, (seconds[0], level), va="bottom", color="grey")
    axes.set(yscale="log", xlabel="seconds", ylabel="L1 error, Eq. (9)")
    return figure


def _column(records: Sequence[Mapping[str, float | int | None]], name: str) -> list[float]:
    return [math.nan if (value := record[name]) is None else value for record in records]
