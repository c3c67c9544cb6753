"""The demonstration: Black–Scholes by the fast method, in about twenty seconds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from feynkac.analysis.rounding import figure, number
from feynkac.errors import InputError
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.solver import solve
from feynkac.training.loop import Progress

PAPER_L1 = "0.0011 ± 0.0001"
PAPER_TIME = "2827 s on two V100"


def run_demo(
    folder: Path,
    seed: int = 0,
    report: Callable[[Progress], None] | None = None,
    *,
    steps: int = 1000,
) -> dict[str, Any]:
    """Solve, measure, draw; returns the table (columns, rows), the figures and the errors."""
    try:
        from feynkac import plotting
        from feynkac.benchmarks.demo_figure import draw_price_and_greeks
        from feynkac.plotting.writing import write_figure
    except ModuleNotFoundError as error:
        raise InputError("the demo draws figures; install matplotlib.") from error
    solution = solve(
        BlackScholes(),
        method="fast",
        steps=steps,
        seed=seed,
        out=folder,
        report=report,
    )
    errors = solution.error(2**17)
    manifest = solution.manifest
    rows = [
        (
            "feynkac, this machine",
            figure(errors.l1, errors.l1_se),
            f"{manifest.seconds:.0f} s",
        ),
        ("the paper, full scale", PAPER_L1, PAPER_TIME),
        ("a linear fit", number(errors.linear_baseline), ""),
        ("predicting the mean", number(errors.mean_baseline), ""),
    ]
    figures = [
        write_figure(draw_price_and_greeks(solution), folder / "price-and-greeks.png"),
        write_figure(plotting.history(manifest.history), folder / "error.png"),
    ]
    return {
        "table": (("", "L1 error", "time"), rows),
        "figures": [str(path) for path in figures],
        "run": str(folder),
        "seconds": manifest.seconds,
        **errors.record(),
    }
