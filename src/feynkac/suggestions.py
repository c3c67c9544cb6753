"""What was probably meant by a name that does not exist."""

import difflib
import inspect
from collections.abc import Iterable
from typing import Any, Self


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question to put after a sentence, with a blank before it; empty if nothing is close.

    Example:
        >>> did_you_mean("sgima", ["x", "t", "sigma"])
        " Did you mean 'sigma'?"
        >>> did_you_mean("Strike", ["strike"]), did_you_mean("rate", ["x", "t"])
        (" Did you mean 'strike'?", '')
    """
    by_lower = {each.lower(): each for each in reversed(list(known))}
    close = difflib.get_close_matches(name.strip().lower(), by_lower, n=1)
    return f" Did you mean {by_lower[close[0]]!r}?" if close else ""


class KnownKeywords:
    """Base of dataclasses: a keyword that is no field is refused with the one that was meant.

    Example:
        >>> from feynkac.families.models.heston import Heston
        >>> Heston(paoff=None)
        Traceback (most recent call last):
        TypeError: Heston has no field called 'paoff'. Did you mean 'payoff'?
    """

    def __new__(cls, *values: Any, **named: Any) -> Self:
        taken = inspect.signature(cls).parameters
        takes_all = any(field.kind == field.VAR_KEYWORD for field in taken.values())
        known = [*taken, *getattr(cls, "__dataclass_fields__", ())]
        for name in named:
            if not takes_all and name not in known:
                meant = did_you_mean(name, known)
                raise TypeError(f"{cls.__name__} has no field called {name!r}.{meant}")
        return super().__new__(cls)
