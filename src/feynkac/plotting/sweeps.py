"""Value and Greeks along one variable as curves, along two as maps."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from feynkac.analysis.sweep import Sweep
from feynkac.errors import InputError
from feynkac.plotting.style import ALONE, BLACK, PANEL, panels, shades, styled, symbol

MOST_COLUMNS = 3
CONTOURS = 7
LINES: dict[str, Any] = {"colors": BLACK, "linewidths": 0.5, "alpha": 0.6}


@styled
def sweep(found: Sweep, only: str | Sequence[str] = ()) -> Figure:
    """A panel per quantity: curves along one variable, maps along two; `only` chooses some."""
    return curve(found, only) if len(found.over) == 1 else surface(found, only)


@styled
def curve(
    found: Sweep, only: str | Sequence[str] = (), exact: Mapping[str, Tensor] | None = None
) -> Figure:
    """Each quantity along the one variable; `exact` has values to compare with, by name."""
    _check(found, 1, "curve")
    ((name, axis),) = found.over.items()
    truth = exact or {}

    def draw(axes: Axes, quantity: str, values: np.ndarray) -> None:
        if quantity in truth:
            axes.plot(axis, truth[quantity], color=BLACK, lw=4.5, alpha=0.25, label="closed form")
        axes.plot(axis, values, label="network")
        if (values < 0.0).any() and (values > 0.0).any():
            axes.axhline(0.0, color=BLACK, lw=0.8)
        axes.set(xlabel=symbol(name), title=quantity)
        axes.margins(x=0.0)

    figure = _draw_panels(found, only, draw)
    if set(truth) & set(found.values):
        figure.axes[0].legend()
    return figure


@styled
def surface(found: Sweep, only: str | Sequence[str] = ()) -> Figure:
    """Each quantity over the plane of the two variables; white is zero where signs differ."""
    _check(found, 2, "surface")
    (first, across), (second, up) = found.over.items()

    def draw(axes: Axes, quantity: str, values: np.ndarray) -> None:
        image = axes.pcolormesh(
            across.numpy(), up.numpy(), values.T, shading="gouraud", **shades(values)
        )
        axes.contour(across.numpy(), up.numpy(), values.T, CONTOURS, **LINES)
        axes.figure.colorbar(image, ax=axes)
        axes.set(xlabel=symbol(first), ylabel=symbol(second), title=quantity)
        axes.grid(False)

    return _draw_panels(found, only, draw)


def _check(found: Sweep, axes: int, name: str) -> None:
    if len(found.over) != axes:
        raise InputError(
            f"a {name} needs a sweep over {axes} variable{'s' * (axes > 1)}, got {len(found.over)}."
        )


def _draw_panels(
    found: Sweep, only: str | Sequence[str], draw: Callable[[Axes, str, np.ndarray], None]
) -> Figure:
    """A panel per quantity, the fixed variables above all of them."""
    shown = _chosen(found, only)
    columns = min(MOST_COLUMNS, len(shown))
    size = ALONE if len(shown) == 1 else PANEL
    figure, grid = panels(-(-len(shown) // columns), columns, panel=size)
    for axes, (quantity, values) in zip(grid, shown.items(), strict=False):
        draw(axes, quantity, values.detach().cpu().double().numpy())
    for axes in grid[len(shown) :]:
        axes.axis("off")
    fixed = [f"{symbol(n)} = {v:g}" for n, v in found.at.items() if np.ndim(v) == 0]
    figure.suptitle(",  ".join(fixed).replace("time ", ""))
    return figure


def _chosen(found: Sweep, only: str | Sequence[str]) -> dict[str, Tensor]:
    names = [only] if isinstance(only, str) else list(only) or list(found.values)
    if unknown := [name for name in names if name not in found.values]:
        known = ", ".join(found.values)
        raise InputError(f"there is no {unknown[0]!r} to draw; there are: {known}.")
    return {name: found.values[name] for name in names}
