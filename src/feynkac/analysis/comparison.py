r"""Which of two maps is closer to u?  On the same inputs Λ, with the same reference ū:

    E[ (|f(Λ) − ū(Λ)| − |g(Λ) − ū(Λ)|) / (1 + |ū(Λ)|) ].

The standard error is that of the difference, input by input; what both find hard cancels.
"""

import torch
from pydantic.dataclasses import dataclass
from torch import Tensor

from feynkac.analysis.metrics import CHUNK, Yardstick
from feynkac.analysis.partials import Map

SIGNIFICANT = 2.0  # standard errors


@dataclass(frozen=True, config={"extra": "forbid"})
class Comparison:
    """L1 errors of f and g with their standard errors, and those of their difference."""

    l1: float
    """Of f."""
    l1_se: float
    other_l1: float
    """Of g."""
    other_l1_se: float
    difference: float
    """Negative where f is closer."""
    difference_se: float

    @property
    def better(self) -> bool:
        """Whether f is closer by more than chance explains."""
        return self.difference < -SIGNIFICANT * self.difference_se


def compare_maps(f: Map, g: Map, yardstick: Yardstick) -> Comparison:
    """Both on the inputs of `yardstick`."""
    errors, others = _errors(f, yardstick), _errors(g, yardstick)
    return Comparison(*_mean(errors), *_mean(others), *_mean(errors - others))


def _errors(u: Map, yardstick: Yardstick) -> Tensor:
    """|u − ū| / (1 + |ū|), mean over the outputs.  Shape: `(N,)`."""
    with torch.no_grad():
        values = torch.cat([u(block) for block in torch.split(yardstick.points, CHUNK)])
    truth = yardstick.reference.value
    return ((values.double() - truth).abs() / (1.0 + truth.abs())).mean(-1)


def _mean(values: Tensor) -> tuple[float, float]:
    return values.mean().item(), (values.std() / len(values) ** 0.5).item()
