"""One thing that was found out about a family: a verdict, a sentence, the numbers behind it."""

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from feynkac.families.family import Family
from feynkac.methods.fast.choose_scheme import choose_scheme
from feynkac.sampling.schemes.scheme import Scheme

Verdict = Literal["ok", "note", "fail"]


@dataclass(frozen=True)
class Finding:
    """What was examined and how it went."""

    name: str
    verdict: Verdict
    """`note`: worth knowing, training makes sense; `fail`: mend it first."""
    sentence: str
    figures: Mapping[str, float] = field(default_factory=dict)
    """What was measured, by name."""

    def record(self) -> dict[str, Any]:
        """As plain data; None for what is not finite, as JSON knows no NaN."""
        figures = {k: v if math.isfinite(v) else None for k, v in self.figures.items()}
        return {
            "name": self.name,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "figures": figures,
        }


@dataclass(frozen=True)
class Subject:
    """A family under examination."""

    family: Family

    @functools.cached_property
    def scheme(self) -> Scheme:
        """How training would simulate it."""
        return choose_scheme(self.family)

    @property
    def steps(self) -> str:
        """The same in words."""
        return (
            f"{type(self.scheme).__name__}, {self.scheme.steps} step{'s' * (self.scheme.steps > 1)}"
        )
