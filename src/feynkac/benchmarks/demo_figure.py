"""A figure of price and Greeks of Black–Scholes beside the closed form."""

from typing import Any

import torch
from matplotlib.figure import Figure

from feynkac.analysis.partials import greek_value
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.plotting.style import BLACK, BLUE, panels, styled, symbol
from feynkac.solution import Solution

QUANTITIES = {
    "price": "price $u$",
    "delta": "delta $∂u/∂x$",
    "gamma": "gamma $∂²u/∂x²$",
    "vega": "vega $∂u/∂σ$",
}


@styled
def draw_price_and_greeks(solution: Solution) -> Figure:
    """Price and Greeks of a Black–Scholes solution along x and t against the closed form.

    The points are the paper's: t = 0.5 or x = 9.5, σ = 0.35, K = 11.
    """
    family = solution.family
    assert isinstance(family, BlackScholes)
    figure, grid = panels(2, len(QUANTITIES), panel=(2.9, 2.6))
    fixed = {"sigma": 0.35, "strike": 11.0}
    lines: tuple[dict[str, Any], ...] = (
        {"x": torch.linspace(9.0, 10.0, 101), "t": 0.5, **fixed},
        {"x": 9.5, "t": torch.linspace(0.0, 1.0, 101), **fixed},
    )
    rows = grid[: len(QUANTITIES)], grid[len(QUANTITIES) :]
    for row, at, variable in zip(rows, lines, ("x", "t"), strict=True):
        inputs = family.domain.join(at)
        computed = {"price": solution(**at), **solution.greeks(**at)}
        for axes, (name, title) in zip(row, QUANTITIES.items(), strict=True):
            exact = closed_value(family, name, inputs)
            axes.plot(at[variable], exact, color=BLACK, lw=5, alpha=0.25, label="closed form")
            axes.plot(at[variable], computed[name], color=BLUE, label="network")
            axes.set(xlabel=symbol(variable))
            axes.set_title(title if variable == "x" else "", weight="normal")
            axes.margins(x=0.0)
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    figure.suptitle(
        "One network for all Black–Scholes puts; here σ = 0.35, K = 11", x=0.01, ha="left"
    )
    return figure


def closed_value(family: BlackScholes, name: str, inputs: torch.Tensor) -> torch.Tensor:
    """The closed form's price, or one of its Greeks by name.  Shape: `(…, dim)` → `(…,)`."""

    def u(flat: torch.Tensor) -> torch.Tensor:
        return family.closed_form(*family.domain.split(flat))

    if name == "price":
        return u(inputs).squeeze(-1)
    return greek_value(u, family.domain, family.greeks[name], inputs)
