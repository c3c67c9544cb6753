"""Errors as RFC 9457 problems: what is wrong with which field, its value, and what is allowed."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import orjson
from pydantic import ValidationError

CONTENT_TYPE = "application/problem+json"
MOST_SHOWN = 10  # of many errors
LONGEST = 100  # characters of a value


@dataclass(frozen=True)
class Fault:
    """One field that is wrong."""

    field: str
    value: Any
    detail: str
    allowed: Any = None

    def record(self) -> dict[str, Any]:
        """As plain data."""
        plain = {"field": self.field, "value": shown(self.value), "detail": self.detail}
        return plain if self.allowed is None else plain | {"allowed": self.allowed}


class Problem(Exception):  # noqa: N818  (its name in RFC 9457)
    """What the client is told in place of an answer."""

    def __init__(
        self,
        status: int,
        detail: str,
        faults: Sequence[Fault] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.faults = status, detail, faults
        self.headers = headers or {}

    def body(self) -> bytes:
        """As JSON."""
        plain = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        errors = [fault.record() for fault in self.faults[:MOST_SHOWN]]
        return orjson.dumps(plain | ({"errors": errors} if errors else {}))


def bad_value(*faults: Fault) -> Problem:
    """Status 422; the detail is that of the first fault."""
    return Problem(422, faults[0].detail, faults)


def busy(detail: str, seconds: int = 1) -> Problem:
    """Status 503, and when to come back."""
    return Problem(503, detail, headers={"Retry-After": str(seconds)})


def too_long(seconds: float) -> Problem:
    """Status 504: to ask the same again is of no use."""
    return Problem(504, f"the computation took longer than {seconds:g} s; ask for less.")


def invalid(error: ValidationError) -> Problem:
    """From what pydantic found wrong with a body: 400 if it is not JSON, else 422."""
    found = error.errors(include_url=False, include_context=True)
    first = found[0]
    if first["type"] == "json_invalid":
        why = first["msg"].removeprefix("Invalid JSON: ")
        return Problem(400, f"the body is not JSON: {why}; send a JSON object in UTF-8.")
    return bad_value(*(_fault(one) for one in found))


def _fault(one: Any) -> Fault:
    name, value = _dotted(one["loc"]), one["input"]
    if one["type"] == "numbers":
        where, leaf = _leaf(value)
        detail = (
            f"{name}{where} must be a finite number, or nested lists of them; got {_say(leaf)}."
        )
        return Fault(name + where, leaf, detail)
    if one["type"] == "missing":
        return Fault(name, None, f"{name} is missing; give it.")
    if one["type"] == "extra_forbidden":
        return Fault(name, value, f"there is no field {name}; omit it.")
    context = one.get("ctx") or {}
    bounds = [context.get(low) for low in ("ge", "gt", "min_length")]
    tops = [context.get(high) for high in ("le", "lt", "max_length")]
    allowed = [next((v for v in side if v is not None), None) for side in (bounds, tops)]
    detail = f"{name or 'the body'}: {one['msg'].lower()}; got {_say(value)}."
    return Fault(name, value, detail, allowed if any(v is not None for v in allowed) else None)


def _dotted(location: Sequence[int | str]) -> str:
    text = ""
    for part in location:
        name = part if isinstance(part, int) else part[:LONGEST]
        text += f"[{name}]" if isinstance(name, int) else f".{name}" if text else name
    return text


def _leaf(value: Any) -> tuple[str, Any]:
    """The first thing in nested lists that is not a finite number, and where it stands."""
    for where, leaf in _leaves(value, ""):
        number = isinstance(leaf, int | float) and not isinstance(leaf, bool)
        if not number or not _finite(leaf):
            return where, leaf
    return "", value


def _leaves(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, list):
        yield where, value
        return
    for i, part in enumerate(value):
        yield from _leaves(part, f"{where}[{i}]")


def _finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def _say(value: Any) -> str:
    kept = shown(value)
    names = {True: "true", False: "false", None: "null"}
    if isinstance(kept, bool) or kept is None:
        return "a non-finite number" if value is not kept else names[kept]
    return f"{kept!r}"


def shown(value: Any) -> Any:
    """A value as a problem may repeat it: short, and JSON."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return value if _finite(value) and abs(value) < 2**53 else f"{str(value)[:LONGEST]}"
    if isinstance(value, str):
        return value[:LONGEST]
    return f"a {'list' if isinstance(value, list) else 'JSON object'}"
