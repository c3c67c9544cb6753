"""A figure of price and Greeks of Black–Scholes beside the closed form."""

from typing import Any

import torch
from matplotlib.figure import Figure

from feynkac.analysis.partials import greek_value
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.solution import Solution


def draw_price_and_greeks(solution: Solution) -> Figure:
    """Price and Greeks of a Black–Scholes solution along x and t against the closed form.

    The points are the paper's: t = 0.5 or x = 9.5, σ = 0.35, K = 11.
    """
    family = solution.family
    assert isinstance(family, BlackScholes)
    names = ["price", *family.greeks]
    figure = Figure(figsize=(16, 6), layout="constrained")
    grid = figure.subplots(2, len(names))
    fixed = {"sigma": 0.35, "strike": 11.0}
    lines: tuple[dict[str, Any], ...] = (
        {"x": torch.linspace(9.0, 10.0, 101), "t": 0.5, **fixed},
        {"x": 9.5, "t": torch.linspace(0.0, 1.0, 101), **fixed},
    )
    for row, at, variable in zip(grid, lines, ("x", "t"), strict=True):
        inputs = family.domain.join(at)
        computed = {"price": solution(**at), **solution.greeks(**at)}
        for axes, name in zip(row, names, strict=True):
            axes.plot(
                at[variable], closed_value(family, name, inputs), color="black", label="closed form"
            )
            axes.plot(at[variable], computed[name], "--", color="tab:red", label="network")
            axes.set(xlabel=variable, title=name)
    grid[0, 0].legend()
    figure.suptitle(
        "Black–Scholes put at σ = 0.35, K = 11: one network, its derivatives by autodiff"
    )
    return figure


def closed_value(family: BlackScholes, name: str, inputs: torch.Tensor) -> torch.Tensor:
    """The closed form's price, or one of its Greeks by name.  Shape: `(…, dim)` → `(…,)`."""

    def u(flat: torch.Tensor) -> torch.Tensor:
        return family.closed_form(*family.domain.split(flat))

    if name == "price":
        return u(inputs).squeeze(-1)
    return greek_value(u, family.domain, family.greeks[name], inputs)
