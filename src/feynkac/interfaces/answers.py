"""The answer to one query, as plain numbers, beside the closed form where there is one."""

import math
from typing import Any

from torch import Tensor

from feynkac.analysis.partials import greek_value, partial
from feynkac.analysis.quoted_errors import price_volatility, why_no_price_volatility
from feynkac.families.capabilities import ClosedForm
from feynkac.solution import Solution

Numbers = dict[str, Any]


def answer(
    solution: Solution,
    at: dict[str, Any],
    greeks: bool = False,
    extrapolate: bool = False,
    volatility: bool = False,
) -> Numbers:
    """Value and, on request, derivatives, named Greeks and implied volatility at one input."""
    result: Numbers = {"at": at, "value": _plain(solution(at, extrapolate=extrapolate))}
    if greeks:
        names = solution.family.domain.free
        named = solution.greeks(at, extrapolate=extrapolate)
        result["partials"] = {
            n: _plain(solution.grad(n, at, extrapolate=extrapolate)) for n in names
        }
        result["greeks"] = {n: _plain(v) for n, v in named.items()}
    closed = _closed_form(solution, at, greeks, extrapolate)
    if volatility:
        result |= _volatility(solution, at, extrapolate, closed)
    return result | ({"closed_form": closed} if closed else {})


def _volatility(
    solution: Solution, at: dict[str, Any], extrapolate: bool, closed: Numbers | None
) -> Numbers:
    """Implied volatilities, also of the closed form, which they join; None where there is none."""
    family = solution.family
    inputs = family.domain.join(at, extrapolate)
    found = solution.implied_volatility(at, extrapolate=extrapolate)
    if closed is not None and isinstance(family, ClosedForm):
        known = family.closed_form(*family.domain.split(inputs))
        closed["implied_volatility"] = _finite(price_volatility(family, known, inputs))
    prices = solution(at, extrapolate=extrapolate)[..., None]
    missing = why_no_price_volatility(family, prices, inputs)
    named = {"no_volatility": dict(missing)} if missing else {}
    return {"implied_volatility": _finite(found)} | named


def _finite(values: Tensor) -> Any:
    """As plain numbers, None for NaN, which JSON lacks."""
    if values.ndim:
        return [_finite(value) for value in values]
    return None if values.isnan() else values.item()


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
        result["partials"] = {n: _plain(partial(u, domain, n, inputs)) for n in domain.free}
        named = solution.named_greeks.items()
        result["greeks"] = {n: _plain(greek_value(u, domain, g, inputs)) for n, g in named}
    return result


def sensitivities(solution: Solution, at: dict[str, Any]) -> Numbers:
    """Value, Greeks and all first derivatives at one input, with their warnings."""
    return answer(solution, at, greeks=True) | {"warnings": solution.warnings}


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
    """Decimals to show a half width with, at least 6."""
    return max(6, 1 - math.floor(math.log10(half_width))) if 1e-15 < half_width < 1.0 else 6


def answer_rows(found: Numbers) -> list[tuple[str, str, str, str]]:
    """Rows (quantity, network, closed form, difference) for a table."""
    closed = found.get("closed_form", {})
    rows = [_row("value", found["value"], closed.get("value"))]
    if "implied_volatility" in found:
        name = "implied_volatility"
        rows.append(_row("implied volatility", found[name], closed.get(name)))
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
    if value is None:
        return None
    return [_rounded(v) for v in value] if isinstance(value, list) else round(value, 5)


def _plain(value: Tensor) -> Any:
    return value.tolist()
