r"""Learning-rate schedules: pure functions of the step, so that a resumed run cannot drift.

StepDecay:  η ← decay · η  every `patience` steps, as long as η > `minimal`  (paper, Table 5).
"""

from abc import ABC, abstractmethod
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from feynkac.training.optimisers import NonNegative


class Schedule(ABC):
    """How the learning rate develops."""

    @abstractmethod
    def rate(self, initial: float, step: int, steps: int) -> float:
        """Learning rate of update number `step` (from 0) out of `steps`."""


@dataclass(frozen=True, config={"extra": "forbid"})
class StepDecay(Schedule):
    """Multiply by `decay` every `patience` steps while above `minimal`.

    Example:
        >>> StepDecay(decay=0.25, patience=4000).rate(0.01, step=8000, steps=24000)
        0.000625
    """

    decay: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.4
    """Factor of each decay."""
    patience: Annotated[int, Field(ge=1)] = 4000
    """Steps between decays."""
    minimal: NonNegative = 1e-8
    """No more decay once the rate is at or below this."""
    kind: Literal["step-decay"] = "step-decay"

    def rate(self, initial: float, step: int, steps: int) -> float:
        """The decays due by now, stopping at the minimal rate."""
        rate = initial
        for _ in range(step // self.patience):
            if rate <= self.minimal:
                break
            rate *= self.decay
        return rate
