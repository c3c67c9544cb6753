r"""Learning-rate schedules: pure functions of the step and of the completed fraction of the run, so
a resumed run cannot drift (see `pace.py`).

StepDecay:  η ← decay · η  every `patience` steps, as long as η > `minimal`  (paper, Table 5).
"""

from abc import abstractmethod
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from feynkac.parts import Part
from feynkac.training.optimisers.optimiser import NonNegative


class Schedule(Part):
    """How the learning rate changes during a run. Subclass it for one of your own.

    Example:
        >>> isinstance(LinearDecay(), Schedule)
        True
    """

    @abstractmethod
    def rate(self, initial: float, step: int, done: float) -> float:
        """Learning rate of update number `step` (from 0), after a fraction `done` of the run."""


@dataclass(frozen=True, config={"extra": "forbid"})
class StepDecay(Schedule):
    """Multiply by `decay` every `patience` steps while above `minimal`.

    Example:
        >>> StepDecay(decay=0.25, patience=4000).rate(0.01, step=8000, done=1 / 3)
        0.000625
    """

    decay: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.4
    """Factor of each decay."""
    patience: Annotated[int, Field(ge=1)] = 4000
    """Steps between decays."""
    minimal: NonNegative = 1e-8
    """The rate no longer decays once it is at or below this."""

    def rate(self, initial: float, step: int, done: float) -> float:
        """The initial rate after all decays so far, which stop at the minimal rate."""
        rate = initial
        for _ in range(step // self.patience):
            if rate <= self.minimal:
                break
            rate *= self.decay
        return rate


@dataclass(frozen=True, config={"extra": "forbid"})
class LinearDecay(Schedule):
    """Warm up, hold, and fall to zero at the last step.

    Example:
        >>> LinearDecay(warmup=1, hold=0.5).rate(0.4, step=750, done=0.75)
        0.2
    """

    warmup: Annotated[int, Field(ge=1)] = 10
    """Steps over which the rate rises to its initial value."""
    hold: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0
    """Fraction of the run before the rate starts to fall."""

    def rate(self, initial: float, step: int, done: float) -> float:
        """The smaller of the rise and the fall."""
        fall = (1.0 - done) / (1.0 - self.hold)
        return initial * min(1.0, (step + 1) / self.warmup, fall)
