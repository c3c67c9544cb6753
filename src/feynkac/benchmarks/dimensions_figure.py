"""Figure 9 of the paper, for one study."""

from matplotlib.figure import Figure

from feynkac.benchmarks.dimensions import Study
from feynkac.plotting.style import panels, styled


@styled
def draw_scaling(study: Study) -> Figure:
    """Steps and cost against the number of inputs, log-log, with their slopes (Figure 9)."""
    figure, grid = panels(1, 2, panel=(4.6, 3.8))
    inputs = [point.inputs for point in study.reached]
    quantities = (
        ("steps", [point.steps for point in study.reached], study.steps_slope),
        ("parameters × steps", [point.cost for point in study.reached], study.cost_slope),
    )
    for axes, (label, values, slope) in zip(grid, quantities, strict=True):
        axes.loglog(inputs, values, "o-")
        title = "" if slope is None else f"slope {slope:.2f}"
        axes.set(
            xlabel="inputs 1 + d + d²", ylabel=f"{label} to L1 = {study.target:g}", title=title
        )
    return figure
