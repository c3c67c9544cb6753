"""Strings of the command line to objects of the library, in one place."""

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from feynkac.errors import InputError

if TYPE_CHECKING:
    from feynkac.sampling.scheme import Scheme


def parse_point(text: str) -> dict[str, Any]:
    """Values by name from `x=9.5,t=0.5,sigma=[0.1,0.2]`.

    Example:
        >>> parse_point("x=[1,2],t=0.5")
        {'x': [1, 2], 't': 0.5}
    """
    values: dict[str, Any] = {}
    for part in re.split(r",(?=\s*[A-Za-z_]\w*\s*=)", text):
        name, sign, value = part.partition("=")
        try:
            number = json.loads(value)
        except ValueError:
            number = None
        if not sign or isinstance(number, str | dict | bool | None):
            raise InputError(
                f"cannot read {part.strip()!r}; expected name=number or name=[numbers], "
                "as in x=9.5,t=0.5,sigma=0.35."
            )
        if name.strip() in values:
            raise InputError(f"{name.strip()!r} is given twice.")
        values[name.strip()] = number
    return values


def parse_scheme(text: str) -> "Scheme | None":
    """A scheme from `auto`, `exact`, `euler:25`, `milstein:25`, `nv:4` or `log:3`.

    None leaves the choice to the method.
    """
    from feynkac.sampling.euler_maruyama import EulerMaruyama
    from feynkac.sampling.exact import Exact
    from feynkac.sampling.log_ode import LogOde
    from feynkac.sampling.milstein import Milstein
    from feynkac.sampling.ninomiya_victoir import NinomiyaVictoir

    if text == "auto":
        return None
    if text == "exact":
        return Exact()
    stepping: dict[str, Callable[..., Scheme]] = {
        "euler": EulerMaruyama,
        "milstein": Milstein,
        "nv": NinomiyaVictoir,
        "log": LogOde,
    }
    match = re.fullmatch(r"(\w+):([1-9][0-9]{0,5})", text, re.ASCII)
    if match and match[1] in stepping:
        return stepping[match[1]](steps=int(match[2]))
    raise InputError(
        f"unknown scheme {text!r}; expected auto, exact, euler:STEPS, milstein:STEPS, "
        "nv:STEPS or log:STEPS."
    )


def family_settings(dim: int | None) -> dict[str, Any]:
    """The family fields that the command line can set."""
    return {} if dim is None else {"dim": dim}
