"""What was probably meant by a name that does not exist."""

import difflib
from collections.abc import Iterable


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
