r"""Which of two maps is closer to u?  On the same inputs Λ, with the same reference ū:

    E[ (|f(Λ) − ū(Λ)| − |g(Λ) − ū(Λ)|) / (1 + |ū(Λ)|) ].

The standard error is that of the difference, input by input, so common difficulties cancel. The
noise of a simulated ū cancels in part: E|δ + sZ| grows with |δ|, so noise makes the difference
smaller but does not change its sign, and `better` is conservative. The two L1 are without that
noise (`debiasing.py`), so their difference may be larger than `difference`.
"""

import torch
from pydantic.dataclasses import dataclass
from torch import Tensor

from feynkac.analysis.debiasing import mean_absolute
from feynkac.analysis.metrics import ROWS_AT_ONCE, Yardstick
from feynkac.analysis.partials import Map

SIGNIFICANT = 2.0  # standard errors


@dataclass(frozen=True, config={"extra": "forbid"})
class Comparison:
    """L1 errors of f and g and the mean difference, each with its standard error."""

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
    """Compare f and g on the inputs of `yardstick`."""
    f_off, g_off = _differences(f, yardstick), _differences(g, yardstick)
    noise = yardstick.reference.error / (1.0 + yardstick.reference.value.abs())
    closer = (f_off.abs() - g_off.abs()).mean(-1)
    errors, others = mean_absolute(f_off, noise), mean_absolute(g_off, noise)
    return Comparison(errors.value, errors.se, others.value, others.se, *_mean(closer))


def _differences(u: Map, yardstick: Yardstick) -> Tensor:
    """(u − ū) / (1 + |ū|).  Shape: `(N, outputs)`."""
    with torch.no_grad():
        values = torch.cat([u(block) for block in torch.split(yardstick.points, ROWS_AT_ONCE)])
    truth = yardstick.reference.value
    difference: Tensor = (values.double() - truth) / (1.0 + truth.abs())
    return difference


def _mean(values: Tensor) -> tuple[float, float]:
    return values.mean().item(), (values.std() / len(values) ** 0.5).item()
