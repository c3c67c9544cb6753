"""The answer to one query, as plain numbers, beside the closed form where there is one."""

import math
from collections.abc import Callable
from typing import Any

from torch import Tensor

from feynkac.analysis.partials import greek_value, partial
from feynkac.analysis.quoted_errors import price_volatility, why_no_price_volatility
from feynkac.analysis.rounding import FLOAT32, number, significant, to_digit
from feynkac.families.capabilities import ClosedForm
from feynkac.solution import Solution

Numbers = dict[str, Any]
MOST_ENTRIES = 9  # of an array that is shown whole


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
        names = solution.reach.free
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
    inputs = solution.reach.join(at, extrapolate)
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
    reach = solution.reach
    inputs = reach.join(at, extrapolate)

    def u(flat: Tensor) -> Tensor:
        return family.closed_form(*family.domain.split(flat))

    result: Numbers = {"value": _plain(u(inputs).squeeze(-1))}
    if greeks:
        result["partials"] = {n: _plain(partial(u, reach, n, inputs)) for n in reach.free}
        named = solution.named_greeks.items()
        result["greeks"] = {n: _plain(greek_value(u, reach, g, inputs)) for n, g in named}
    return result


def sensitivities(solution: Solution, at: dict[str, Any]) -> Numbers:
    """Value, Greeks and all first derivatives at one input, with their warnings."""
    return answer(solution, at, greeks=True) | {"warnings": solution.warnings}


def certificate_answer(found: Numbers) -> list[tuple[str, str]]:
    """Rows of a table."""
    half = found["half_width"]
    rows = [
        ("network", to_digit(found["network"], max(half, FLOAT32 * abs(found["network"])))),
        ("estimate", f"{to_digit(found['value'], half)} ± {number(half)}"),
        ("  statistical", number(found["statistical"])),
        ("  discretisation", number(found["discretisation"])),
        ("confidence", f"{found['confidence']:.0%}"),
        ("paths", str(found["paths"])),
        ("by", found["estimator"]),
        ("variance reduction", number(found["variance_reduction"])),
    ]
    limit = found["tolerance"]
    aim = "the interval" if limit is None else f"a tolerance of {limit:g}"
    return [*rows, ("verdict", f"{found['verdict']} ({aim})")]


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
    difference = "" if truth is None else _array(_minus(value, truth), lambda d: f"{d:+.2e}")
    return name, _text(value), _text(truth), difference


def _text(value: Any) -> str:
    return _array(value, significant)


def _minus(value: Any, truth: Any) -> Any:
    """Network minus closed form, entry by entry."""
    if isinstance(value, list):
        return [_minus(*pair) for pair in zip(value, truth, strict=True)]
    return None if value is None or truth is None else value - truth


def _array(value: Any, text: Callable[[float], str]) -> str:
    """A number, a short array of them, or the extremes of a long one; – where there is none."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return text(value)
    flat = _flat(value)
    if len(flat) > MOST_ENTRIES:
        known = [each for each in flat if each is not None] or [math.nan]
        return f"{text(min(known))} … {text(max(known))} ({len(flat)} entries)"
    return f"[{', '.join(_array(v, text) for v in value)}]"


def _flat(value: Any) -> list[float | None]:
    return [n for v in value for n in _flat(v)] if isinstance(value, list) else [value]


def _plain(value: Tensor) -> Any:
    return value.tolist()
