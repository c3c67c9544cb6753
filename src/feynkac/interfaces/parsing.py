"""From strings of the command line to objects of the library, in one place."""

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from feynkac.errors import InputError
from feynkac.suggestions import did_you_mean

if TYPE_CHECKING:
    from feynkac.families.domain import Domain
    from feynkac.families.family import Family
    from feynkac.families.measures.measure import Measure
    from feynkac.sampling.schemes.scheme import Scheme

MOST_SEEDS = 10_000
DEEPEST = 16
"""Brackets around a number; no variable has so many axes."""
NAME = r"[A-Za-z_]\w*(?:\[[\d\s,]+\])?"
"""A variable, or one entry of it."""


def parse_point(text: str) -> dict[str, Any]:
    """Values by name from `x=9.5,t=0.5,sigma=[0.1,0.2]`.

    Example:
        >>> parse_point("x=[1,2],t=0.5")
        {'x': [1, 2], 't': 0.5}
    """
    values: dict[str, Any] = {}
    for part in _assignments(text):
        name, sign, value = part.partition("=")
        number = _number(value)
        if not sign or number is None:
            raise InputError(
                f"cannot read {part.strip()!r}; expected name=number or name=[numbers], "
                "as in x=9.5,t=0.5,sigma=0.35."
            )
        if name.strip() in values:
            raise InputError(f"{name.strip()!r} is given twice.")
        values[name.strip()] = number
    return values


def _number(text: str) -> Any:
    """A number, or nested lists of them; None if it is neither."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if _is_numbers(found) else None


def _is_numbers(value: Any) -> bool:
    """Whether it is a number, or nested lists of them, as deep as an array may be."""
    rows = [value]
    for _ in range(DEEPEST):
        if not any(isinstance(row, list) for row in rows):
            break
        rows = [v for row in rows for v in (row if isinstance(row, list) else [row])]
    return all(type(row) in (int, float) for row in rows)


def _assignments(text: str) -> list[str]:
    return re.split(rf",(?=\s*{NAME}\s*=)", text)


def parse_names(text: str) -> list[str]:
    """Names from `sigma,x[1]`; the index of an entry may hold commas too.

    Example:
        >>> parse_names("sigma, x[1],rho[0,1]")
        ['sigma', 'x[1]', 'rho[0,1]']
    """
    parts = re.split(r",(?![^\[]*\])", text)
    return [part.strip() for part in parts if part.strip()]


def parse_scheme(text: str) -> "Scheme | None":
    """A scheme from `auto`, `exact`, `log-ode:3`, or an unambiguous beginning: `euler:25`.

    None leaves the choice to the method.

    Example:
        >>> parse_scheme("euler:25")
        EulerMaruyama(steps=25)
    """
    from feynkac.parts import kinds
    from feynkac.sampling.schemes import Scheme

    if text == "auto":
        return None
    known = kinds(Scheme)
    match = re.fullmatch(r"([\w-]+)(?::([1-9][0-9]{0,5}))?", text, re.ASCII)
    named = [kind for kind in known if match and kind.startswith(match[1])]
    exact = [kind for kind in named if match and kind == match[1]]
    if not match or len(exact or named) != 1:
        meant = did_you_mean(text.partition(":")[0], known) if not named else ""
        raise InputError(
            f"unknown scheme {text!r}; expected auto, or one of {', '.join(sorted(known))}, "
            f"followed by :STEPS, as in log-ode:3.{meant}"
        )
    cls = known[(exact or named)[0]]
    found: Scheme = cls(steps=int(match[2])) if match[2] else cls()
    return found


def family_settings(dim: int | None, fields: Sequence[str] = ()) -> dict[str, Any]:
    """The fields of a family from `--dim 5` and `--field payoff=put:max`.

    Example:
        >>> family_settings(5, ["payoff=put:max", "speed=0.5"])
        {'dim': 5, 'payoff': 'put:max', 'speed': 0.5}
    """
    settings: dict[str, Any] = {} if dim is None else {"dim": dim}
    for text in fields:
        name, sign, value = (part.strip() for part in text.partition("="))
        if not sign or not name.isidentifier() or name in settings:
            raise InputError(f"cannot read --field {text!r}; expected name=value, each name once.")
        try:
            settings[name] = json.loads(value)
        except (ValueError, RecursionError):
            settings[name] = value
    return settings


def parse_family(
    spec: str, dim: int | None, fields: Sequence[str] | None, domain: str | None = None
) -> "Family":
    """The family that `FAMILY --dim 5 --field payoff=put --domain t=0.02:5` names."""
    from feynkac.families.catalogue import find_family

    family = find_family(spec, family_settings(dim, fields or []))
    return family.on(**parse_domain(domain, family.domain)) if domain else family


def parse_domain(text: str, domain: "Domain") -> "dict[str, Measure]":
    """Other laws of some variables from `t=0.02:5,sigma=log(0.02,2)`, in the shapes of `domain`.

    A number, or a list of them, fixes a variable; `x[1]` names one entry.

    Example:
        >>> from feynkac import BlackScholes
        >>> parse_domain("t=0.02:5,sigma=log(0.02,2),strike=11", BlackScholes().domain)
        {'t': Box(0.02, 5), 'sigma': LogUniform(0.02, 2), 'strike': Fixed(11)}
    """
    found: dict[str, Measure] = {}
    for part in _assignments(text):
        name, _, value = (piece.strip() for piece in part.partition("="))
        measure = _measure(value, domain.place(name).shape)
        if measure is None or name in found:
            raise InputError(
                f"cannot read {part.strip()!r}; expected name=low:high, name=log(low,high), "
                "name=normal(mean,std,low,high), name=beta(a,b,low,high) or, to fix it, "
                "name=number, each name once."
            )
        found[name] = measure
    return found


def _measure(text: str, shape: tuple[int, ...]) -> "Measure | None":
    """From `0.02:5`, `log(0.02,2)` or a value; None if it is neither."""
    from feynkac.families import Beta, Box, Fixed, LogUniform, Normal

    laws: dict[str | None, Callable[..., Measure]] = {
        None: Box,
        "log": LogUniform,
        "normal": Normal,
        "beta": Beta,
    }
    match = re.fullmatch(r"([^:()]+:[^:()]+)|([a-z]+)\(([^()]*)\)", text)
    if match is None:
        value = _number(text)
        return None if value is None else Fixed(value, shape=shape)
    if match[2] not in laws:
        return None
    try:
        return laws[match[2]](*map(float, re.split("[:,]", match[1] or match[3])), shape=shape)
    except InputError:
        raise
    except (TypeError, ValueError):
        return None


def parse_seeds(text: str) -> tuple[int, ...]:
    """Seeds from `0,1` or `0-3`.

    Example:
        >>> parse_seeds("0-2,7")
        (0, 1, 2, 7)
    """
    found: dict[int, None] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,30})\s*(?:-\s*(\d{1,30})\s*)?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last < first:
            raise InputError(f"cannot read the seeds {text[:40]!r}; expected 0,1 or 0-3.")
        if last - first >= MOST_SEEDS or last >= 2**63:
            raise InputError(f"{text[:40]} are too many or too large seeds; at most {MOST_SEEDS}.")
        found |= dict.fromkeys(range(first, last + 1))
    return tuple(found)


def parse_budget(text: str) -> float:
    """Seconds of a time such as 60s, 20m or 1.5h.

    Example:
        >>> parse_budget("1.5m")
        90.0
    """
    from feynkac.training.settings import seconds

    try:
        return seconds(text)
    except ValueError as error:
        raise InputError(f"{error}.") from error


def parse_given(texts: list[str]) -> dict[str, Any]:
    """Inputs of `uncertainty`: `sigma=normal(0.3,0.05)` and `t=0.5`.

    Example:
        >>> sorted(parse_given(["sigma=normal(0.3,0.05),t=0.5", "strike=11"]))
        ['sigma', 'strike', 't']
    """
    values: dict[str, Any] = {}
    for text in (part for together in texts for part in _assignments(together)):
        match = re.fullmatch(rf"\s*({NAME})\s*=\s*([a-z]+)\(([^()]*)\)\s*", text)
        found = {match[1]: _law(match[2], match[3], text)} if match else parse_point(text)
        for name, value in found.items():
            if name in values:
                raise InputError(f"{name!r} is given twice.")
            values[name] = value
    return values


def _law(kind: str, arguments: str, text: str) -> Any:
    try:
        first, second = (float(part) for part in arguments.split(","))
        return make_law(kind, first, second)
    except ValueError:
        raise InputError(
            f"cannot read {text!r}; expected a number, or normal(mean,std), uniform(low,high), "
            "lognormal(median,sigma) or beta(a,b)."
        ) from None


def make_law(kind: str, first: float, second: float) -> Any:
    """A law of SciPy from its name and two numbers.

    Example:
        >>> float(make_law("uniform", 1.0, 3.0).mean())
        2.0
    """
    from scipy import stats

    laws: dict[str, Callable[[float, float], Any]] = {
        "normal": lambda mean, std: stats.norm(mean, std),
        "uniform": lambda low, high: stats.uniform(low, high - low),
        "lognormal": lambda median, sigma: stats.lognorm(sigma, scale=median),
        "beta": lambda a, b: stats.beta(a, b),
    }
    known = kind in laws and math.isfinite(first) and math.isfinite(second)
    law = laws[kind](first, second) if known else None
    if law is None or not (law.std() > 0.0 and math.isfinite(law.std())):
        raise InputError(
            f"there is no law {kind}({first:g}, {second:g}); expected normal(mean, std), "
            "uniform(low, high), lognormal(median, sigma) or beta(a, b)."
        )
    return law


def parse_correlations(texts: list[str]) -> dict[tuple[str, str], float]:
    """Correlations of pairs from `sigma,strike=0.5`.

    Example:
        >>> parse_correlations(["sigma,strike=0.5"])
        {('sigma', 'strike'): 0.5}
    """
    found: dict[tuple[str, str], float] = {}
    for text in texts:
        match = re.fullmatch(rf"\s*({NAME})\s*,\s*({NAME})\s*=\s*([-+.\deE]+)\s*", text)
        try:
            value = float(match[3]) if match else 2.0
        except ValueError:
            value = 2.0
        if not match or match[1] == match[2] or not abs(value) < 1.0:
            raise InputError(
                f"cannot read {text!r}; expected two names and a number between -1 and 1, "
                "as in sigma,strike=0.5."
            )
        if (match[1], match[2]) in found or (match[2], match[1]) in found:
            raise InputError(f"the correlation of {match[1]} and {match[2]} is given twice.")
        found[match[1], match[2]] = value
    return found
