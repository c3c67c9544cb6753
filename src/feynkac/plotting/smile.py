"""Smiles: implied volatility along the strike, one line per maturity; or a surface."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from feynkac.errors import InputError
from feynkac.families.scaling import homogeneous
from feynkac.families.values import At, by_name
from feynkac.plotting.style import BLACK, panels, shades, styled, symbol
from feynkac.solution_map import SolutionMap

MATURITIES = 5
POINTS = 61


@styled
def smile(
    solution: SolutionMap,
    at: At = None,
    /,
    *,
    over: str | None = None,
    maturities: Sequence[float] | None = None,
    **named: Any,
) -> Figure:
    """Implied volatility over the range of a variable, one line per maturity.

    Args:
        solution: of a `Quoted` family.
        at: the other variables by name, one value each.
        over: the variable of the horizontal axis; by default the strike, or the asset if prices
            are known at one strike only.
        maturities: values of t; by default five, from a twentieth of the range to its end.
        named: other variables as keywords.

    Gaps are where the price has no volatility.
    """
    times, others = _times(solution, maturities), by_name(at, named)
    over, numbers = _axis(solution, over, others)
    table = implied_table(solution, others, over, numbers, times)
    figure, (axes,) = panels(panel=(6.0, 4.0))
    colours = colormaps["viridis"].resampled(len(times) + 1)
    for number, (t, line) in enumerate(zip(times, table, strict=True)):
        axes.plot(numbers, line.tolist(), color=colours(number), label=f"t = {t:.3g}")
    axes.set(xlabel=symbol(over), ylabel="implied volatility")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.margins(x=0.0)
    figure.legend(loc="outside right upper")
    return figure


@styled
def volatility_surface(
    solution: SolutionMap, at: At = None, /, *, over: str | None = None, **named: Any
) -> Figure:
    """Implied volatility over the ranges of a variable and of t, as colours with level lines.

    Args: as of `smile`.
    """
    low, high = _range(solution, "t")
    times = [low + (high - low) * (0.02 + 0.98 * i / (POINTS - 1)) for i in range(POINTS)]
    others = by_name(at, named)
    over, numbers = _axis(solution, over, others)
    table = implied_table(solution, others, over, numbers, times)
    figure, (axes,) = panels(panel=(6.0, 4.0))
    image = axes.pcolormesh(
        numbers, times, table.tolist(), shading="gouraud", **shades(table.numpy())
    )
    if table.isfinite().all():
        axes.contour(numbers, times, table.tolist(), colors=BLACK, linewidths=0.5)
    figure.colorbar(image, label="implied volatility", format=PercentFormatter(1.0))
    axes.set(xlabel=symbol(over), ylabel=symbol("t"))
    axes.grid(False)
    return figure


def implied_table(
    solution: SolutionMap,
    others: Mapping[str, Any],
    over: str,
    numbers: Sequence[float],
    times: Sequence[float],
) -> torch.Tensor:
    """Implied volatilities.  Shape: `(times, numbers)`, NaN where there is none."""
    if clash := {over, "t"} & others.keys():
        raise InputError(f"{sorted(clash)[0]} is drawn along an axis; do not give a value for it.")
    where = {over: torch.tensor(numbers), "t": torch.tensor(times)[:, None]}
    with torch.no_grad():
        return solution.implied_volatility({**others, **where}, extrapolate=True)


def _times(solution: SolutionMap, maturities: Sequence[float] | None) -> list[float]:
    low, high = _range(solution, "t")
    if maturities is not None:
        times = [float(t) for t in maturities]
        if not times or any(not low <= t <= high for t in times):
            raise InputError(f"maturities: give one or more times between {low:g} and {high:g}.")
        return times
    shares = torch.logspace(torch.tensor(0.05).log10().item(), 0.0, MATURITIES).tolist()
    return [low + (high - low) * share for share in shares]


def _axis(
    solution: SolutionMap, name: str | None, others: Mapping[str, Any]
) -> tuple[str, list[float]]:
    """The variable to draw along, and its values."""
    domain = solution.family.domain
    asset = domain.entries[0]
    name = name or ("strike" if "strike" in domain.measures else asset)
    level = _ends(solution, name)
    if name == "strike" and level[0] == level[1]:  # the price may be known at any level
        low, high = _ends(solution, asset)
        if (spot := _spot(others, asset)) and homogeneous(solution.family):
            level = (level[0] * spot / high, level[0] * spot / low)
        elif spot is None:
            name, level = asset, (low, high)
    low, high = _varying(name, *level)
    return name, [low + (high - low) * i / (POINTS - 1) for i in range(POINTS)]


def _spot(others: Mapping[str, Any], asset: str) -> float | None:
    """The price of the asset, if it is given."""
    given = others.get(asset, others.get(asset.partition("[")[0]))
    return None if given is None else float(torch.as_tensor(given).flatten()[0])


def _range(solution: SolutionMap, name: str) -> tuple[float, float]:
    return _varying(name, *_ends(solution, name))


def _varying(name: str, low: float, high: float) -> tuple[float, float]:
    if low == high:
        raise InputError(
            f"{name} is fixed at {low:g}; choose a variable that varies, such as the price of "
            "the asset (leave its value out then)."
        )
    return low, high


def _ends(solution: SolutionMap, name: str) -> tuple[float, float]:
    domain = solution.family.domain
    place = domain.place(name)
    if place.size != 1:
        raise InputError(f"{name} has several entries; name one of them, such as {name}[0].")
    low, high = (side[place.columns].item() for side in domain.bounds)
    return low, high
