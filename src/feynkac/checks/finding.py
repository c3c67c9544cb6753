"""What a check looks at, and what it found: a verdict, a sentence, the numbers behind it."""

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from feynkac.clock import Allowance
from feynkac.families.family import Family
from feynkac.methods.fast.choose_scheme import choose_scheme
from feynkac.sampling.schemes.scheme import Scheme

Verdict = Literal["ok", "note", "fail"]

PILOT_SECONDS = 8.0  # at most, to choose a scheme


@dataclass(frozen=True)
class Finding:
    """How a check went.

    Example:
        >>> Finding("note", "μ grows like |x|^3", {"drift": 3.0}).record()
        {'verdict': 'note', 'sentence': 'μ grows like |x|^3', 'figures': {'drift': 3.0}}
    """

    verdict: Verdict
    """`note`: worth knowing, training makes sense; `fail`: fix it first."""
    sentence: str
    """Without a full stop."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """What was measured, by name."""

    def record(self) -> dict[str, Any]:
        """As plain data; None for what is not finite, as JSON has no NaN."""
        figures = {k: v if math.isfinite(v) else None for k, v in self.figures.items()}
        return {"verdict": self.verdict, "sentence": self.sentence, "figures": figures}


@dataclass(frozen=True)
class Subject:
    """What is checked: a family, and the scheme that simulates it.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> Subject(BlackScholes()).scheme.steps
        1
    """

    family: Family
    given: Scheme | None = None
    """The scheme of a run; None: the fast method's choice."""

    @functools.cached_property
    def scheme(self) -> Scheme:
        """How paths are simulated. Choosing one takes a pilot, a small trial simulation."""
        return self.given or choose_scheme(self.family, Allowance(PILOT_SECONDS))
