"""The answer to one query, as plain numbers, beside the closed form where there is one."""

import math
from typing import Any

import torch
from torch import Tensor

from feynkac.analysis.partials import greek_value, partial
from feynkac.errors import InputError
from feynkac.families.family import ClosedForm, NamedGreeks, jumps
from feynkac.networks.architecture import ACTIVATIONS, Layer
from feynkac.solution import Solution

Numbers = dict[str, Any]


def answer(
    solution: Solution, at: dict[str, Any], greeks: bool = False, extrapolate: bool = False
) -> Numbers:
    """Value and, on request, all first derivatives and named Greeks at one input."""
    result: Numbers = {"at": at, "value": _plain(solution(extrapolate=extrapolate, **at))}
    if greeks:
        names = solution.family.domain.boxes
        where = {"extrapolate": extrapolate, **at}
        result["partials"] = {n: _plain(solution.grad(n, **where)) for n in names}
        result["greeks"] = {n: _plain(v) for n, v in solution.greeks(**where).items()}
    closed = _closed_form(solution, at, greeks, extrapolate)
    return result | ({"closed_form": closed} if closed else {})


def _closed_form(
    solution: Solution, at: dict[str, Any], greeks: bool, extrapolate: bool
) -> Numbers | None:
    family = solution.family
    if not isinstance(family, ClosedForm):
        return None
    domain = family.domain
    inputs = domain.join(at, extrapolate)

    def u(flat: Tensor) -> Tensor:
        return family.closed_form(*domain.split(flat))

    result: Numbers = {"value": _plain(u(inputs).squeeze(-1))}
    if greeks:
        result["partials"] = {n: _plain(partial(u, domain, n, inputs)) for n in domain.boxes}
        named = family.greeks.items() if isinstance(family, NamedGreeks) else ()
        result["greeks"] = {n: _plain(greek_value(u, domain, g, inputs)) for n, g in named}
    return result


def sensitivities(solution: Solution, at: dict[str, Any]) -> Numbers:
    """Value, Greeks and all first derivatives at one input, with what to beware of."""
    return answer(solution, at, greeks=True) | {"warnings": beware(solution)}


def beware(solution: Solution) -> list[str]:
    """Derivatives of this solution that deserve no trust."""
    found = []
    if jumps(solution.family):
        found.append(
            "the initial condition jumps: slopes were not fitted, and near t = 0 derivatives in x "
            "(delta, gamma) are unreliable."
        )
    layers = [m for m in solution.network.modules() if isinstance(m, Layer)]
    if any(layer.activation is ACTIVATIONS["relu"] for layer in layers):
        found.append("the network is not smooth: second derivatives (gamma, vanna, volga) are 0.")
    return found


def sweep(solution: Solution, at: dict[str, Any], over: list[str], points: int) -> Numbers:
    """Value and Greeks (or first derivatives) along one or two scalar variables."""
    domain = solution.family.domain
    if len(over) > 2 or len(set(over)) < len(over):
        raise InputError("a sweep runs through one variable, or two different ones.")
    scalars = [n for n, box in domain.boxes.items() if box.size == 1]
    for name in over:
        if name not in domain.boxes or domain.boxes[name].size > 1:
            raise InputError(
                f"cannot run through {name!r}; scalar variables are: {', '.join(scalars)}."
            )
    if domain.join(at | {n: domain.boxes[n].low[0] for n in over}).ndim > 1:
        raise InputError("a sweep starts from one input; give one value a variable.")
    axes = [
        torch.linspace(domain.boxes[n].low[0], domain.boxes[n].high[0], points, dtype=torch.float64)
        for n in over
    ]
    grid = torch.meshgrid(*axes, indexing="ij")
    where = at | {
        n: g.reshape(*g.shape, *domain.boxes[n].shape) for n, g in zip(over, grid, strict=True)
    }
    value = solution(**where)
    named = solution.greeks(**where)
    if not named:
        named = {f"∂u/∂{n}": solution.grad(n, **where) for n in scalars}
    shown = {"value": value, **named}
    return {
        "over": {name: axis.tolist() for name, axis in zip(over, axes, strict=True)},
        "at": {name: value for name, value in at.items() if name not in over},
        "surfaces": {
            name: _plain(v.reshape(value.shape))
            for name, v in shown.items()
            if v.numel() == value.numel()
        },
        "warnings": beware(solution),
    }


def certificate_answer(found: Numbers) -> list[tuple[str, str]]:
    """Rows of a table."""
    digits = _digits(found["half_width"])
    rows = [
        ("network", f"{found['network']:.{digits}f}"),
        ("estimate", f"{found['value']:.{digits}f} ± {found['half_width']:.2g}"),
        ("  statistical", f"{found['statistical']:.2g}"),
        ("  discretisation", f"{found['discretisation']:.2g}"),
        ("confidence", f"{found['confidence']:.0%}"),
        ("paths", str(found["paths"])),
        ("by", found["estimator"]),
        ("variance reduction", f"{found['variance_reduction']:.2g}"),
    ]
    limit = found["tolerance"]
    aim = "the interval" if limit is None else f"a tolerance of {limit:g}"
    return [*rows, ("verdict", f"{found['verdict']} ({aim})")]


def _digits(half_width: float) -> int:
    """Decimals that show a half width, at least 6."""
    return max(6, 1 - math.floor(math.log10(half_width))) if 1e-15 < half_width < 1.0 else 6


def answer_rows(found: Numbers) -> list[tuple[str, str, str, str]]:
    """Rows (quantity, network, closed form, difference) for a table."""
    closed = found.get("closed_form", {})
    rows = [_row("value", found["value"], closed.get("value"))]
    for kind, prefix in (("greeks", ""), ("partials", "∂u/∂")):
        for name, value in found.get(kind, {}).items():
            rows.append(_row(prefix + name, value, closed.get(kind, {}).get(name)))
    return rows


def _row(name: str, value: Any, truth: Any) -> tuple[str, str, str, str]:
    difference = "" if not isinstance(value, float) or truth is None else f"{value - truth:+.2e}"
    return name, _text(value), _text(truth), difference


def _text(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.6f}" if isinstance(value, float) else str(_rounded(value))


def _rounded(value: Any) -> Any:
    return [_rounded(v) for v in value] if isinstance(value, list) else round(value, 5)


def _plain(value: Tensor) -> Any:
    return value.tolist()
