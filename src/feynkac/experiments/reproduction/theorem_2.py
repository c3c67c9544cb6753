r"""Theorem 2: what Euler–Maruyama labels of M steps are worth (paper, Section 2; proof in A.1).

    ū^M(λ) = E[Y^M | Λ = λ] minimises the mean square error, and  ‖ū^M − ū‖_∞ ≤ C / √M.

So ū^M − ū is the weak error of the scheme at λ. Here it is measured at random inputs: its mean, its
norm in L²(P_Λ), and the largest value seen, which is at most the norm in the theorem.
"""

import math
from typing import Any

import torch
from matplotlib.figure import Figure

from feynkac.experiments.reproduction.result import FULL, Result
from feynkac.experiments.reproduction.settings import Settings
from feynkac.experiments.reproduction.weak_error import (
    FINE,
    REPLICATES,
    Case,
    block_errors,
    reference_error,
    summarise,
    time_block,
)
from feynkac.families.models.basket_put import BasketPut
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.sampling.exact import Exact
from feynkac.sampling.log_ode import LogOde

INPUTS = 4096  # of the full scale
RESOLVED = 0.1  # slopes less certain than that are not shown

CASES = (
    Case("Black–Scholes", BlackScholes(), Exact(), inputs=4, paths=2**14, finest=64, share=0.3),
    Case("basket put", BasketPut(), LogOde(steps=8), inputs=8, paths=2**9, finest=256, share=0.5),
)


def run(settings: Settings) -> Result:
    """The weak error of both families against M."""
    errors = {case.title: weak_errors(case, settings) for case in CASES}
    return Result(
        name="theorem-2",
        title="Theorem 2: the error of labels by Euler–Maruyama with M steps",
        columns=("M", *(f"{title}: {name}" for title in errors for name in COLUMNS)),
        rows=_rows(list(errors.values())),
        scale=_scale(errors),
        notes=(*NOTES, *(_note(title, found) for title, found in errors.items())),
        data=errors,
        figure=draw(errors),
        seeds=settings.seeds[:1],
    )


def weak_errors(case: Case, settings: Settings) -> dict[str, Any]:
    """Everything measured of one family, block after block of inputs."""
    seed, store = settings.seeds[0], settings.store
    key = f"theorem-2 {case} replicates {REPLICATES} seed {seed}"
    settings.announce(f"{case.title}: Euler–Maruyama and its reference on the same paths")
    reference = store.once(f"{key} reference", lambda: reference_error(case, seed))
    seconds = store.once(f"{key} seconds", lambda: time_block(case))
    most = INPUTS // case.inputs
    fitting = int(case.share * settings.budget / seconds)
    count = most if settings.full else min(most, max(2, fitting))
    blocks = [
        store.once(f"{key} block {k}", lambda k=k: block_errors(case, seed, k).tolist())  # type: ignore[misc]
        for k in range(count)
    ]
    differences = torch.tensor(blocks, dtype=torch.float64).flatten(0, 1)
    return summarise(differences, case.steps) | reference


COLUMNS = ("mean error ± s.e.", "L² error ± s.e.", "largest seen", "C/√M")
NOTES = (
    "The mean error is |E[ū^M(Λ) − ū(Λ)]|. The L² error is the norm of ū^M − ū in L²(P_Λ), the "
    "distance of the minimiser for labels of M steps from the solution map, noise subtracted. The "
    "largest is that of the inputs drawn.",
    "The theorem bounds the norm in L^∞ by C/√M; here C is the smallest constant for the largest "
    f"errors seen. Slopes are fitted to the {FINE} finest M; −1 is weak order 1, twice the "
    "theorem's −1/2. No slope is given for a mean that is not resolved because the error changes "
    "its sign with λ.",
)


def _rows(errors: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    steps = max((e["steps"] for e in errors), key=len)
    table = [(str(m), *(c for e in errors for c in _cells(e, i))) for i, m in enumerate(steps)]
    return [*table, ("slope", *(cell for e in errors for cell in _slopes(e)))]


def _cells(e: dict[str, Any], i: int) -> tuple[str, ...]:
    if i >= len(e["steps"]):
        return ("–",) * len(COLUMNS)
    return (
        *(f"{abs(e[name][i]):.5f} ± {e[f'{name}_se'][i]:.5f}" for name in ("mean", "l2")),
        f"{e['largest'][i]:.4f}",
        f"{e['constant'] / math.sqrt(e['steps'][i]):.4f}",
    )


def _slopes(e: dict[str, Any]) -> tuple[str, ...]:
    def cell(name: str) -> str:
        value, error = e[f"{name}_slope"], e[f"{name}_slope_se"]
        return f"{value:.2f} ± {error:.2f}" if error < RESOLVED else "–"

    return (cell("mean"), cell("l2"), "–", "-0.50")


def _scale(errors: dict[str, dict[str, Any]]) -> str:
    if all(e["inputs"] == INPUTS for e in errors.values()):
        return FULL
    parts = [f"{e['inputs']} random inputs for {title}" for title, e in errors.items()]
    return f"{' and '.join(parts)}, in place of {INPUTS:,}."


def _note(title: str, found: dict[str, Any]) -> str:
    value, error = found["reference_error"], found["reference_error_se"]
    return f"Mean error of the reference, {title}: {value:.1e} ± {error:.1e}."


def draw(errors: dict[str, dict[str, Any]]) -> Figure:
    """Errors against M, log-log, with the bound."""
    figure = Figure(figsize=(12, 5), layout="constrained")
    panels = figure.subplots(1, len(errors))
    for axes, (title, found) in zip(panels, errors.items(), strict=True):
        steps, slopes = found["steps"], _slopes(found)
        for name, label, fitted in zip(("mean", "l2"), ("|mean|", "L²"), slopes, strict=False):
            sizes, error = [abs(value) for value in found[name]], found[f"{name}_se"]
            text = label if fitted == "–" else f"{label}, slope {fitted} from M = {steps[-FINE]}"
            axes.errorbar(steps, sizes, error, fmt="o-", ms=4, label=text)
        axes.plot(steps, found["largest"], "^:", ms=4, color="tab:grey", label="largest seen")
        bound = [found["constant"] / math.sqrt(m) for m in steps]
        axes.plot(steps, bound, "k--", label="Theorem 2: C/√M")
        axes.set(xscale="log", yscale="log", xlabel="Euler–Maruyama steps M", title=title)
        axes.set_xticks(steps, [f"{m}" for m in steps])
        axes.minorticks_off()
        axes.set_ylabel(r"$\bar u^M - \bar u$")
        axes.set_ylim(bottom=0.1 * min(found["l2"]))
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)
    return figure
