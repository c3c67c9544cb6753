"""What `feynkac calibrate` shows of an estimate and its posterior."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from feynkac.analysis.calibration import Calibration
    from feynkac.analysis.observations import Problem
    from feynkac.analysis.posterior import Posterior


class Output(NamedTuple):
    """What to compute beside the estimate, and where to show it."""

    confidence: float
    posterior: bool
    steps: int
    seed: int
    out: Path | None
    as_json: bool
    each: bool


def sampled(problem: "Problem", found: "Calibration", output: Output) -> "Posterior | None":
    """The posterior, if it is wanted."""
    from feynkac.analysis.posterior import sample_posterior
    from feynkac.display import showing
    from feynkac.phases import enter

    if not output.posterior:
        return None
    with showing():
        return sample_posterior(
            problem,
            found,
            steps=output.steps,
            confidence=output.confidence,
            seed=output.seed,
            report=enter("sampling the posterior"),
        )


def print_estimate(title: str, found: "Calibration") -> None:
    """A table of parameters, errors and intervals."""
    from feynkac.interfaces.console import print_table

    rows = [
        (label, f"{e['value']:.6g}", "–" if e["std"] is None else f"{e['std']:.2g}", _range(e))
        for label, e in found.record()["estimate"].items()
    ]
    interval = f"{100 * found.confidence:g} % interval"
    print_table(title, ("parameter", "estimate", "standard error", interval), rows)


def print_posterior(drawn: "Posterior") -> None:
    """A table of its marginals."""
    from feynkac.interfaces.console import print_table

    marginals = [
        (label, f"{m['mean']:.6g}", f"{m['std']:.2g}", _range(m))
        for label, m in drawn.record()["marginals"].items()
    ]
    interval = f"{100 * drawn.confidence:g} % interval"
    title = f"posterior, largest R̂ {drawn.r_hat.max():.3f}"
    print_table(title, ("parameter", "mean", "standard deviation", interval), marginals)


def _range(entry: dict[str, Any]) -> str:
    low, high = entry["interval"]
    return f"{low:.6g} … {high:.6g}"
