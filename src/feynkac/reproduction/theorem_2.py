r"""Theorem 2: what Euler–Maruyama labels of M steps are worth (paper, Section 2; Theorem A.2).

    ū^M(λ) = E[Y^M | Λ = λ] minimises the mean square error, and  ‖ū^M − ū‖_∞ ≤ C / √M.

So ū^M − ū is the weak error of the scheme at λ, and the theorem is about its largest value over
the domain. For Black–Scholes that is computed from the law of the scheme, to ten digits. The
basket put has 53 inputs: there the same law gives the largest error over the inputs with equal
coefficients, and random corners of the domain are simulated; both are lower bounds.
"""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from matplotlib.figure import Figure

from feynkac.families.models.basket_put import BasketPut
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.plotting.style import BLUE, GREY, ORANGE, panels, styled
from feynkac.reproduction.euler_supremum import (
    Line,
    line_of_basket,
    line_of_black_scholes,
    mean_square,
    search,
)
from feynkac.reproduction.result import FULL, Result
from feynkac.reproduction.settings import Settings
from feynkac.reproduction.weak_error import (
    FINE,
    REPLICATES,
    Case,
    block_errors,
    largest,
    reference_error,
    slope,
    summarise,
    time_block,
)
from feynkac.sampling.schemes.log_ode import LogOde

STEPS = tuple(2**k for k in range(11))
FULL_INPUTS, FULL_CORNERS = 4096, 256
SHARE = 0.3  # of the budget, for the random inputs and for the corners each

BASKET = Case("basket put", BasketPut(), LogOde(steps=8), inputs=8, paths=2**9, finest=256)
AT_CORNERS = replace(BASKET, inputs=4, paths=2**12)  # the payoff varies much more there

Found = dict[str, Any]


def run(settings: Settings) -> Result:
    """The largest weak error of both families against M."""
    put = with_bound(suprema(settings, "Black–Scholes", line_of_black_scholes(BlackScholes())))
    put |= {"l2": _norms(settings)}
    basket = suprema(settings, BASKET.title, line_of_basket(BASKET.family)) | simulated(settings)
    basket = with_bound(basket)
    return Result(
        name="theorem-2",
        title="Theorem 2: the largest error of labels by Euler–Maruyama with M steps",
        columns=COLUMNS,
        rows=[*(_row(i, put, basket) for i in range(len(STEPS))), _slopes(put, basket)],
        scale=_scale(basket),
        notes=_notes(put, basket),
        data={"Black–Scholes": put, "basket put": basket},
        figure=draw(put, basket),
        seeds=settings.seeds[:1],
    )


def suprema(settings: Settings, title: str, line: Line) -> Found:
    """The largest |ū^M − ū| on a line, for each M, and where it is."""
    settings.announce(f"{title}: the largest error over the domain")
    store, key = settings.store, f"theorem-2 supremum {line}"
    found = [store.once(f"{key} {m}", partial(search, line, m)) for m in STEPS]
    return {"steps": STEPS, "sup": [abs(f["error"]) for f in found], "at": [f["at"] for f in found]}


def _norms(settings: Settings) -> list[float]:
    """‖ū^M − ū‖ in L²(P_Λ) for Black–Scholes."""
    line, store = line_of_black_scholes(BlackScholes()), settings.store
    key = f"theorem-2 square {line}"
    return [math.sqrt(store.once(f"{key} {m}", partial(mean_square, line, m))) for m in STEPS]


def simulated(settings: Settings) -> Found:
    """The basket's errors at random inputs and at random corners."""
    seed = settings.seeds[0]
    key = f"theorem-2 {BASKET} replicates {REPLICATES} seed {seed} reference"
    settings.announce(f"{BASKET.title}: the error of the reference")
    reference = settings.store.once(key, lambda: reference_error(BASKET, seed))
    inputs = summarise(_blocks(settings, BASKET, FULL_INPUTS, False), BASKET.steps)
    corners = _blocks(settings, AT_CORNERS, FULL_CORNERS, True)
    return reference | {
        "inputs": inputs,
        "corners": {"inputs": len(corners), "steps": AT_CORNERS.steps} | largest(corners),
    }


def _blocks(settings: Settings, case: Case, most: int, corners: bool) -> torch.Tensor:
    """All of them, or those that fit the budget.  Shape: `(inputs, REPLICATES, M)`."""
    seed, store = settings.seeds[0], settings.store
    kind = "corners" if corners else "inputs"
    key = f"theorem-2 {case} replicates {REPLICATES} seed {seed} {kind}"
    count = most // case.inputs if settings.full else _fitting(settings, case, most)
    settings.announce(f"{case.title}: {count * case.inputs} random {kind}")
    blocks = [
        store.once(f"{key} block {k}", partial(_block, case, seed, k, corners))
        for k in range(count)
    ]
    return torch.tensor(blocks, dtype=torch.float64).flatten(0, 1)


def _block(case: Case, seed: int, number: int, corners: bool) -> Any:
    return block_errors(case, seed, number, corners).tolist()


def _fitting(settings: Settings, case: Case, most: int) -> int:
    """The number of blocks that fit the budget; their time is in proportion to their paths."""
    key = f"theorem-2 seconds of a block {BASKET}"
    seconds = settings.store.once(key, lambda: time_block(BASKET))
    seconds *= case.inputs * case.paths / (BASKET.inputs * BASKET.paths)
    return min(most // case.inputs, max(2, int(SHARE * settings.budget / seconds)))


def with_bound(found: Found) -> Found:
    """The smallest constant C of the theorem for all errors found, and the slope of the largest."""
    errors = list(zip(found["sup"], STEPS, strict=True))
    if "corners" in found:
        errors += zip(found["corners"]["largest"], found["corners"]["steps"], strict=True)
    exponent = slope(torch.tensor(found["sup"], dtype=torch.float64), list(STEPS)).item()
    return found | {"constant": max(e * math.sqrt(m) for e, m in errors), "slope": exponent}


COLUMNS = (
    "M",
    "Black–Scholes: sup error",
    "L² error",
    "C/√M",
    "basket put: sup error, equal coefficients",
    "largest at random corners ± s.e.",
    "L² error ± s.e.",
    "C/√M",
)


def _row(i: int, put: Found, basket: Found) -> tuple[str, ...]:
    m = STEPS[i]
    sizes = (put["sup"][i], put["l2"][i], put["constant"] / math.sqrt(m), basket["sup"][i])
    return (
        str(m),
        *(f"{value:.4g}" for value in sizes),
        _simulated(basket["corners"], "largest", i),
        _simulated(basket["inputs"], "l2", i),
        f"{basket['constant'] / math.sqrt(m):.4g}",
    )


def _simulated(found: Found, name: str, i: int) -> str:
    if i >= len(found["steps"]):
        return "–"
    return f"{found[name][i]:.3g} ± {found[f'{name}_se'][i]:.2g}"


def _slopes(put: Found, basket: Found) -> tuple[str, ...]:
    norm = slope(torch.tensor(put["l2"], dtype=torch.float64), list(STEPS)).item()
    inputs = basket["inputs"]
    simulated = f"{inputs['l2_slope']:.2f} ± {inputs['l2_slope_se']:.2g}"
    exact = (f"{put['slope']:.3f}", f"{norm:.3f}", "-0.5", f"{basket['slope']:.3f}")
    return ("slope", *exact, "–", simulated, "-0.5")


def _scale(basket: Found) -> str:
    inputs, corners = basket["inputs"]["inputs"], basket["corners"]["inputs"]
    if (inputs, corners) == (FULL_INPUTS, FULL_CORNERS):
        return FULL
    return (
        f"basket put: {inputs} random inputs in place of {FULL_INPUTS:,} and {corners} random "
        f"corners in place of {FULL_CORNERS}. All else is full."
    )


def _notes(put: Found, basket: Found) -> tuple[str, ...]:
    value, error = basket["reference_error"], basket["reference_error_se"]
    return (
        "**What is measured.** The theorem bounds the norm of ū^M − ū in L^∞ by C/√M. For "
        "Black–Scholes the table has this norm: the largest |ū^M − ū| over the whole domain, "
        "computed without simulation from the law of the scheme, searched for on a grid with all "
        f"corners and from there by quasi-Newton steps. At M = {STEPS[-1]:,} it is at "
        f"{_place(put['at'][-1])}.",
        "The basket put has 53 inputs. With all assets equal, all entries of γ_σ equal and all of "
        "γ_μ equal it is a put on one geometric Brownian motion, so that the largest error over "
        "these inputs is computed in the same way. It is a **lower bound** of the norm; so is the "
        "largest at random corners of the domain (t = 1, every other input at one end of its "
        "interval), which is chosen by one half of the simulations and measured by the other. At "
        f"M = {STEPS[-1]:,} the largest error with equal coefficients is at "
        f"{_place(basket['at'][-1])}.",
        "C is the smallest constant for the errors in this table, at these M: "
        f"{put['constant']:.4g} for Black–Scholes and at least {basket['constant']:.4g} for the "
        "basket put. Slopes are "
        f"fitted to the {FINE} finest M; −1 is weak order 1, twice the theorem's −1/2.",
        "The L² error is the norm of ū^M − ū in L²(P_Λ): what a network trained on labels of M "
        "steps is off at a typical input. It is by quadrature for Black–Scholes and at "
        f"{basket['inputs']['inputs']:,} random inputs for the basket put, noise subtracted. The "
        f"reference there is log-ODE with {BASKET.reference.increments} steps; its mean error is "
        f"{value:.1e} ± {error:.1e}.",
    )


def _place(at: dict[str, float]) -> str:
    return ", ".join(f"{name} = {value:.4g}" for name, value in at.items())


@styled
def draw(put: Found, basket: Found) -> Figure:
    """Errors against M, log-log, with the bound."""
    figure, (left, right) = panels(1, 2, panel=(5.2, 5.0))
    _draw_panel(left, put, "Black–Scholes", "sup over the domain")
    left.loglog(STEPS, put["l2"], "s-", ms=4, color=ORANGE, label="L²")
    _draw_panel(right, basket, "basket put", "sup, equal coefficients")
    corners, inputs = basket["corners"], basket["inputs"]
    sizes = {"at random corners": (corners, "largest", "^:"), "L²": (inputs, "l2", "s-")}
    for label, (found, name, style) in sizes.items():
        colour = ORANGE if found is inputs else GREY
        shown: dict[str, Any] = {"fmt": style, "ms": 4, "color": colour, "label": label}
        right.errorbar(found["steps"], found[name], found[f"{name}_se"], **shown)
    right.set_ylim(bottom=0.3 * min(inputs["l2"]))
    for axes in (left, right):
        axes.set_xticks(STEPS, [f"{m}" for m in STEPS])
        axes.minorticks_off()
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14))
    return figure


def _draw_panel(axes: Any, found: Found, title: str, label: str) -> None:
    text = f"{label}, slope {found['slope']:.2f} from M = {STEPS[-FINE]}"
    axes.loglog(STEPS, found["sup"], "o-", ms=4, color=BLUE, label=text)
    bound = [found["constant"] / math.sqrt(m) for m in STEPS]
    axes.loglog(STEPS, bound, "k--", label="Theorem 2: C/√M")
    axes.set(xlabel="Euler–Maruyama steps M", title=title, ylabel=r"$|\bar u^M - \bar u|$")
